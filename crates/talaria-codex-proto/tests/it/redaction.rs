//! No event that is made of Codex's messages lets a secret through.

use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use talaria_codex_proto::frame::{Decoded, Frame, decode_text};
use talaria_codex_proto::project;
use talaria_codex_proto::wire::notification::Notification;
use talaria_core::event::{Event, Usage};
use talaria_core::event_redactor::EventRedactor;
use talaria_core::gap::{Extent, Gap};
use talaria_core::ids::{ItemId, ThreadId, TicketId};
use talaria_core::item::FileChange;
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_guard::redact::redact;

/// Made of parts, so that nothing that scans the source takes it for one.
fn secret() -> String {
    format!("gh{}_{}", "p", "a1B2c3D4e5F6g7H8i9J0".repeat(2).get(..36).unwrap())
}

fn covered(event: Event) -> Vec<String> {
    let (mut redactor, mut told) = (EventRedactor::default(), Vec::new());
    redactor.cover(event, &mut |event| told.push(serde_json::to_string(&event).unwrap()));
    told
}

/// A JSON value with the secret in each of its texts, under keys that do not reveal it.
fn item(kind: &str) -> Value {
    let words = format!("see {} here", secret());
    json!({
        "type": kind, "id": "i", "text": words, "phase": null, "content": [{ "type": "text", "text": words }],
        "summary": [words], "command": words, "cwd": "/w", "status": "completed", "aggregatedOutput": words,
        "changes": [{ "path": "a", "kind": { "type": "add" }, "diff": words }],
        "server": "s", "tool": "spawnAgent", "arguments": { "x": words }, "error": { "message": words },
        "result": { "content": [{ "type": "text", "text": words }] },
        "contentItems": [{ "type": "inputText", "text": words }], "receiverThreadIds": ["c"], "senderThreadId": "t",
        "prompt": words, "agentsStates": { "c": { "status": "running", "message": words } },
        "query": words, "review": words, "fragments": [{ "hookRunId": "h", "text": words }], "anything": words,
    })
}

#[test]
fn no_step_of_any_kind_lets_a_secret_through() {
    for kind in [
        "userMessage",
        "agentMessage",
        "reasoning",
        "plan",
        "commandExecution",
        "fileChange",
        "mcpToolCall",
        "dynamicToolCall",
        "collabAgentToolCall",
        "webSearch",
        "enteredReviewMode",
        "exitedReviewMode",
        "hookPrompt",
        "teleport",
    ] {
        let mut value = item(kind);
        if kind == "reasoning" {
            value["content"] = json!([format!("see {} here", secret())]);
        }
        let params = json!({ "threadId": "t", "turnId": "u", "item": value });
        let text = json!({ "method": "item/completed", "params": params }).to_string();
        let Decoded::Known(Frame::Notification(Notification::ItemCompleted(params))) = decode_text(&text)
        else {
            panic!("{kind}")
        };
        let item = project::item(params.item);
        let raw = serde_json::to_string(&item).unwrap();
        assert!(raw.contains(&secret()), "the test tests nothing: {raw}");
        let told = covered(Event::ItemCompleted { item: Box::new(item) });
        assert!(told.iter().all(|line| !line.contains(&secret())), "{kind}: {told:?}");
        assert!(told[0].contains("[redacted:"), "{kind}: {told:?}");
    }
}

#[test]
fn no_question_lets_a_secret_through() {
    let words = format!("see {} here", secret());
    let scope = json!({ "threadId": "t", "turnId": "u", "itemId": "i", "reason": words });
    let asks = [
        (
            "item/commandExecution/requestApproval",
            json!({ "command": words, "proposedExecpolicyAmendment": [words] }),
        ),
        ("item/commandExecution/requestApproval", json!({ "command": words, "kind": "writeStdin" })),
        ("item/fileChange/requestApproval", json!({})),
        (
            "item/permissions/requestApproval",
            json!({ "permissions": { "network": { "enabled": true }, "odd": words } }),
        ),
        (
            "item/tool/requestUserInput",
            json!({ "questions": [{ "id": "q", "header": words, "question": words }] }),
        ),
        (
            "mcpServer/elicitation/request",
            json!({ "serverName": "s", "message": words, "mode": "form",
            "requestedSchema": { "type": "object", "properties": { "a": { "type": "string", "description": words } } } }),
        ),
        (
            "mcpServer/elicitation/request",
            json!({ "serverName": "s", "message": words, "mode": "form",
            "_meta": { "codex_approval_kind": "mcp_tool_call", "tool_description": words, "tool_params": { "x": words } },
            "requestedSchema": { "type": "object", "properties": {} } }),
        ),
    ];
    for (method, more) in asks {
        let mut params = scope.clone();
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let text = json!({ "method": method, "id": 0, "params": params }).to_string();
        let Decoded::Known(Frame::Request { request, .. }) = decode_text(&text) else { panic!("{text}") };
        let changes = vec![FileChange {
            path: "a".to_owned(),
            action: talaria_core::item::FileAction::Add,
            move_to: None,
            diff: words.clone(),
        }];
        let ask = project::ask(&request, Some(changes));
        let told = covered(Event::RequestOpened {
            id: TicketId::new("req-1"),
            ask: Box::new(ask),
            place: None,
            digest: None,
        });
        assert!(told.iter().all(|line| !line.contains(&secret())), "{method}: {told:?}");
        assert!(told[0].contains("[redacted:"), "{method}: {told:?}");
    }
}

#[test]
fn no_other_words_let_a_secret_through() {
    let words = || format!("see {} here", secret());
    let raw =
        RawValue::from_string(json!({ "method": "x", "params": { "a": words() } }).to_string()).unwrap();
    let failed = Outcome::Failed { code: FailureCode::Other, message: words() };
    let lost = Outcome::Lost { why: words() };
    let events = [
        Event::Warning { message: words() },
        Event::Retrying { message: words() },
        Event::Gap(Gap { message: words(), ..Gap::new(None, 0, Vec::new(), Extent::Steps) }),
        Event::HostReplaced { message: words() },
        Event::TerminalsEnded { message: words() },
        Event::DiffUpdated { diff: words() },
        Event::ToolProgress { item: ItemId::new("i"), message: words() },
        Event::Unknown { method: "x".to_owned(), raw },
        Event::Corrupt { reason: words(), bytes: 1 },
        Event::PlanUpdated { explanation: Some(words()), steps: Vec::new() },
        Event::Outcome(Box::new(Report::new(failed, Some(words()), Usage::default(), 0))),
        Event::Outcome(Box::new(Report::new(lost, None, Usage::default(), 0))),
    ];
    for event in events {
        let told = covered(event);
        assert!(told.iter().all(|line| !line.contains(&secret()) && line.contains("[redacted:")), "{told:?}");
    }
}

#[test]
fn what_was_held_back_comes_before_the_end_of_its_step_and_of_the_turn() {
    let delta =
        |item: &str, delta: &str| Event::TextDelta { item: ItemId::new(item), delta: delta.to_owned() };
    let (mut redactor, mut told) = (EventRedactor::default(), Vec::new());
    let secret = secret();
    let (head, tail) = secret.split_at(12);
    let report = Report::new(Outcome::Completed, None, Usage::default(), 0);
    let events = [
        delta("a", &format!("token {head}")),
        delta("b", "unfinished"),
        delta("a", tail),
        Event::ItemAbandoned { item: ItemId::new("a"), why: None },
        Event::AgentUpdated { thread: ThreadId::new("c"), phase: talaria_core::event::AgentPhase::Running },
        Event::Outcome(Box::new(report)),
    ];
    for event in events {
        redactor.cover(event, &mut |event| told.push(serde_json::to_value(&event).unwrap()));
    }
    let order: Vec<String> =
        told.iter().map(|event| format!("{} {}", event["type"], event["delta"])).collect();
    let text: String = told
        .iter()
        .filter(|event| event["item"] == "a")
        .filter_map(|event| event["delta"].as_str())
        .collect();
    assert_eq!(text, "token [redacted:github-token:40]", "{order:?}");
    assert_eq!(order.last().unwrap(), r#""outcome" null"#);
    let held: Vec<&Value> = told.iter().filter(|event| event["item"] == "b").collect();
    assert_eq!(held.last().unwrap()["delta"], "unfinished", "{order:?}");
}

proptest! {
    #[test]
    fn pieces_of_an_answer_never_show_a_secret_however_they_are_cut(
        cuts in prop::collection::vec(0usize..60, 0..12), before in "[a-z \n]{0,10}", after in "[ \n.,][a-z ]{0,10}",
    ) {
        let whole = format!("{before} {}{after}", secret());
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(whole.len())).chain([0, whole.len()]).collect();
        cuts.sort_unstable();
        let (mut redactor, mut shown) = (EventRedactor::default(), String::new());
        let mut tell = |event: Event| if let Event::TextDelta { delta, .. } = event { shown += &delta };
        for pair in cuts.windows(2) {
            let delta = whole[pair[0]..pair[1]].to_owned();
            redactor.cover(Event::TextDelta { item: ItemId::new("m"), delta }, &mut tell);
        }
        redactor.cover(Event::ItemAbandoned { item: ItemId::new("m"), why: None }, &mut tell);
        prop_assert_eq!(shown, redact(&whole).into_owned());
    }
}
