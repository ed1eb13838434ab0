//! A scripted Codex that has a thread for each directory, so that one process can have many.

use serde_json::{Value, json};
use talaria_testkit::AppServer;
use talaria_testkit::app_server::directive::{expect, forever, notify, on, reply};

/// A Codex on which every turn goes through these steps, which [`on_thread`] and [`said`] make.
pub(crate) fn codex(steps: impl IntoIterator<Item = Value>) -> AppServer {
    let opened = json!({
        "thread": { "id": "$.params.cwd", "turns": [], "status": { "type": "idle" } },
        "model": "gpt-5.5", "modelProvider": "mock", "cwd": "$.params.cwd",
        "approvalPolicy": "$.params.approvalPolicy|on-request", "approvalsReviewer": "user", "sandbox": "$sandbox",
    });
    let begun = [
        expect("turn/start"),
        reply(json!({ "turn": turn("inProgress") })),
        on_thread("turn/started", json!({ "turn": turn("inProgress") })),
    ];
    AppServer::ready([
        on("thread/start", [reply(opened)]),
        on("thread/unsubscribe", [reply(json!({}))]),
        on("turn/interrupt", [reply(json!({})), completed("interrupted")]),
        forever(begun.into_iter().chain(steps)),
    ])
}

/// A notification about the thread of the turn that runs.
pub(crate) fn on_thread(method: &str, mut params: Value) -> Value {
    params["threadId"] = json!("$.params.threadId");
    params["turnId"] = json!("$.params.threadId");
    notify(method, params)
}

/// The model has said something.
pub(crate) fn said(text: &str) -> Value {
    on_thread("item/completed", json!({ "item": { "type": "agentMessage", "id": "msg_1", "text": text } }))
}

/// The turn has ended.
pub(crate) fn completed(status: &str) -> Value {
    on_thread("turn/completed", json!({ "turn": turn(status) }))
}

fn turn(status: &str) -> Value {
    json!({ "id": "$.params.threadId", "items": [], "status": status, "error": null })
}
