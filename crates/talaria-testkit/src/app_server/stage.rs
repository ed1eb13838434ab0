//! The ordinary part of a play, so that a test writes only the interesting one: handshake, thread, turn.
//!
//! The results are those captured from 0.166.0; paths come from what the client sent.

use serde_json::{Value, json};

use super::directive::{expect, notify, on, reply};

/// The id of the thread that `thread/start` returns.
pub const THREAD: &str = "01a1e0ee-4981-7281-b228-02ae4c3aa29c";

/// The id of the turn that [`start_turn`] returns.
pub const TURN: &str = "01a1e0ee-4990-7b30-b702-c9d13f0a4ad7";

/// Answers what every client asks before its first turn.
pub(super) fn handlers() -> Vec<Value> {
    let initialized = json!({
        "userAgent": "talaria/$version (Debian 12.0.0; x86_64) xterm (talaria; 0.1.0)",
        "codexHome": "/home/dev/.codex", "platformFamily": "unix", "platformOs": "linux",
    });
    let account = json!({ "account": null, "requiresOpenaiAuth": false, "workspaceRouting": null });
    vec![
        on("initialize", [reply(initialized)]),
        on("initialized", []),
        on("account/read", [reply(account)]),
        on(
            "thread/start",
            [reply(opened_thread()), notify("thread/started", json!({ "thread": thread("idle") }))],
        ),
        on("config/read", [reply(json!({ "config": {}, "origins": {} }))]),
        on("thread/resume", [reply(opened_thread())]),
        on("thread/fork", [reply(opened_thread())]),
        on("thread/loaded/list", [reply(json!({ "data": [THREAD], "nextCursor": null }))]),
        on("thread/unsubscribe", [reply(json!({ "status": "unsubscribed" }))]),
        on("thread/backgroundTerminals/list", [reply(json!({ "data": [], "nextCursor": null }))]),
        on("thread/backgroundTerminals/clean", [reply(json!({}))]),
        on("turn/interrupt", [reply(json!({})), turn_completed("interrupted")]),
    ]
}

/// Waits for `turn/start`, accepts it and announces the turn.
pub fn start_turn() -> Vec<Value> {
    vec![
        expect("turn/start"),
        reply(json!({ "turn": turn("inProgress") })),
        notify(
            "thread/status/changed",
            json!({ "threadId": THREAD, "status": { "type": "active", "activeFlags": [] } }),
        ),
        notify("turn/started", json!({ "threadId": THREAD, "turn": turn("inProgress") })),
    ]
}

/// Returns the notification that adds `delta` to the agent's message `msg_1`; feed it to `send` or `repeat`.
pub fn agent_delta(delta: &str) -> Value {
    let params = json!({ "threadId": THREAD, "turnId": TURN, "itemId": "msg_1", "delta": delta });
    json!({ "method": "item/agentMessage/delta", "params": params, "emittedAtMs": 1794775075297_u64 })
}

/// Completes message `msg_1` with the given text and then the turn.
pub fn complete_turn(text: &str) -> Vec<Value> {
    let item = json!({
        "type": "agentMessage", "id": "msg_1", "text": text, "phase": null, "memoryCitation": null,
        "delivery": null, "questions": null,
        "startedAtMs": 1794775075297_u64, "completedAtMs": 1794775075297_u64,
    });
    let completed = json!({
        "threadId": THREAD, "turnId": TURN, "item": item, "completedAtMs": 1794775075297_u64,
    });
    let idle = json!({ "threadId": THREAD, "status": { "type": "idle" } });
    vec![
        notify("item/completed", completed),
        notify("thread/status/changed", idle),
        turn_completed("completed"),
    ]
}

fn turn_completed(status: &str) -> Value {
    notify("turn/completed", json!({ "threadId": THREAD, "turn": turn(status) }))
}

fn turn(status: &str) -> Value {
    json!({
        "id": TURN, "rootTurnId": TURN, "items": [], "itemsView": "notLoaded", "status": status, "error": null,
        "startedAt": null, "completedAt": null, "durationMs": null,
    })
}

fn opened_thread() -> Value {
    json!({
        "thread": thread("idle"), "model": "gpt-5.5", "modelProvider": "mock", "serviceTier": null,
        "disabledPluginIds": [], "cwd": "$.params.cwd|/home/dev/work",
        "runtimeWorkspaceRoots": ["$.params.cwd|/home/dev/work"], "instructionSources": [],
        "approvalPolicy": "$.params.approvalPolicy|on-request", "approvalsReviewer": "user",
        "sandbox": "$sandbox", "activePermissionProfile": "$profile", "reasoningEffort": null,
        "multiAgentMode": "explicitRequestOnly",
    })
}

fn thread(status: &str) -> Value {
    let cwd = "$.params.cwd|/home/dev/work";
    json!({
        "id": THREAD, "environments": [{ "environmentId": "local", "cwd": cwd, "runtimeWorkspaceRoots": [cwd] }],
        "extra": null, "sessionId": THREAD, "forkedFromId": null, "parentThreadId": null, "preview": "",
        "ephemeral": false, "section": null, "sectionEnteredAt": null, "projectId": null,
        "historyMode": "paginated", "modelProvider": "mock", "model": "gpt-5.5", "reasoningEffort": null,
        "createdAt": 1794775075, "updatedAt": 1794775075, "recencyAt": 1794775075,
        "status": { "type": status }, "path": "/home/dev/.codex/sessions/2026/11/15/rollout.jsonl", "cwd": cwd,
        "cliVersion": "$version", "originator": "talaria", "source": "vscode", "canAcceptDirectInput": true,
        "threadSource": null, "agentNickname": null, "agentRole": null, "gitInfo": null, "name": null,
        "daybreakEnabled": null, "turns": [],
    })
}
