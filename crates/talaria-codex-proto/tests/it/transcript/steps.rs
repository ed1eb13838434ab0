//! What each kind of step becomes.

use expect_test::expect;
use serde_json::{Value, json};

use super::script::{command, drain, item, lines, projected, says, turn};
use talaria_core::outcome::Outcome;
use talaria_core::transcript::{ProjectionLimits, Projector};

/// A completion that the real Codex 0.130 sent for `thread/shellCommand`; only the directory is another one.
const COMMAND_EXEC_COMPLETED: &str = r#"{"aggregatedOutput":"hi\n","command":"/bin/bash -lc 'echo hi; exit 3'","commandActions":[{"command":"echo hi; exit 3","type":"unknown"}],"cwd":"/home/dev/lab/work","durationMs":18,"exitCode":3,"id":"24c1d201-f67e-4d2c-82fd-31cdb679a529","processId":null,"source":"userShell","status":"failed","type":"commandExecution"}"#;

fn with(mut wire: Value, fields: &Value) -> Value {
    wire.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    wire
}

/// The tool results only, one per step.
fn results(items: &[Value]) -> String {
    let mut projector = turn();
    items.iter().for_each(|wire| projector.complete(&item(wire)));
    let messages = drain(&mut projector).into_iter().filter(|message| message.tool_call_id.is_some());
    messages.map(|message| format!("{:?}\n", message.content.unwrap())).collect()
}

/// The assistant's notes about steps, in order.
fn notes(items: &[Value]) -> String {
    let mut projector = turn();
    items.iter().for_each(|wire| projector.complete(&item(wire)));
    projector.finish(&Outcome::Completed);
    let messages = drain(&mut projector);
    let [message] = messages.as_slice() else { panic!("{messages:#?}") };
    assert!(message.tool_calls.is_empty(), "a note is no call: {message:?}");
    message.content.clone().unwrap()
}

#[test]
fn a_captured_command_is_a_call_with_its_exit_code() {
    let wire = serde_json::from_str(COMMAND_EXEC_COMPLETED).unwrap();
    expect![[r#"
        {"role":"assistant","content":null,"tool_calls":[{"id":"24c1d201-f67e-4d2c-82fd-31cdb679a529","type":"function","function":{"name":"exec_command","arguments":"{\"command\":\"/bin/bash -lc 'echo hi; exit 3'\",\"cwd\":\"/home/dev/lab/work\"}"}}]}
        {"role":"tool","content":"hi\n[run by the user]\n[exit code 3]","tool_call_id":"24c1d201-f67e-4d2c-82fd-31cdb679a529"}
        {"role":"assistant","content":"[the turn ended without an answer]"}
    "#]].assert_eq(&projected(&[wire]));
}

#[test]
fn a_command_says_how_it_ended_unless_it_went_well() {
    let base = command("c", "out\n");
    let cases = [
        json!({}),
        json!({ "aggregatedOutput": null }),
        json!({ "exitCode": 1 }),
        json!({ "exitCode": 127, "status": "failed", "aggregatedOutput": "no newline" }),
        json!({ "exitCode": null, "status": "declined", "aggregatedOutput": null }),
        json!({ "exitCode": null, "status": "failed" }),
        json!({ "exitCode": 0, "status": "failed" }),
        json!({ "exitCode": null, "status": "inProgress" }),
        json!({ "exitCode": null, "status": "levitating" }),
    ];
    let items: Vec<Value> = cases
        .iter()
        .enumerate()
        .map(|(index, case)| with(with(base.clone(), case), &json!({ "id": index.to_string() })))
        .collect();
    expect![[r#"
        "out\n"
        "[no output]"
        "out\n[exit code 1]"
        "no newline\n[exit code 127]"
        "[declined: not allowed, not done]"
        "out\n[failed]"
        "out\n[failed]"
        "out\n[no end was reported before the turn ended]"
        "out\n[ended in a way that is not known]"
    "#]]
    .assert_eq(&results(&items));
}

#[test]
fn a_patch_names_files_and_kinds_and_never_their_content() {
    let changes = json!([
        { "path": "/w/a", "kind": { "type": "add" }, "diff": "SECRET\n" },
        { "path": "/w/c", "kind": { "type": "update", "move_path": "/w/d" }, "diff": "SECRET" },
    ]);
    let patch = |id: &str, status: &str| json!({ "type": "fileChange", "id": id, "changes": changes, "status": status });
    let text = projected(&[patch("p1", "completed"), patch("p2", "declined"), patch("p3", "failed")]);
    assert!(!text.contains("SECRET"), "{text}");
    expect![[r#"
        {"role":"assistant","content":null,"tool_calls":[{"id":"p1","type":"function","function":{"name":"apply_patch","arguments":"{\"changes\":[{\"kind\":\"add\",\"path\":\"/w/a\"},{\"kind\":\"update\",\"move_to\":\"/w/d\",\"path\":\"/w/c\"}]}"}}]}
        {"role":"tool","content":"1 add, 1 update: /w/a, /w/c","tool_call_id":"p1"}
        {"role":"assistant","content":null,"tool_calls":[{"id":"p2","type":"function","function":{"name":"apply_patch","arguments":"{\"changes\":[{\"kind\":\"add\",\"path\":\"/w/a\"},{\"kind\":\"update\",\"move_to\":\"/w/d\",\"path\":\"/w/c\"}]}"}}]}
        {"role":"tool","content":"1 add, 1 update: /w/a, /w/c\n[declined: not allowed, not done]","tool_call_id":"p2"}
        {"role":"assistant","content":null,"tool_calls":[{"id":"p3","type":"function","function":{"name":"apply_patch","arguments":"{\"changes\":[{\"kind\":\"add\",\"path\":\"/w/a\"},{\"kind\":\"update\",\"move_to\":\"/w/d\",\"path\":\"/w/c\"}]}"}}]}
        {"role":"tool","content":"1 add, 1 update: /w/a, /w/c\n[failed]","tool_call_id":"p3"}
        {"role":"assistant","content":"[the turn ended without an answer]"}
    "#]].assert_eq(&text);
}

#[test]
fn a_tool_is_named_after_its_server_and_its_arguments_are_in_order() {
    let mcp = json!({ "type": "mcpToolCall", "id": "m1", "server": "docs", "tool": "search", "status": "completed",
                      "arguments": { "query": "x", "depth": { "b": 1, "a": [{ "z": 1, "y": 2 }] } },
                      "result": { "content": [{ "type": "text", "text": "found" }, { "type": "image" }] } });
    let raw = mcp.to_string().replace(
        r#"{"depth":{"a":[{"y":2,"z":1}],"b":1},"query":"x"}"#,
        r#"{"query":"x","depth":{"b":1,"a":[{"z":1,"y":2}]}}"#,
    );
    assert_ne!(raw, mcp.to_string(), "Codex does not put keys in order");
    let raw = serde_json::value::RawValue::from_string(raw).unwrap();
    let mcp =
        talaria_codex_proto::project::item(talaria_codex_proto::wire::item::WireItem::read(&raw).unwrap());
    let mut projector = turn();
    projector.complete(&mcp);
    expect![[r#"
        {"role":"assistant","content":null,"tool_calls":[{"id":"m1","type":"function","function":{"name":"mcp.docs.search","arguments":"{\"depth\":{\"a\":[{\"y\":2,\"z\":1}],\"b\":1},\"query\":\"x\"}"}}]}
        {"role":"tool","content":"found\n[1 image]","tool_call_id":"m1"}
    "#]].assert_eq(&lines(&drain(&mut projector)));
}

#[test]
fn a_tool_says_what_went_wrong() {
    let mcp = |id: &str, more: &Value| {
        with(json!({ "type": "mcpToolCall", "id": id, "server": "s", "tool": "t", "arguments": {} }), more)
    };
    let own = |id: &str, more: &Value| {
        with(json!({ "type": "dynamicToolCall", "id": id, "tool": "t", "arguments": { "id": 7 } }), more)
    };
    let text = json!({ "content": [{ "type": "text", "text": "half" }] });
    let parts =
        json!([{ "type": "inputText", "text": "half" }, { "type": "inputImage" }, { "type": "inputImage" }]);
    let unknown = json!([{ "type": "inputText", "text": "Outcome unknown: the turn ended" }]);
    expect![[r#"
        "[failed: no such page]"
        "half\n[failed: broke]"
        "half\n[failed]"
        "[no output]"
        "{\"n\":1}"
        "half\n[2 images]"
        "half\n[2 images]\n[failed]"
        "[ended in a way that is not known]"
        "Outcome unknown: the turn ended\n[ended in a way that is not known]"
    "#]]
    .assert_eq(&results(&[
        mcp("1", &json!({ "status": "failed", "error": { "message": "no such page" } })),
        mcp("2", &json!({ "status": "failed", "error": { "message": "broke" }, "result": text })),
        mcp("3", &json!({ "status": "failed", "result": text })),
        mcp("4", &json!({ "status": "completed", "result": { "content": [] } })),
        mcp(
            "5",
            &json!({ "status": "completed", "result": { "content": [], "structuredContent": { "n": 1 } } }),
        ),
        own("6", &json!({ "status": "completed", "contentItems": parts, "success": true })),
        own("7", &json!({ "status": "completed", "contentItems": parts, "success": false })),
        own("8", &json!({ "status": "failed", "contentItems": null })),
        own("9", &json!({ "status": "failed", "contentItems": unknown, "success": false })),
    ]));
}

#[test]
fn a_clients_tool_keeps_its_own_name() {
    let wire = json!({ "type": "dynamicToolCall", "id": "d", "namespace": "desk", "tool": "close_ticket",
                       "arguments": null, "status": "completed", "success": true });
    expect![[r#"
        {"role":"assistant","content":null,"tool_calls":[{"id":"d","type":"function","function":{"name":"close_ticket","arguments":"{}"}}]}
        {"role":"tool","content":"[no output]","tool_call_id":"d"}
        {"role":"assistant","content":"Closed."}
    "#]].assert_eq(&projected(&[wire, says("m", "Closed.")]));
}

#[test]
fn long_output_keeps_its_beginning_and_its_end() {
    let mut projector = Projector::new(ProjectionLimits { output: 20 });
    projector.complete(&item(&command("c", &format!("first{}last\n", "x".repeat(1000)))));
    let answer = drain(&mut projector).pop().unwrap();
    assert_eq!(answer.content.unwrap(), "firstxxxxx\n[990 bytes left out]\nxxxxxlast\n");
    let tool = json!({ "type": "mcpToolCall", "id": "t", "server": "s", "tool": "t", "status": "completed",
                       "result": { "content": [{ "type": "text", "text": "y".repeat(100) }] } });
    projector.complete(&item(&tool));
    let answer = drain(&mut projector).pop().unwrap();
    assert_eq!(answer.content.unwrap(), "yyyyyyyyyy\n[80 bytes left out]\nyyyyyyyyyy");
}

#[test]
fn the_default_limit_is_ten_kilobytes() {
    let mut projector = turn();
    for (id, size) in [("a", 10 * 1024), ("b", 10 * 1024 + 1)] {
        projector.complete(&item(&command(id, &"x".repeat(size))));
        let answer = drain(&mut projector).pop().unwrap().content.unwrap();
        assert_eq!(answer.contains("[1 bytes left out]"), id == "b");
    }
}

#[test]
fn searches_images_and_waits_are_notes() {
    expect![[r#"
        [web search: a / b]

        [web search: a]

        [opened the page https://e.org]

        [looked for p in the page https://e.org]

        [looked at the image /a.png]

        [made an image: a cat; saved as /c.png]

        [image, failed; usageLimitExceeded]

        [waited 1.5 s]"#]].assert_eq(&notes(&[
        json!({ "type": "webSearch", "id": "1", "query": "a", "action": { "type": "search", "queries": ["a", "b"] } }),
        json!({ "type": "webSearch", "id": "2", "query": "a" }),
        json!({ "type": "webSearch", "id": "3", "query": "https://e.org", "action": { "type": "openPage" } }),
        json!({ "type": "webSearch", "id": "4", "query": "x", "action": { "type": "findInPage", "url": "https://e.org", "pattern": "p" } }),
        json!({ "type": "imageView", "id": "5", "path": "/a.png" }),
        json!({ "type": "imageGeneration", "id": "6", "status": "completed", "revisedPrompt": "a cat", "savedPath": "/c.png" }),
        json!({ "type": "imageGeneration", "id": "7", "status": "failed", "failure": { "type": "usageLimitExceeded" } }),
        json!({ "type": "sleep", "id": "8", "durationMs": 1550 }),
    ]));
}

#[test]
fn plans_hooks_agents_and_unknown_kinds_are_notes() {
    let states =
        json!({ "c": { "status": "completed", "message": "child done" }, "d": { "status": "running" } });
    expect![[r#"
        [plan]
        # Plan
        - one

        [a hook said]
        be kind

        [agents: spawnAgent, done]
        task: look

        [agents: wait, failed]
        c: completed: child done
        d: running

        [agent /root/c: started]

        [output of n.f]
        42

        [the conversation was shortened]

        [step of a kind that is not known: newKind]

        [asks: Which? (a / b)]"#]].assert_eq(&notes(&[
        json!({ "type": "plan", "id": "1", "text": "# Plan\n- one" }),
        json!({ "type": "hookPrompt", "id": "2", "fragments": [{ "hookRunId": "h", "text": "be kind" }] }),
        json!({ "type": "collabAgentToolCall", "id": "3", "tool": "spawnAgent", "status": "completed", "prompt": "look" }),
        json!({ "type": "collabAgentToolCall", "id": "4", "tool": "wait", "status": "failed", "agentsStates": states }),
        json!({ "type": "subAgentActivity", "id": "5", "kind": "started", "agentThreadId": "c", "agentPath": "/root/c" }),
        json!({ "type": "functionCallOutput", "id": "6", "name": "f", "namespace": "n", "output": "42" }),
        json!({ "type": "contextCompaction", "id": "7" }),
        json!({ "type": "newKind", "id": "8", "n": 1 }),
        json!({ "type": "agentMessage", "id": "9", "text": "", "questions": [{ "title": "Which?", "options": ["a", "b"] }] }),
    ]));
}

/// 0.130 uses the same id for both ends of a review, and both versions repeat its findings as a message.
#[test]
fn a_review_is_told_once_although_its_ends_share_an_id() {
    expect![[r#"
        [review begins: the changes]

        [review ended]
        All is
        well.

        All is
        well."#]]
    .assert_eq(&notes(&[
        json!({ "type": "enteredReviewMode", "id": "r", "review": "the changes" }),
        json!({ "type": "exitedReviewMode", "id": "r", "review": "All is\nwell." }),
        says("review_rollout_assistant", "All is\nwell."),
        says("m", "All is\nwell."),
    ]));
}
