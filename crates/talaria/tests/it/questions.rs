//! Every other kind of question at a terminal, and what becomes of it where there is none: a scripted app-server asks,
//! and what it was answered is looked at.

use serde_json::{Value, json};
use talaria_testkit::app_server::directive::{expect, expect_answer, notify, on, reply, send};
use talaria_testkit::app_server::{InstalledAppServer, THREAD, TURN, complete_turn, start_turn};
use talaria_testkit::{AppServer, Terminal};

use crate::scene::{Scene, of_type};

/// The end of the line that waits for a choice.
const CHOICES: &str = "[x] no, stop the turn: ";

fn request(id: u64, method: &str, more: Value) -> Value {
    let mut params =
        json!({ "threadId": THREAD, "turnId": TURN, "itemId": format!("call_{id}"), "startedAtMs": 1 });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    send(json!({ "id": id, "method": method, "params": params }))
}

fn questions(questions: Value) -> Value {
    let more = json!({ "questions": questions, "isBlocking": true, "autoResolutionMs": null });
    request(0, "item/tool/requestUserInput", more)
}

fn form(properties: Value, required: Value) -> Value {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let more = json!({ "serverName": "tiny", "mode": "form", "_meta": null, "message": "Who are you?",
                       "requestedSchema": schema });
    request(0, "mcpServer/elicitation/request", more)
}

fn url() -> Value {
    let more = json!({ "serverName": "tiny", "mode": "url", "_meta": null, "message": "Sign in",
                       "url": "https://example.org/x", "elicitationId": "e1" });
    request(0, "mcpServer/elicitation/request", more)
}

fn permissions() -> Value {
    let profile = json!({ "network": { "enabled": true }, "fileSystem": {
        "read": null, "write": ["/var/cache/x"],
        "entries": [{ "path": { "type": "path", "path": "/var/cache/x" }, "access": "write" }] } });
    let more =
        json!({ "cwd": "/w", "reason": "need a cache", "permissions": profile, "environmentId": "local" });
    request(0, "item/permissions/requestApproval", more)
}

fn network() -> Value {
    let rule = json!({ "host": "example.org", "action": "allow" });
    let always = json!({ "applyNetworkPolicyAmendment": { "network_policy_amendment": rule } });
    let more = json!({ "kind": "command", "networkApprovalContext": { "host": "example.org", "protocol": "https" },
                       "proposedNetworkPolicyAmendments": [rule],
                       "availableDecisions": ["accept", "acceptForSession", always, "cancel"] });
    request(0, "item/commandExecution/requestApproval", more)
}

fn command() -> Value {
    let always = json!({ "acceptWithExecpolicyAmendment": { "execpolicy_amendment": ["touch", "a b"] } });
    let more = json!({ "kind": "command", "command": "touch 'a b'", "cwd": "/w",
                       "availableDecisions": ["accept", always, "cancel"] });
    request(0, "item/commandExecution/requestApproval", more)
}

fn tool() -> Value {
    let meta = json!({ "codex_approval_kind": "mcp_tool_call", "persist": ["session", "always"],
                       "tool_description": "Echo the text", "tool_params": { "text": "hi" } });
    let more = json!({ "serverName": "tiny", "mode": "form", "_meta": meta, "message": "Allow it?",
                       "requestedSchema": { "type": "object", "properties": {} } });
    request(0, "mcpServer/elicitation/request", more)
}

/// A turn in which Codex asks this and waits for the answer.
fn asking(question: Value) -> AppServer {
    AppServer::ready([start_turn(), vec![question, expect_answer(0)], complete_turn("Done.")].concat())
}

/// The client's answer to the request with the id 0.
fn answer(installed: &InstalledAppServer) -> Value {
    let is_answer = |message: &Value| message.get("method").is_none() && message["id"] == 0;
    let answers: Vec<Value> = installed.received().into_iter().filter(is_answer).collect();
    assert_eq!(answers.len(), 1, "one answer: {answers:?}");
    answers[0]["result"].clone()
}

/// Plays a question, waits for each text and types each line, and returns what Codex was answered.
async fn play(question: Value, dialog: &[(&str, &str)]) -> (Value, Terminal) {
    let (scene, installed) = Scene::scripted(asking(question)).await;
    let mut terminal = scene.terminal(&["exec", "go"]);
    for (text, keys) in dialog {
        terminal.wait_for(text).await;
        terminal.type_keys(keys).await;
    }
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.transcript());
    let answer = answer(&installed);
    scene.close().await;
    (answer, terminal)
}

#[tokio::test]
async fn the_models_questions_are_asked_one_after_the_other() {
    let colour = json!({ "id": "colour", "header": "Colour", "question": "Which colour?", "isOther": true,
                         "isSecret": false, "options": [{ "label": "Red", "description": "warm" },
                                                        { "label": "Blue", "description": "cold" }] });
    let size = json!({ "id": "size", "header": "Size", "question": "Which size?", "isOther": true,
                       "isSecret": false, "options": [{ "label": "Small", "description": "" }] });
    let name = json!({ "id": "name", "header": "", "question": "Which name?", "isOther": false,
                       "isSecret": false, "options": null });
    let dialog = [
        ("? The model asks you 3 things", ""),
        ("[2] Blue: cold", ""),
        (CHOICES, "7\n"),
        (CHOICES, "2\n"),
        ("Which size?", ""),
        (CHOICES, "o\n"),
        ("your answer (empty line: back): ", "XXL\n"),
        ("Which name?", ""),
        ("your answer (empty line: back): ", "Ada Lovelace\n"),
        ("→ accepted by you", ""),
    ];
    let (answer, _) = play(questions(json!([colour, size, name])), &dialog).await;
    let given = |text: &str| json!({ "answers": [text] });
    let expected = json!({ "colour": given("Blue"), "size": given("XXL"), "name": given("Ada Lovelace") });
    assert_eq!(answer, json!({ "answers": expected }));
}

#[tokio::test]
async fn a_question_of_the_model_can_be_left_without_an_answer() {
    let name = json!([{ "id": "name", "header": "", "question": "Which name?", "options": null }]);
    let dialog = [("(empty line: back): ", "\n"), (CHOICES, "n\n"), ("→ declined by you", "")];
    let (answer, _) = play(questions(name), &dialog).await;
    assert_eq!(answer, json!({ "answers": {} }));
}

fn secret() -> Value {
    let key =
        json!({ "id": "key", "header": "Key", "question": "Which key?", "isSecret": true, "options": null });
    let name = json!({ "id": "name", "header": "", "question": "Which name?", "options": null });
    questions(json!([key, name]))
}

#[tokio::test]
async fn a_secret_is_typed_unseen_and_what_comes_after_it_is_seen() {
    let dialog = [
        ("your answer, not shown (empty line: back): ", " hunter2 \n"),
        ("Which name?", ""),
        ("(empty line: back): ", "Ada\n"),
        ("Ada\n→ accepted by you", ""),
    ];
    let (answer, terminal) = play(secret(), &dialog).await;
    let expected = json!({ "key": { "answers": [" hunter2 "] }, "name": { "answers": ["Ada"] } });
    assert_eq!(answer, json!({ "answers": expected }));
    let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
    assert!(!raw.contains("hunter") && !raw.contains('*'), "{raw}");
}

/// Waits until a secret is asked for, and begins to type it.
async fn half_typed(terminal: &mut Terminal) {
    terminal.wait_for("your answer, not shown (empty line: back): ").await;
    terminal.type_keys("hunt").await;
}

/// The terminal is as it was, nothing of the secret was seen, and Codex got nothing of it.
async fn left_no_trace(terminal: &mut Terminal, installed: &InstalledAppServer) {
    terminal.wait_for(" echo ").await;
    terminal.exit_code().await;
    let transcript = terminal.transcript();
    assert!(!transcript.contains("hunt") && !transcript.contains("-echo "), "{transcript}");
    let told = installed.received().iter().any(|message| message.to_string().contains("hunt"));
    assert!(!told, "half a secret went to Codex");
}

#[tokio::test]
async fn ctrl_c_interrupts_while_a_secret_is_typed_and_the_terminal_is_as_it_was() {
    let (scene, installed) = Scene::scripted(asking(secret())).await;
    let mut terminal = scene.terminal_then(&["exec", "go"], "stty -a");
    half_typed(&mut terminal).await;
    terminal.ctrl_c().await;
    terminal.wait_for("interrupted by you").await;
    left_no_trace(&mut terminal, &installed).await;
    scene.close().await;
}

#[tokio::test]
async fn leaving_while_a_secret_is_typed_restores_the_terminal() {
    let deaf = on("turn/interrupt", []);
    let server = AppServer::ready([vec![deaf], start_turn(), vec![secret(), expect_answer(0)]].concat());
    let (scene, installed) = Scene::scripted(server).await;
    let mut terminal = scene.terminal_then(&["exec", "go"], "stty -a");
    half_typed(&mut terminal).await;
    terminal.ctrl_c().await;
    terminal.wait_for("stopping").await;
    terminal.ctrl_c().await;
    terminal.wait_for("you left before the turn ended").await;
    left_no_trace(&mut terminal, &installed).await;
    scene.close_deaf().await;
}

#[tokio::test]
async fn when_codex_takes_a_secret_question_back_typing_is_seen_again() {
    let taken_back = notify("serverRequest/resolved", json!({ "threadId": THREAD, "requestId": 0 }));
    let server = AppServer::ready([start_turn(), vec![secret(), taken_back, expect_answer(0)]].concat());
    let (scene, _) = Scene::scripted(server).await;
    let mut terminal = scene.terminal(&["exec", "go"]);
    terminal.wait_for("no longer open").await;
    terminal.type_keys("in the open").await;
    terminal.wait_for("in the open").await;
    terminal.ctrl_c().await;
    assert_eq!(terminal.exit_code().await, Some(4), "{}", terminal.transcript());
    scene.close().await;
}

fn command_of(id: u64) -> Value {
    let more = json!({ "kind": "command", "command": "ls", "cwd": "/w", "availableDecisions": ["accept", "cancel"] });
    request(id, "item/commandExecution/requestApproval", more)
}

#[tokio::test]
async fn a_form_is_filled_in_field_by_field_and_checked() {
    let properties = json!({
        "age": { "type": "integer", "minimum": 0 },
        "colours": { "type": "array", "items": { "type": "string", "enum": ["red", "blue"] } },
        "name": { "type": "string", "title": "Name", "minLength": 2 },
        "password": { "type": "string" },
        "sure": { "type": "boolean", "default": true },
    });
    let dialog = [
        ("? The MCP server tiny asks you to fill in a form", ""),
        ("Name (text, required)", ""),
        (CHOICES, "y\n"),
        ("(empty line: skip): ", "old\n"),
        ("this takes a whole number", ""),
        ("(empty line: skip): ", "37\n"),
        ("(empty line: skip): ", "2, 1\n"),
        ("(empty line: back): ", "A\n"),
        ("this takes at least 2 characters", ""),
        ("(empty line: back): ", "Ada\n"),
        ("your entry, not shown", "hunter2\n"),
        ("(empty line: default): ", "\n"),
        ("→ accepted by you", ""),
    ];
    let (answer, terminal) = play(form(properties, json!(["name"])), &dialog).await;
    let content =
        json!({ "age": 37, "colours": ["blue", "red"], "name": "Ada", "password": "hunter2", "sure": true });
    assert_eq!(answer, json!({ "action": "accept", "content": content, "_meta": null }));
    assert!(!terminal.transcript().contains("hunter2"), "{}", terminal.transcript());
}

#[tokio::test]
async fn an_address_is_shown_and_the_person_says_when_it_is_done() {
    let dialog = [("https://example.org/x", ""), ("[y] done", ""), (CHOICES, "y\n")];
    let (answer, _) = play(url(), &dialog).await;
    assert_eq!(answer, json!({ "action": "accept", "content": null, "_meta": null }));
    let (answer, _) = play(url(), &[(CHOICES, "n\n")]).await;
    assert_eq!(answer, json!({ "action": "decline", "content": null, "_meta": null }));
}

#[tokio::test]
async fn permissions_are_shown_and_granted_for_as_long_as_was_said() {
    let dialog = |key| {
        [
            ("? The model asks for a wider sandbox", ""),
            ("may use the network", ""),
            ("may read and write /var/cache/x", ""),
            ("need a cache", ""),
            (CHOICES, key),
        ]
    };
    let (answer, _) = play(permissions(), &dialog("y\n")).await;
    assert_eq!(
        (&answer["scope"], &answer["permissions"]["network"]["enabled"]),
        (&json!("turn"), &json!(true))
    );
    let (answer, _) = play(permissions(), &dialog("s\n")).await;
    assert_eq!(answer["scope"], "session");
    assert_eq!(answer["permissions"]["fileSystem"]["write"], json!(["/var/cache/x"]));
    let (answer, _) = play(permissions(), &dialog("n\n")).await;
    assert_eq!(answer, json!({ "permissions": {}, "scope": "turn" }));
}

#[tokio::test]
async fn always_is_the_rule_that_codex_proposed_and_the_prompt_says_which() {
    let dialog = [
        ("touch 'a b'", ""),
        ("[a] allows commands that start like this, in every conversation", ""),
        (CHOICES, "a\n"),
        ("→ always allowed by you", ""),
    ];
    let (answer, _) = play(command(), &dialog).await;
    let rule = json!({ "acceptWithExecpolicyAmendment": { "execpolicy_amendment": ["touch", "a b"] } });
    assert_eq!(answer, json!({ "decision": rule }));
    let dialog = [
        ("example.org (https)", ""),
        ("this host, in every conversation:", ""),
        ("example.org", ""),
        (CHOICES, "a\n"),
    ];
    let (answer, _) = play(network(), &dialog).await;
    let rule = json!({ "network_policy_amendment": { "host": "example.org", "action": "allow" } });
    assert_eq!(answer, json!({ "decision": { "applyNetworkPolicyAmendment": rule } }));
    let (answer, _) = play(tool(), &[("Codex writes it into its", ""), (CHOICES, "a\n")]).await;
    assert_eq!(answer, json!({ "action": "accept", "content": {}, "_meta": { "persist": "always" } }));
}

#[tokio::test]
async fn where_there_is_no_rule_always_is_not_offered_and_not_taken() {
    let (answer, terminal) = play(command_of(0), &[(CHOICES, "a\n"), (CHOICES, "y\n")]).await;
    assert_eq!(answer, json!({ "decision": "accept" }));
    assert!(!terminal.transcript().contains("[a]"), "{}", terminal.transcript());
}

#[tokio::test]
async fn a_reason_reaches_the_model_before_the_request_is_declined() {
    let steered = vec![command(), expect("turn/steer"), reply(json!({ "turnId": TURN })), expect_answer(0)];
    let server = AppServer::ready([start_turn(), steered, complete_turn("Done.")].concat());
    let (scene, installed) = Scene::scripted(server).await;
    let mut terminal = scene.terminal(&["exec", "go"]);
    terminal.wait_for(CHOICES).await;
    terminal.type_keys("r\n").await;
    terminal.wait_for("tell the model why").await;
    terminal.type_keys("use the mirror\n").await;
    terminal.wait_for("→ declined by you").await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.transcript());
    let received = installed.received();
    let steer = received.iter().position(|message| message["method"] == "turn/steer").unwrap();
    let decline = received.iter().position(|message| message["result"]["decision"] == "decline").unwrap();
    assert!(steer < decline, "{received:?}");
    let text = &received[steer]["params"]["input"][0]["text"];
    assert_eq!(text, "I declined this request: touch 'a b'\nThe reason: use the mirror");
    scene.close().await;
}

#[tokio::test]
async fn where_nobody_can_be_asked_every_kind_is_declined_visibly() {
    let kinds = [
        ("command", command(), json!({ "decision": "decline" })),
        ("network", network(), json!({ "decision": "decline" })),
        ("permissions", permissions(), json!({ "permissions": {}, "scope": "turn" })),
        ("input", secret(), json!({ "answers": {} })),
        ("elicitation", url(), json!({ "action": "decline", "content": null, "_meta": null })),
        (
            "elicitation",
            form(json!({}), json!([])),
            json!({ "action": "decline", "content": null, "_meta": null }),
        ),
        ("tool", tool(), json!({ "action": "decline", "content": null, "_meta": null })),
    ];
    for (kind, question, expected) in kinds {
        let (scene, installed) = Scene::scripted(asking(question)).await;
        let ended = scene.run(&["exec", "--json", "go"]).await.exits(3);
        let events = ended.events();
        let (opened, closed) = (of_type(&events, "request_opened"), of_type(&events, "request_closed"));
        assert_eq!((opened.len(), closed.len()), (1, 1), "{events:?}");
        assert_eq!(opened[0]["kind"], kind);
        assert_eq!((&closed[0]["decision"], &closed[0]["by"]), (&json!("decline"), &json!("nobody")));
        assert_eq!(answer(&installed), expected, "{kind}");
        scene.close().await;
    }
}

#[tokio::test]
async fn what_codex_wants_of_its_host_is_refused_and_shown() {
    let refresh = json!({ "id": 0, "method": "account/chatgptAuthTokens/refresh",
                          "params": { "reason": "unauthorized", "previousAccountId": null } });
    let server = AppServer::ready(
        [start_turn(), vec![send(refresh), expect_answer(0)], complete_turn("Done.")].concat(),
    );
    let (scene, installed) = Scene::scripted(server).await;
    let mut terminal = scene.terminal(&["exec", "go"]);
    terminal.wait_for("Codex asks Talaria for something that it does not provide").await;
    terminal.wait_for("run `codex login`").await;
    terminal.wait_for("→ declined by Talaria").await;
    assert_eq!(terminal.exit_code().await, Some(3), "{}", terminal.transcript());
    let refused: Vec<Value> =
        installed.received().into_iter().filter(|message| message.get("error").is_some()).collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!((&refused[0]["id"], &refused[0]["error"]["code"]), (&json!(0), &json!(-32601)));
    assert!(refused[0]["error"]["message"].as_str().unwrap().contains("codex login"));
    scene.close().await;
}

#[tokio::test]
async fn a_call_of_a_tool_that_nobody_has_fails_and_the_turn_goes_on() {
    let call = json!({ "id": 0, "method": "item/tool/call", "params": {
        "threadId": THREAD, "turnId": TURN, "callId": "call_0", "namespace": null, "tool": "lookup", "arguments": {} } });
    let (scene, installed) = Scene::scripted(asking(send(call))).await;
    // Codex itself shows the call as a step that failed; a scripted one sends no step.
    scene.run(&["exec", "go"]).await.exits(0);
    let content = json!([{ "type": "inputText", "text": "lookup: Talaria has no such tool" }]);
    assert_eq!(answer(&installed), json!({ "contentItems": content, "success": false }));
    scene.close().await;
}
