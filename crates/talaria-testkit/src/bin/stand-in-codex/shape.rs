//! Messages of Codex 0.166, with the relevant fields filled in.

use serde_json::{Value, json};

use crate::thread::{Thread, Turn};

/// The answer to `thread/start` and `thread/resume`.
pub(crate) fn opened(thread: &Thread, status: &Value, version: &str, asked: &Value) -> Value {
    let config = &asked["config"];
    let profile = config["default_permissions"].as_str();
    let by_profile = profile.map(|name| {
        let writes = config["permissions"][name]["filesystem"][":project_roots"] == "write";
        if writes { "workspace-write" } else { "read-only" }
    });
    let profile = profile.map(|name| json!({ "id": name, "extends": null }));
    let sandbox = match asked["sandbox"].as_str().or(by_profile) {
        Some("read-only") => json!({ "type": "readOnly", "networkAccess": false }),
        Some("workspace-write") => json!({
            "type": "workspaceWrite", "writableRoots": [], "networkAccess": false,
            "excludeTmpdirEnvVar": false, "excludeSlashTmp": false,
        }),
        _ => json!({ "type": "dangerFullAccess" }),
    };
    let approval = asked["approvalPolicy"].as_str().unwrap_or("untrusted");
    json!({
        "thread": self::thread(thread, status, version, Vec::new()), "model": "gpt-5.5", "modelProvider": "mock",
        "serviceTier": null, "disabledPluginIds": [], "cwd": thread.cwd, "runtimeWorkspaceRoots": [thread.cwd],
        "instructionSources": [], "approvalPolicy": approval, "approvalsReviewer": "user", "sandbox": sandbox,
        "activePermissionProfile": profile, "reasoningEffort": null, "multiAgentMode": "explicitRequestOnly",
    })
}

/// A thread as it is sent to clients.
pub(crate) fn thread(thread: &Thread, status: &Value, version: &str, turns: Vec<Value>) -> Value {
    let preview = thread.turns.first().map(|turn| turn.prompt.as_str()).unwrap_or_default();
    json!({
        "id": thread.id, "extra": null, "sessionId": thread.id, "forkedFromId": null, "parentThreadId": null,
        "environments": [{
            "environmentId": "local", "cwd": thread.cwd, "runtimeWorkspaceRoots": [thread.cwd],
        }],
        "preview": preview, "ephemeral": false, "section": null, "sectionEnteredAt": null, "projectId": null,
        "historyMode": "paginated", "modelProvider": "mock", "model": "gpt-5.5", "reasoningEffort": null,
        "createdAt": 1794775075, "updatedAt": 1794775075, "recencyAt": 1794775075, "status": status,
        "path": thread.path(), "cwd": thread.cwd, "cliVersion": version, "originator": "talaria",
        "source": "vscode", "canAcceptDirectInput": true, "threadSource": null, "agentNickname": null,
        "agentRole": null, "gitInfo": null, "name": null, "daybreakEnabled": null, "turns": turns,
    })
}

/// A turn with its items.
pub(crate) fn turn(turn: &Turn) -> Value {
    let mut told = turn_head(turn);
    told["items"] = turn.items.clone().into();
    told["itemsView"] = "full".into();
    told
}

/// A turn without its items, as it is sent while it runs.
pub(crate) fn turn_head(turn: &Turn) -> Value {
    json!({
        "id": turn.id, "rootTurnId": turn.id, "items": [], "itemsView": "notLoaded", "status": turn.status,
        "error": null, "startedAt": 1794775075, "completedAt": null, "durationMs": null,
    })
}

/// Input of the person.
pub(crate) fn user_message(id: &str, client_id: &Value, prompt: &str) -> Value {
    json!({
        "type": "userMessage", "id": id, "clientId": client_id,
        "content": [{ "type": "text", "text": prompt, "text_elements": [] }],
        "startedAtMs": 1794775075270_u64, "completedAtMs": 1794775075270_u64,
    })
}

/// Message of the model.
pub(crate) fn agent_message(id: &str, text: &str) -> Value {
    json!({
        "type": "agentMessage", "id": id, "text": text, "phase": null, "memoryCitation": null, "delivery": null,
        "questions": null, "startedAtMs": 1794775075297_u64, "completedAtMs": 1794775075297_u64,
    })
}

/// A command, run or requested.
pub(crate) fn command(id: &str, command: &str, cwd: &str, status: &str) -> Value {
    let is_done = status == "completed";
    json!({
        "type": "commandExecution", "id": id, "pluginId": null, "scriptPath": null,
        "command": wrapped(command), "cwd": cwd, "processId": null, "source": "agent", "status": status,
        "commandActions": [{ "type": "unknown", "command": command }],
        "aggregatedOutput": is_done.then_some(""), "exitCode": is_done.then_some(0), "durationMs": null,
        "startedAtMs": 1794775079297_u64, "completedAtMs": null,
    })
}

/// The question whether a command may run.
pub(crate) fn approval(thread: &str, turn: &str, item: &str, command: &str, cwd: &str) -> Value {
    let amendment = json!(["/bin/bash", "-lc", command]);
    json!({
        "kind": "command", "threadId": thread, "turnId": turn, "itemId": item,
        "startedAtMs": 1794775079297_u64, "environmentId": "local", "command": wrapped(command), "cwd": cwd,
        "commandActions": [{ "type": "unknown", "command": command }], "proposedExecpolicyAmendment": amendment,
        "availableDecisions": [
            "accept", { "acceptWithExecpolicyAmendment": { "execpolicy_amendment": amendment } }, "cancel",
        ],
    })
}

fn wrapped(command: &str) -> String {
    format!("/bin/bash -lc '{command}'")
}

/// A call of a tool of the client's, with the answer if there is one.
pub(crate) fn tool(id: &str, name: &str, arguments: &Value, answer: Option<&Value>) -> Value {
    let is_well = answer.map(|answer| answer["success"] == true);
    let status = match is_well {
        None => "inProgress",
        Some(true) => "completed",
        Some(false) => "failed",
    };
    json!({
        "type": "dynamicToolCall", "id": id, "namespace": null, "tool": name, "arguments": arguments, "status": status,
        "contentItems": answer.map(|answer| answer["contentItems"].clone()), "success": is_well, "durationMs": null,
    })
}
