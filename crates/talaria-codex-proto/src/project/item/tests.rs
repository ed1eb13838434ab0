//! Each kind of item in our words, from the text of a frame.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::frame::{Decoded, Frame, decode_text};
use crate::wire::notification::Notification;
use talaria_core::tool::ToolOutcome;

fn read(wire: &Value) -> Item {
    let params = json!({ "threadId": "t", "turnId": "u", "item": wire });
    let text = json!({ "method": "item/started", "params": params }).to_string();
    let Decoded::Known(Frame::Notification(Notification::ItemStarted(params))) = decode_text(&text) else {
        panic!("not an item")
    };
    item(params.item)
}

fn check_item(wire: &Value, expected: Expect) {
    expected.assert_eq(&serde_json::to_string(&read(wire)).unwrap());
}

#[test]
fn a_user_message_is_its_text_parts() {
    let content = json!([{ "type": "text", "text": "look at" }, { "type": "localImage", "path": "/a.png" },
                         { "type": "hologram" }, { "type": "text", "text": "this" }]);
    check_item(
        &json!({ "type": "userMessage", "id": "i", "content": content }),
        expect![[
            r#"{"id":"i","kind":"user_message","text":"look at\nthis","attachments":[{"kind":"image","name":"/a.png"},{"kind":"hologram","name":null}]}"#
        ]],
    );
}

#[test]
fn a_command_keeps_its_output_and_a_new_status_is_unknown() {
    check_item(
        &json!({ "type": "commandExecution", "id": "i", "command": "ls", "cwd": "/w", "status": "completed",
                 "aggregatedOutput": "a\n", "exitCode": 0, "durationMs": 3, "processId": "7" }),
        expect![[
            r#"{"id":"i","kind":"command","command":"ls","cwd":"/w","status":"completed","exit_code":0,"duration_ms":3,"output":"a\n"}"#
        ]],
    );
    check_item(
        &json!({ "type": "commandExecution", "id": "i", "command": "ls", "cwd": "/w", "status": "levitating" }),
        expect![[
            r#"{"id":"i","kind":"command","command":"ls","cwd":"/w","status":"unknown","exit_code":null,"duration_ms":null,"output":null}"#
        ]],
    );
}

#[test]
fn a_patch_says_what_happens_to_each_file() {
    let changes = json!([
        { "path": "a", "kind": { "type": "add" }, "diff": "hi\n" },
        { "path": "b", "kind": { "type": "delete" }, "diff": "bye\n" },
        { "path": "c", "kind": { "type": "update", "move_path": "d" }, "diff": "@@" },
        { "path": "e", "kind": { "type": "update", "move_path": null }, "diff": "@@" },
    ]);
    check_item(
        &json!({ "type": "fileChange", "id": "i", "status": "declined", "changes": changes }),
        expect![[
            r#"{"id":"i","kind":"patch","status":"declined","changes":[{"path":"a","action":"add","move_to":null,"diff":"hi\n"},{"path":"b","action":"delete","move_to":null,"diff":"bye\n"},{"path":"c","action":"update","move_to":"d","diff":"@@"},{"path":"e","action":"update","move_to":null,"diff":"@@"}]}"#
        ]],
    );
}

#[test]
fn a_tool_says_where_it_lives_and_what_went_wrong() {
    check_item(
        &json!({ "type": "mcpToolCall", "id": "i", "server": "tiny", "tool": "echo", "status": "failed",
                 "error": { "message": "no such tool" }, "durationMs": 1 }),
        expect![[
            r#"{"id":"i","kind":"tool","server":"tiny","tool":"echo","status":"failed","duration_ms":1,"error":"no such tool"}"#
        ]],
    );
    check_item(
        &json!({ "type": "mcpToolCall", "id": "i", "server": "tiny", "tool": "echo", "status": "failed",
                 "error": { "code": 7 } }),
        expect![[
            r#"{"id":"i","kind":"tool","server":"tiny","tool":"echo","status":"failed","duration_ms":null,"error":"{\"code\":7}"}"#
        ]],
    );
    check_item(
        &json!({ "type": "dynamicToolCall", "id": "i", "tool": "lookup", "status": "inProgress" }),
        expect![[
            r#"{"id":"i","kind":"client_tool","tool":"lookup","status":"in_progress","duration_ms":null}"#
        ]],
    );
}

#[test]
fn an_item_of_a_known_kind_in_a_new_shape_is_kept_whole() {
    check_item(
        &json!({ "type": "commandExecution", "id": "i", "command": ["ls", "-l"], "status": "completed" }),
        expect![[
            r#"{"id":"i","kind":"other","name":"commandExecution","raw":{"command":["ls","-l"],"id":"i","status":"completed","type":"commandExecution"}}"#
        ]],
    );
}

#[test]
fn a_user_message_says_which_client_sent_it() {
    check_item(
        &json!({ "type": "userMessage", "id": "i", "content": [], "clientId": "c-7" }),
        expect![[r#"{"id":"i","kind":"user_message","text":"","client_id":"c-7"}"#]],
    );
}

#[test]
fn data_that_a_person_sent_along_is_not_repeated() {
    let content = json!([
        { "type": "image", "url": "data:image/png;base64,iVBORw0KGgo=" },
        { "type": "image", "url": "https://example.org/a.png" },
        { "type": "image", "fileId": "file-1" },
        { "type": "localAudio", "path": "/a.wav" },
        { "type": "mention", "name": "notes", "path": "app://notes" },
    ]);
    check_item(
        &json!({ "type": "userMessage", "id": "i", "content": content }),
        expect![[
            r#"{"id":"i","kind":"user_message","text":"","attachments":[{"kind":"image","name":null},{"kind":"image","name":"https://example.org/a.png"},{"kind":"image","name":"file-1"},{"kind":"audio","name":"/a.wav"},{"kind":"mention","name":"notes"}]}"#
        ]],
    );
}

#[test]
fn a_message_keeps_its_phase_and_its_questions() {
    check_item(
        &json!({ "type": "agentMessage", "id": "i", "text": "Hm.", "phase": "commentary", "delivery": "async",
                 "questions": [{ "title": "Which?", "options": ["a", "b"] }, { "title": "Why?" }] }),
        expect![[
            r#"{"id":"i","kind":"agent_message","text":"Hm.","phase":"commentary","questions":[{"title":"Which?","options":["a","b"]},{"title":"Why?","options":[]}]}"#
        ]],
    );
}

#[test]
fn reasoning_keeps_the_summary_and_the_thinking() {
    check_item(
        &json!({ "type": "reasoning", "id": "i", "summary": ["s"], "content": ["c"] }),
        expect![[r#"{"id":"i","kind":"reasoning","summary":["s"],"content":["c"]}"#]],
    );
}

#[test]
fn a_command_says_when_it_is_not_the_models() {
    for source in ["agent", "unifiedExecStartup", "userShell", "unifiedExecInteraction", "levitation"] {
        let wire = json!({ "type": "commandExecution", "id": "i", "command": "ls", "cwd": "/w",
                           "status": "inProgress", "source": source });
        let expected = match source {
            "userShell" => Some("user"),
            "unifiedExecInteraction" => Some("interaction"),
            "levitation" => Some("unknown"),
            _ => None,
        };
        let shown = serde_json::to_value(read(&wire)).unwrap();
        assert_eq!(shown.get("source").and_then(Value::as_str), expected, "{source}");
    }
}

#[test]
fn a_tool_keeps_what_it_was_called_with_and_what_it_gave_back() {
    let parts = json!([{ "type": "text", "text": "one" }, { "type": "image", "data": "iVBORw0KGgo=" },
                       { "type": "resource", "resource": { "uri": "f:///a", "text": "two" } },
                       { "type": "resource_link", "uri": "f:///b", "name": "b" }, "three", { "type": "audio" }]);
    check_item(
        &json!({ "type": "mcpToolCall", "id": "i", "server": "s", "tool": "t", "status": "completed",
                 "arguments": { "b": 1, "a": 2 }, "result": { "content": parts, "structuredContent": { "x": 1 } } }),
        expect![[
            r#"{"id":"i","kind":"tool","server":"s","tool":"t","status":"completed","arguments":{"a":2,"b":1},"result":{"text":"one\ntwo\nf:///b","images":1,"other":2},"duration_ms":null,"error":null}"#
        ]],
    );
    check_item(
        &json!({ "type": "mcpToolCall", "id": "i", "server": "s", "tool": "t", "status": "completed",
                 "arguments": null, "result": { "content": [], "structuredContent": { "x": 1 } } }),
        expect![[
            r#"{"id":"i","kind":"tool","server":"s","tool":"t","status":"completed","result":{"text":"{\"x\":1}"},"duration_ms":null,"error":null}"#
        ]],
    );
    let parts = json!([{ "type": "inputText", "text": "open" }, { "type": "inputImage", "imageUrl": "x" },
                       { "type": "inputAudio", "audioUrl": "x" }]);
    check_item(
        &json!({ "type": "dynamicToolCall", "id": "i", "namespace": "desk", "tool": "close", "status": "failed",
                 "arguments": { "id": 7 }, "contentItems": parts, "success": false, "durationMs": 3 }),
        expect![[
            r#"{"id":"i","kind":"client_tool","namespace":"desk","tool":"close","status":"failed","success":false,"arguments":{"id":7},"result":{"text":"open","images":1,"other":1},"duration_ms":3}"#
        ]],
    );
}

/// Codex knows success and failure only: a call of ours whose effect is not known must not become either.
#[test]
fn a_call_whose_effect_is_not_known_is_neither_done_nor_failed() {
    let call = |status: &str, success: Value, text: Option<&str>| {
        let parts = text.map(|text| json!([{ "type": "inputText", "text": text }]));
        let wire = json!({ "type": "dynamicToolCall", "id": "i", "tool": "talaria_x", "status": status,
                           "contentItems": parts, "success": success });
        match read(&wire).body {
            ItemBody::ClientTool { status, success, .. } => (status, success),
            other => panic!("{other:?}"),
        }
    };
    let unknown = ToolOutcome::unknown("talaria_x was running when Talaria was stopped");
    let not_known = (Status::Unknown, None);
    for status in ["failed", "completed"] {
        assert_eq!(call(status, json!(false), Some(unknown.text())), not_known, "{status}");
    }
    assert_eq!(call("failed", json!(false), None), not_known, "Codex stopped waiting for it");
    assert_eq!(call("failed", Value::Null, None), not_known);
    let refused = ToolOutcome::failed("talaria_x: no");
    assert_eq!(call("failed", json!(false), Some(refused.text())), (Status::Failed, Some(false)));
    let quoting = ToolOutcome::done(unknown.text());
    assert_eq!(call("completed", json!(true), Some(quoting.text())), (Status::Completed, Some(true)));
    assert_eq!(call("inProgress", Value::Null, None), (Status::InProgress, None));
}

#[test]
fn what_a_function_gave_back_is_a_text_or_parts() {
    check_item(
        &json!({ "type": "functionCallOutput", "id": "i", "name": "f", "namespace": "n", "output": "text" }),
        expect![[r#"{"id":"i","kind":"tool_output","namespace":"n","tool":"f","result":{"text":"text"}}"#]],
    );
    let parts = json!([{ "type": "input_text", "text": "a" }, { "type": "input_image", "image_url": "x" },
                       { "type": "encrypted_content", "encrypted_content": "x" }]);
    check_item(
        &json!({ "type": "functionCallOutput", "id": "i", "name": "f", "output": parts }),
        expect![[r#"{"id":"i","kind":"tool_output","tool":"f","result":{"text":"a","images":1,"other":1}}"#]],
    );
}

#[test]
fn work_for_other_agents_keeps_the_task_and_how_they_stand() {
    check_item(
        &json!({ "type": "collabAgentToolCall", "id": "i", "tool": "spawnAgent", "status": "interrupted",
                 "senderThreadId": "t", "receiverThreadIds": ["c"], "prompt": "do it", "model": "m",
                 "reasoningEffort": "high", "agentsStates": { "c": { "status": "running", "message": null } } }),
        expect![[
            r#"{"id":"i","kind":"agents","action":"spawnAgent","status":"interrupted","threads":["c"],"prompt":"do it","model":"m","effort":"high","agents":[{"thread":"c","status":"running","message":null}]}"#
        ]],
    );
    check_item(
        &json!({ "type": "subAgentActivity", "id": "i", "kind": "started", "agentThreadId": "c",
                 "agentPath": "/root/c", "model": "m", "reasoningEffort": null }),
        expect![[
            r#"{"id":"i","kind":"agent_activity","activity":"started","thread":"c","path":"/root/c","model":"m"}"#
        ]],
    );
}

#[test]
fn a_web_search_says_what_was_done() {
    let actions = [
        json!({ "type": "search", "query": "a", "queries": ["a", "b"] }),
        json!({ "type": "search", "query": "a", "queries": null }),
        json!({ "type": "openPage", "url": "https://example.org" }),
        json!({ "type": "findInPage", "url": "https://example.org", "pattern": "x" }),
        json!({ "type": "dream" }),
        Value::Null,
    ];
    let shown = actions.map(|action| {
        let wire = json!({ "type": "webSearch", "id": "i", "query": "q", "action": action });
        serde_json::to_string(&read(&wire)).unwrap()
    });
    expect![[r#"
        {"id":"i","kind":"web_search","query":"q","action":{"type":"search","queries":["a","b"]}}
        {"id":"i","kind":"web_search","query":"q","action":{"type":"search","queries":["a"]}}
        {"id":"i","kind":"web_search","query":"q","action":{"type":"open_page","url":"https://example.org"}}
        {"id":"i","kind":"web_search","query":"q","action":{"type":"find_in_page","url":"https://example.org","pattern":"x"}}
        {"id":"i","kind":"web_search","query":"q","action":{"type":"other"}}
        {"id":"i","kind":"web_search","query":"q"}"#]].assert_eq(&shown.join("\n"));
}

#[test]
fn images_are_named_and_not_carried() {
    check_item(
        &json!({ "type": "imageView", "id": "i", "path": "/a.png" }),
        expect![[r#"{"id":"i","kind":"image_view","path":"/a.png"}"#]],
    );
    check_item(
        &json!({ "type": "imageGeneration", "id": "i", "status": "completed", "revisedPrompt": "a cat",
                 "result": "iVBORw0KGgo=", "savedPath": "/c.png" }),
        expect![[
            r#"{"id":"i","kind":"image_generation","status":"completed","prompt":"a cat","path":"/c.png"}"#
        ]],
    );
    check_item(
        &json!({ "type": "imageGeneration", "id": "i", "status": "failed", "fileId": "f",
                 "failure": { "type": "usageLimitExceeded", "limitId": "l" } }),
        expect![[
            r#"{"id":"i","kind":"image_generation","status":"failed","prompt":null,"path":null,"failure":"usageLimitExceeded"}"#
        ]],
    );
}

#[test]
fn the_other_kinds_have_their_own_words() {
    let kinds = [
        json!({ "type": "hookPrompt", "id": "i", "fragments": [{ "hookRunId": "h", "text": "a" },
                                                               { "hookRunId": "h", "text": "b" }] }),
        json!({ "type": "plan", "id": "i", "text": "# Plan" }),
        json!({ "type": "enteredReviewMode", "id": "i", "review": "changes" }),
        json!({ "type": "exitedReviewMode", "id": "i", "review": "fine" }),
        json!({ "type": "sleep", "id": "i", "durationMs": 1500 }),
        json!({ "type": "contextCompaction", "id": "i" }),
    ];
    let shown = kinds.map(|wire| serde_json::to_string(&read(&wire)).unwrap());
    expect![[r##"
        {"id":"i","kind":"hook_prompt","text":"a\nb"}
        {"id":"i","kind":"plan","text":"# Plan"}
        {"id":"i","kind":"review_started","review":"changes"}
        {"id":"i","kind":"review_ended","review":"fine"}
        {"id":"i","kind":"sleep","duration_ms":1500}
        {"id":"i","kind":"compaction"}"##]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn the_word_for_a_kind_is_the_one_in_json() {
    let kinds = [
        json!({ "type": "userMessage", "id": "i", "content": [] }),
        json!({ "type": "hookPrompt", "id": "i", "fragments": [] }),
        json!({ "type": "agentMessage", "id": "i", "text": "" }),
        json!({ "type": "functionCallOutput", "id": "i", "name": "f", "output": "" }),
        json!({ "type": "plan", "id": "i", "text": "" }),
        json!({ "type": "reasoning", "id": "i" }),
        json!({ "type": "commandExecution", "id": "i", "command": "ls", "cwd": "/w", "status": "completed" }),
        json!({ "type": "fileChange", "id": "i", "changes": [], "status": "completed" }),
        json!({ "type": "mcpToolCall", "id": "i", "server": "s", "tool": "t", "status": "completed" }),
        json!({ "type": "dynamicToolCall", "id": "i", "tool": "t", "status": "completed" }),
        json!({ "type": "collabAgentToolCall", "id": "i", "tool": "wait", "status": "completed" }),
        json!({ "type": "subAgentActivity", "id": "i", "kind": "started", "agentThreadId": "c", "agentPath": "p" }),
        json!({ "type": "webSearch", "id": "i", "query": "q" }),
        json!({ "type": "imageView", "id": "i", "path": "/a.png" }),
        json!({ "type": "sleep", "id": "i", "durationMs": 1 }),
        json!({ "type": "imageGeneration", "id": "i", "status": "completed" }),
        json!({ "type": "enteredReviewMode", "id": "i", "review": "" }),
        json!({ "type": "exitedReviewMode", "id": "i", "review": "" }),
        json!({ "type": "contextCompaction", "id": "i" }),
        json!({ "type": "newKind", "id": "i" }),
    ];
    for wire in kinds {
        let item = read(&wire);
        assert_eq!(serde_json::to_value(&item).unwrap()["kind"], item.body.kind(), "{wire}");
        assert_eq!(item.body.kind() == "other", wire["type"] == "newKind", "{wire}");
    }
}

#[test]
fn a_message_is_not_lost_because_what_stands_beside_it_is_new() {
    check_item(
        &json!({ "type": "agentMessage", "id": "i", "text": "Yes.", "questions": { "new": "shape" } }),
        expect![[r#"{"id":"i","kind":"agent_message","text":"Yes.","phase":null}"#]],
    );
}
