//! Answers that Codex accepts, and their effect: the response to the model and its permissions afterwards.
//!
//! On the real Codex of both versions, without any of Talaria: these are the facts that `wire::reply` relies on. Every
//! proper answer given here is validated against the schema of the Codex that gets it. Network approvals are not here:
//! Codex asks them only where a file of the system's administrator (`/etc/codex/requirements.toml`) says so.

mod choices;
mod lab;
mod mcp;

use expect_test::expect;
use serde_json::{Value, json};
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::schema::{Schema, problems};
use crate::stage::both_versions;
use lab::Lab;

both_versions!(
    permissions_are_granted_for_the_turn_for_the_session_or_not_at_all,
    the_model_is_told_the_answers_to_its_questions_word_for_word,
    the_model_is_told_what_a_tool_of_the_client_says,
    an_approval_of_a_host_has_these_answers,
);

const PERMISSIONS: &str = "PermissionsRequestApprovalResponse";
const USER_INPUT: &str = "ToolRequestUserInputResponse";
const TOOL: &str = "DynamicToolCallResponse";

async fn permissions_are_granted_for_the_turn_for_the_session_or_not_at_all(codex: Codex) {
    let mut lab = Lab::new(&codex, json!({ "features.request_permissions_tool": true })).await;
    let outside = lab.outside();
    let write = format!("touch {}/file", outside.display());
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{}", lab.model_port());
    let tries = |lab: &Lab| {
        lab.model.push(lab::command(&write));
        lab.model.push(lab::command(&connect));
        lab.model.push(Reply::say("done"));
    };
    let wanted = json!({ "network": { "enabled": true }, "file_system": { "write": [outside] } });
    let asked = |request: &Value| request["params"]["permissions"].clone();
    type Answer<'a> = Box<dyn Fn(&Value) -> Value + 'a>;
    let answers: [(&str, Answer<'_>); 6] = [
        ("for the turn", Box::new(|r| json!({ "permissions": asked(r), "scope": "turn" }))),
        ("for the session", Box::new(|r| json!({ "permissions": asked(r), "scope": "session" }))),
        ("files alone", Box::new(|r| json!({ "permissions": { "fileSystem": asked(r)["fileSystem"] } }))),
        ("nothing", Box::new(|_| json!({ "permissions": {}, "scope": "turn" }))),
        ("more than asked", Box::new(|_| json!({ "permissions": { "fileSystem": { "write": ["/"] } } }))),
        ("an error", Box::new(|_| json!({ "error": { "code": -32000, "message": "no" } }))),
    ];
    let mut table = String::new();
    for (name, answer) in &answers {
        let thread = lab.thread("on-request").await;
        let call = json!({ "reason": "for the cache", "permissions": wanted });
        lab.model.push(Reply::new().function("request_permissions", call));
        tries(&lab);
        let (requests, told) = lab.turn(&thread, PERMISSIONS, answer).await;
        assert_eq!(requests.len(), 1, "the tries after it are not asked about");
        assert_eq!(requests[0]["method"], "item/permissions/requestApproval");
        tries(&lab);
        let (requests, later) = lab.turn(&thread, PERMISSIONS, answer).await;
        assert_eq!(requests, [] as [Value; 0]);
        let succeeded = |told: &String| told.contains("exited with code 0");
        let can = |told: &[String]| (succeeded(&told[0]), succeeded(&told[1]));
        table += &format!(
            "{name}: {}\n  (writes, connects) {:?}, in the next turn {:?}\n",
            told[0],
            can(&told[1..]),
            can(&later[3..])
        );
    }
    expect![[r#"
        for the turn: {"permissions":{"network":{"enabled":true},"file_system":{"write":["$ROOT/outside"]}},"scope":"turn"}
          (writes, connects) (true, true), in the next turn (false, false)
        for the session: {"permissions":{"network":{"enabled":true},"file_system":{"write":["$ROOT/outside"]}},"scope":"session"}
          (writes, connects) (true, true), in the next turn (true, true)
        files alone: {"permissions":{"network":null,"file_system":{"write":["$ROOT/outside"]}},"scope":"turn"}
          (writes, connects) (true, false), in the next turn (false, false)
        nothing: {"permissions":{"network":null,"file_system":null},"scope":"turn"}
          (writes, connects) (false, false), in the next turn (false, false)
        more than asked: {"permissions":{"network":null,"file_system":null},"scope":"turn"}
          (writes, connects) (false, false), in the next turn (false, false)
        an error: {"permissions":{"network":null,"file_system":null},"scope":"turn"}
          (writes, connects) (false, false), in the next turn (false, false)
    "#]]
    .assert_eq(&lab.plain(&table));
    lab.close().await;
}

async fn the_model_is_told_the_answers_to_its_questions_word_for_word(codex: Codex) {
    let mut lab = Lab::new(&codex, json!({ "features.default_mode_request_user_input": true })).await;
    let options =
        json!([{ "label": "Red", "description": "warm" }, { "label": "Blue", "description": "cold" }]);
    let question =
        |id: &str| json!({ "id": id, "header": id, "question": format!("{id}?"), "options": options });
    let answers = [
        (
            "an option",
            json!({ "answers": { "color": { "answers": ["Blue"] }, "size": { "answers": ["Red"] } } }),
        ),
        ("words of one's own", json!({ "answers": { "color": { "answers": ["user_note: teal"] } } })),
        (
            "an option and words",
            json!({ "answers": { "color": { "answers": ["Blue", "user_note: dark"] } } }),
        ),
        ("no word", json!({ "answers": { "color": { "answers": [] } } })),
        ("nothing", json!({ "answers": {} })),
        ("an error", json!({ "error": { "code": -32000, "message": "no" } })),
    ];
    let mut table = String::new();
    for (name, answer) in &answers {
        let thread = lab.thread("on-request").await;
        let questions = json!({ "questions": [question("color"), question("size")] });
        lab.model.play([Reply::new().function("request_user_input", questions), Reply::say("done")]);
        let (requests, told) = lab.turn(&thread, USER_INPUT, |_| answer.clone()).await;
        assert_eq!(requests[0]["method"], "item/tool/requestUserInput");
        let asked = &requests[0]["params"]["questions"][1];
        assert_eq!((&asked["isOther"], &asked["isSecret"]), (&json!(true), &json!(false)));
        // The order of the questions is not kept.
        let told: Value = serde_json::from_str(&told[0]).unwrap();
        table += &format!("{name}: {told}\n");
    }
    expect![[r#"
        an option: {"answers":{"color":{"answers":["Blue"]},"size":{"answers":["Red"]}}}
        words of one's own: {"answers":{"color":{"answers":["user_note: teal"]}}}
        an option and words: {"answers":{"color":{"answers":["Blue","user_note: dark"]}}}
        no word: {"answers":{"color":{"answers":[]}}}
        nothing: {"answers":{}}
        an error: {"answers":{}}
    "#]]
    .assert_eq(&table);
    lab.close().await;
}

async fn the_model_is_told_what_a_tool_of_the_client_says(codex: Codex) {
    let mut lab = Lab::new(&codex, json!({})).await;
    let schema = json!({ "type": "object", "properties": { "id": { "type": "string" } } });
    let tool = json!({ "name": "lookup", "description": "Looks up", "inputSchema": schema });
    lab.start["dynamicTools"] = json!([tool]);
    let said =
        |text: &str| json!([{ "type": "inputText", "text": text }, { "type": "inputText", "text": "!" }]);
    let answers = [
        ("well", json!({ "success": true, "contentItems": said("found") })),
        ("nothing", json!({ "success": true, "contentItems": [] })),
        ("badly", json!({ "success": false, "contentItems": said("broken") })),
        ("an error", json!({ "error": { "code": -32601, "message": "no such tool" } })),
    ];
    let mut table = String::new();
    for (name, answer) in &answers {
        let thread = lab.thread("never").await;
        lab.model.play([Reply::new().function("lookup", json!({ "id": "7" })), Reply::say("done")]);
        let (requests, told) = lab.turn(&thread, TOOL, |_| answer.clone()).await;
        assert_eq!(requests[0]["method"], "item/tool/call");
        assert_eq!(requests[0]["params"]["arguments"], json!({ "id": "7" }));
        let item = lab.client.completed("dynamicToolCall").await.pop().unwrap();
        table += &format!("{name}: {:?}, item {}\n", told[0], item["status"]);
    }
    expect![[r#"
        well: "found!", item "completed"
        nothing: "", item "completed"
        badly: "broken!", item "failed"
        an error: "dynamic tool request failed", item "failed"
    "#]]
    .assert_eq(&table);
    lab.close().await;
}

/// Captured where an administrator's file made Codex ask; here only their shape is checked.
async fn an_approval_of_a_host_has_these_answers(codex: Codex) {
    let schema = Schema::generate(&codex);
    let response = schema.file("CommandExecutionRequestApprovalResponse");
    let rule = |action: &str| json!({ "host": "example.com", "action": action });
    let amendment =
        |action| json!({ "applyNetworkPolicyAmendment": { "network_policy_amendment": rule(action) } });
    for decision in [json!("accept"), json!("acceptForSession"), amendment("allow"), amendment("deny")] {
        assert_eq!(problems(&response, &json!({ "decision": decision })), [] as [&str; 0]);
    }
    let request = json!({
        "threadId": "t", "turnId": "u", "itemId": "network#http#example.com#80", "startedAtMs": 1,
        "reason": "example.com is not in the allowed_domains",
        "networkApprovalContext": { "host": "example.com", "protocol": "http" },
        "proposedNetworkPolicyAmendments": [rule("allow"), rule("deny")],
        "availableDecisions": ["accept", "acceptForSession", amendment("allow"), "cancel"],
    });
    assert_eq!(problems(&schema.file("CommandExecutionRequestApprovalParams"), &request), [] as [&str; 0]);
}
