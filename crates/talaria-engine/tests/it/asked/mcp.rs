//! What MCP servers ask, and what Codex asks about their tools.

use std::fs;

use expect_test::expect;
use serde_json::{Value, json};
use talaria_scripted::Reply;
use talaria_testkit::{Codex, mcp_server};

use super::lab::Lab;
use crate::stage::both_versions;

both_versions!(
    a_tool_is_approved_once_for_the_session_or_for_ever,
    a_form_and_an_address_are_answered,
    under_never_codex_answers_a_servers_questions_by_itself,
);

const ELICITATION: &str = "McpServerElicitationRequestResponse";

async fn lab(codex: &Codex) -> Lab {
    let command = mcp_server::program();
    let settings = format!("[mcp_servers.scripted]\ncommand = \"{}\"", command.display());
    Lab::with_settings(codex, json!({}), &settings).await
}

/// A call of a tool of the server, as the model names it.
fn tool(codex: &Codex, name: &str, arguments: Value) -> Reply {
    let namespace = if codex.version == "0.130.0" { "mcp__scripted__" } else { "mcp__scripted" };
    let item = json!({
        "type": "function_call", "id": "fc", "call_id": "call", "namespace": namespace, "name": name,
        "arguments": arguments.to_string(),
    });
    let event = |kind: &str| json!({ "type": kind, "output_index": 0, "item": item });
    Reply::new().event(event("response.output_item.added")).event(event("response.output_item.done"))
}

fn is_approval(request: &Value) -> bool {
    request["params"]["_meta"]["codex_approval_kind"] == "mcp_tool_call"
}

/// Lets the tool run, so that the question after it can be answered.
fn approve() -> Value {
    json!({ "action": "accept", "content": null, "_meta": null })
}

impl Lab {
    /// Runs one tool in a turn; returns the number of requests about it, and the last tool result.
    async fn run(
        &mut self,
        thread: &str,
        reply: Reply,
        answer: impl Fn(&Value) -> Value,
    ) -> (Vec<Value>, String) {
        self.model.play([reply, Reply::say("done")]);
        let (requests, told) = self.turn(thread, ELICITATION, answer).await;
        let told = told.last().unwrap();
        let said = told.split_once("Output:").map_or(told.as_str(), |(_, said)| said.trim());
        // 0.130 wraps what the tool said once more.
        let wrapped = serde_json::from_str::<Vec<Value>>(said);
        let said = wrapped.map_or(said.to_owned(), |parts| parts[0]["text"].as_str().unwrap().to_owned());
        (requests, said)
    }
}

async fn a_tool_is_approved_once_for_the_session_or_for_ever(codex: Codex) {
    let mut lab = lab(&codex).await;
    let mut table = String::new();
    for (name, answer) in [
        ("once", json!({ "action": "accept", "content": null, "_meta": null })),
        ("decline", json!({ "action": "decline", "content": null, "_meta": null })),
        ("cancel", json!({ "action": "cancel", "content": null, "_meta": null })),
        ("session", json!({ "action": "accept", "content": null, "_meta": { "persist": "session" } })),
        // Last, because it applies to everything that follows.
        ("always", json!({ "action": "accept", "content": null, "_meta": { "persist": "always" } })),
    ] {
        let thread = lab.thread("on-request").await;
        let ask = || tool(&codex, "ask", json!({}));
        let (requests, told) = lab.run(&thread, ask(), |_| answer.clone()).await;
        assert!(is_approval(&requests[0]), "{requests:#?}");
        assert_eq!(requests[0]["params"]["_meta"]["persist"], json!(["session", "always"]));
        let again = lab.run(&thread, ask(), |_| answer.clone()).await.0.len();
        let other = lab.thread("on-request").await;
        let elsewhere = lab.run(&other, ask(), |_| answer.clone()).await.0.len();
        let config = fs::read_to_string(lab.home.path().join("config.toml")).unwrap();
        let written =
            if config.contains("approval_mode = \"approve\"") { ", config.toml written" } else { "" };
        table += &format!("{name}: {told:?}; asked again {again}, on another thread {elsewhere}{written}\n");
    }
    lab.close().await;
    expect![[r#"
        once: "ask ran"; asked again 1, on another thread 1
        decline: "user rejected MCP tool call"; asked again 1, on another thread 1
        cancel: "user cancelled MCP tool call"; asked again 1, on another thread 1
        session: "ask ran"; asked again 0, on another thread 1
        always: "ask ran"; asked again 0, on another thread 0, config.toml written
    "#]]
    .assert_eq(&table);
}

async fn a_form_and_an_address_are_answered(codex: Codex) {
    let schema =
        json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    let form = json!({ "mode": "form", "message": "Who?", "requestedSchema": schema });
    let url =
        json!({ "mode": "url", "message": "Visit", "url": "https://example.com/x", "elicitationId": "e" });
    let mut lab = lab(&codex).await;
    let mut table = String::new();
    for (mode, question) in [("form", form), ("url", url)] {
        let content = if mode == "form" { json!({ "name": "Ann" }) } else { Value::Null };
        for answer in [
            json!({ "action": "accept", "content": content, "_meta": null }),
            json!({ "action": "decline", "content": null, "_meta": null }),
            json!({ "action": "cancel", "content": null, "_meta": null }),
        ] {
            let thread = lab.thread("untrusted").await;
            let ask = tool(&codex, "ask", json!({ "elicit": question }));
            let give = |request: &Value| if is_approval(request) { approve() } else { answer.clone() };
            let (requests, told) = lab.run(&thread, ask, give).await;
            assert!(is_approval(&requests[0]) && !is_approval(&requests[1]), "{requests:#?}");
            let params = &requests[1]["params"];
            assert_eq!((&params["mode"], &params["serverName"]), (&json!(mode), &json!("scripted")));
            table += &format!("{mode} {answer}: {told}\n");
        }
    }
    expect![[r#"
        form {"_meta":null,"action":"accept","content":{"name":"Ann"}}: {"action":"accept","content":{"name":"Ann"}}
        form {"_meta":null,"action":"decline","content":null}: {"action":"decline"}
        form {"_meta":null,"action":"cancel","content":null}: {"action":"cancel"}
        url {"_meta":null,"action":"accept","content":null}: {"action":"accept","content":{}}
        url {"_meta":null,"action":"decline","content":null}: {"action":"decline"}
        url {"_meta":null,"action":"cancel","content":null}: {"action":"cancel"}
    "#]]
    .assert_eq(&table);
    lab.close().await;
}

async fn under_never_codex_answers_a_servers_questions_by_itself(codex: Codex) {
    let mut lab = lab(&codex).await;
    let form = |fields: Value| json!({ "elicit": { "message": "?", "requestedSchema": { "type": "object", "properties": fields } } });
    let (empty, named) = (form(json!({})), form(json!({ "name": { "type": "string" } })));
    let mut table = String::new();
    for (sandbox, name, arguments) in [
        ("danger-full-access", "peek", empty.clone()),
        ("danger-full-access", "ask", empty.clone()),
        ("danger-full-access", "ask", named.clone()),
        ("workspace-write", "peek", empty),
        ("workspace-write", "peek", named.clone()),
        ("workspace-write", "ask", named),
    ] {
        lab.start["sandbox"] = json!(sandbox);
        let thread = lab.thread("never").await;
        let (requests, told) = lab.run(&thread, tool(&codex, name, arguments.clone()), |_| approve()).await;
        assert!(requests.iter().all(is_approval));
        let fields = &arguments["elicit"]["requestedSchema"]["properties"];
        table += &format!("{sandbox} {name} {fields}: asked {}, {told}\n", requests.len());
    }
    let expected = match codex.version {
        "0.130.0" => expect![[r#"
            danger-full-access peek {}: asked 0, {"action":"accept","content":{}}
            danger-full-access ask {}: asked 0, {"action":"accept","content":{}}
            danger-full-access ask {"name":{"type":"string"}}: asked 0, {"action":"decline"}
            workspace-write peek {}: asked 0, {"action":"decline"}
            workspace-write peek {"name":{"type":"string"}}: asked 0, {"action":"decline"}
            workspace-write ask {"name":{"type":"string"}}: asked 1, {"action":"decline"}
        "#]],
        _ => expect![[r#"
            danger-full-access peek {}: asked 0, {"action":"accept","content":{}}
            danger-full-access ask {}: asked 0, {"action":"accept","content":{}}
            danger-full-access ask {"name":{"type":"string"}}: asked 0, {"action":"decline"}
            workspace-write peek {}: asked 0, {"action":"decline"}
            workspace-write peek {"name":{"type":"string"}}: asked 0, {"action":"decline"}
            workspace-write ask {"name":{"type":"string"}}: asked 0, MCP tool call requires approval, but approval policy is never
        "#]],
    };
    expected.assert_eq(&table);
    lab.close().await;
}
