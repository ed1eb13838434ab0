//! Every kind of request that the real Codex can be made to send, answered in the expected shape: the effect on the
//! model, the server or the file system shows that the answer was understood.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use talaria_codex_proto::wire::call::ThreadStart;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::request::{Answer, Ask, Content, Decision, Given, Grant, Persist, Who, Wish};
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::stage::{Real, Turn, begin, both_versions};

both_versions!(
    permissions_are_granted_for_as_long_as_was_said,
    always_becomes_the_rule_that_codex_proposed;
    newest:
    questions_of_the_model_are_answered,
    a_reason_reaches_the_model_together_with_the_refusal,
    a_command_with_a_wider_sandbox_says_what_it_would_get,
    a_tool_of_a_server_is_accepted_once_or_for_the_session,
    a_form_and_an_address_of_a_server_are_answered,
);

/// The result of the model's last tool.
fn told(real: &Real) -> String {
    real.model.requests().last().unwrap().tool_outputs().last().unwrap().clone()
}

/// A conversation in a sandbox, where Codex asks for more; with a feature that is off by default.
fn confined(real: &Real, feature: &str) -> ThreadStart {
    let sandbox = Some(Sandbox::WorkspaceWrite);
    with(ThreadStart { sandbox, ..real.unconfined(ApprovalPolicy::OnRequest) }, feature, json!(true))
}

fn with(mut start: ThreadStart, key: &str, value: Value) -> ThreadStart {
    start.config.insert(key.to_owned(), value);
    start
}

async fn permissions_are_granted_for_as_long_as_was_said(codex: Codex) {
    let real = Real::start(&codex).await;
    let cache = real.home.root().join("cache");
    let wanted = json!({ "network": { "enabled": true }, "file_system": { "write": [cache] } });
    let call =
        || Reply::new().function("request_permissions", json!({ "reason": "r", "permissions": wanted }));
    let answers = [
        (Answer::from(Decision::AcceptForSession), "session", true, true),
        (Decision::Decline.into(), "turn", false, false),
        (Answer::with(Content::Grant(Grant::Files)), "turn", false, true),
    ];
    // The first grant lasts as long as its conversation, so each answer gets one of its own.
    for (answer, scope, network, files) in answers {
        real.model.play([call(), Reply::say("Thanks.")]);
        let start = confined(&real, "features.request_permissions_tool");
        let mut turn = begin(real.session_with(start).await, "go");
        let ask = turn.answer(answer, Who::User).await;
        let Ask::Permissions { permissions, .. } = ask else { panic!("{ask:?}") };
        assert!(permissions.network && permissions.unknown.is_empty(), "{permissions:?}");
        assert_eq!(permissions.files.len(), 1, "{permissions:?}");
        turn.end().await;
        let told: Value = serde_json::from_str(&told(&real)).unwrap();
        assert_eq!(told["scope"], scope, "{told}");
        assert_eq!(told["permissions"]["network"]["enabled"] == true, network, "{told}");
        assert_eq!(told["permissions"]["file_system"].is_object(), files, "{told}");
    }
    real.close().await;
}

async fn questions_of_the_model_are_answered(codex: Codex) {
    let real = Real::start(&codex).await;
    let option = |label: &str| json!({ "label": label, "description": "d" });
    let question = |id: &str| json!({ "id": id, "header": "H", "question": "Which?", "options": [option("Red"), option("Blue")] });
    let asked = json!({ "questions": [question("a"), question("b")] });
    real.model.play([Reply::new().function("request_user_input", asked.clone()), Reply::say("Thanks.")]);
    let start = real.unconfined(ApprovalPolicy::Untrusted);
    let start = with(start, "features.default_mode_request_user_input", json!(true));
    let mut turn = begin(real.session_with(start).await, "go");
    let given = [("a", Given::plain("Blue")), ("b", Given::secret("something else"))];
    let answers = given.into_iter().map(|(id, given)| (id.to_owned(), vec![given])).collect();
    let ask = turn.answer(Answer::with(Content::Answers(answers)), Who::User).await;
    let Ask::Input { questions, .. } = ask else { panic!("{ask:?}") };
    assert!(questions.iter().all(|question| question.other && question.options.len() == 2), "{questions:?}");
    let ended = turn.end().await;
    assert!(!format!("{:?}", ended.events).contains("something else"), "an event tells a secret");
    let heard: Value = serde_json::from_str(&told(&real)).unwrap();
    assert_eq!(
        heard,
        json!({ "answers": { "a": { "answers": ["Blue"] }, "b": { "answers": ["something else"] } } })
    );

    real.model.play([Reply::new().function("request_user_input", asked), Reply::say("Then not.")]);
    let mut turn = begin(ended.session, "again");
    turn.answer(Decision::Decline, Who::User).await;
    turn.end().await;
    assert_eq!(told(&real), r#"{"answers":{}}"#);
    real.close().await;
}

async fn a_reason_reaches_the_model_together_with_the_refusal(codex: Codex) {
    let real = Real::start(&codex).await;
    real.model.play([Reply::new().command("touch forbidden"), Reply::say("I see.")]);
    let mut turn = begin(real.session().await, "go");
    turn.answer(Answer::decline_because("use the mirror"), Who::User).await;
    let ended = turn.end().await;
    assert_eq!(ended.text(), "I see.");
    let requests = real.model.requests();
    assert_eq!(requests.len(), 2, "the model is not asked a time in between");
    assert!(requests[1].prompt().ends_with("The reason: use the mirror"), "{}", requests[1].prompt());
    assert!(requests[1].tool_outputs()[0].contains("rejected by user"), "{:?}", requests[1].tool_outputs());
    assert!(!real.home.work().join("forbidden").exists());
    real.close().await;
}

async fn always_becomes_the_rule_that_codex_proposed(codex: Codex) {
    let real = Real::start(&codex).await;
    let command = || Reply::new().command("touch made");
    real.model.play([command(), Reply::say("Done.")]);
    let mut turn = begin(real.session().await, "go");
    let ask = turn.answer(Decision::AcceptAlways, Who::User).await;
    let Ask::Command { always: Some(words), .. } = &ask else { panic!("{ask:?}") };
    assert_eq!(words, &["touch", "made"]);
    turn.end().await;
    let rules = fs::read_to_string(real.home.path().join("rules/default.rules")).unwrap();
    assert!(rules.contains(r#"pattern=["touch", "made"]"#), "{rules}");

    // Another conversation is not asked.
    real.model.play([command(), Reply::say("Done.")]);
    let ended = begin(real.session().await, "go").end().await;
    assert_eq!((ended.requests(), ended.report.exit_code()), (0, 0));
    real.close().await;
}

async fn a_command_with_a_wider_sandbox_says_what_it_would_get(codex: Codex) {
    let real = Real::start(&codex).await;
    let cache = real.home.root().join("cache");
    let arguments = json!({ "cmd": "touch made", "justification": "why not",
        "sandbox_permissions": "with_additional_permissions",
        "additional_permissions": { "file_system": { "write": [cache] } } });
    let call = || Reply::new().function("exec_command", arguments.clone());
    real.model.play([call(), call(), Reply::say("Done.")]);
    let start = confined(&real, "features.exec_permission_approvals");
    let mut turn = begin(real.session_with(start).await, "go");
    let ask = turn.answer(Decision::AcceptForSession, Who::User).await;
    // Codex names a rule for such a command and does not offer it.
    assert!(!ask.choices().contains(&Decision::AcceptAlways), "{ask:?}");
    let Ask::Command { permissions: Some(permissions), reason, .. } = &ask else { panic!("{ask:?}") };
    let expected = format!("may read and write {}", cache.display());
    assert!(permissions.lines().contains(&expected), "{permissions:?}");
    assert_eq!(reason.as_deref(), Some("why not"));
    let ended = turn.end().await;
    assert_eq!(ended.requests(), 1, "the session remembers it: {:?}", ended.events);
    assert!(real.home.work().join("made").exists());
    real.close().await;
}

/// 0.130 has neither the question nor the key, and types without asking.
#[tokio::test(flavor = "multi_thread")]
async fn input_for_a_running_command_is_asked_about() {
    let real = Real::start(&Codex::v0_166()).await;
    real.model.route(|request| {
        let outputs = request.tool_outputs();
        let session = |text: &String| {
            let number = text.split_once("session ID ")?.1.split_whitespace().next()?;
            number.parse::<u64>().ok()
        };
        Some(match (outputs.len(), outputs.last().and_then(session)) {
            (0, _) => Reply::new().function(
                "exec_command",
                json!({ "cmd": "cat > typed", "tty": true,
                "yield_time_ms": 250, "sandbox_permissions": "require_escalated", "justification": "j" }),
            ),
            (1, Some(session)) => Reply::new().function(
                "write_stdin",
                json!({ "session_id": session,
                "chars": "hello\n\u{4}", "yield_time_ms": 250 }),
            ),
            _ => Reply::say("Done."),
        })
    });
    let start = confined(&real, "features.write_stdin_approval");
    let mut turn = begin(real.session_with(start).await, "go");
    turn.answer(Decision::Accept, Who::User).await;
    let ask = turn.answer(Decision::Accept, Who::User).await;
    let Ask::Stdin { command, .. } = &ask else { panic!("{ask:?}") };
    assert!(command.contains("hello"), "{command}");
    assert_eq!(
        ask.choices(),
        [Decision::Accept, Decision::Decline, Decision::Cancel],
        "0.166 would ask again"
    );
    turn.end().await;
    assert_eq!(fs::read_to_string(real.home.work().join("typed")).unwrap(), "hello\n");
    real.close().await;
}

/// Starts a Codex that knows the server, and a turn in which its tools are called one after the other.
async fn with_server(codex: &Codex, tools: &[&str]) -> (Real, Turn) {
    let real = Real::start(codex).await;
    let script = real.home.root().join("mcp-server.js");
    fs::write(&script, include_str!("asks/mcp-server.js")).unwrap();
    let namespace = if codex.version == "0.130.0" { "mcp__tiny__" } else { "mcp__tiny" };
    for (at, tool) in tools.iter().enumerate() {
        let item = json!({ "type": "function_call", "call_id": format!("call_{at}"), "name": tool,
                           "namespace": namespace, "arguments": "{}" });
        real.model.push(Reply::new().event(json!({ "type": "response.output_item.done", "item": item })));
    }
    real.model.push(Reply::say("Done."));
    let server = json!({ "command": "node", "args": [script] });
    let start = with(real.unconfined(ApprovalPolicy::Untrusted), "mcp_servers.tiny", server);
    let turn = begin(real.session_with(start).await, "go");
    (real, turn)
}

async fn a_tool_of_a_server_is_accepted_once_or_for_the_session(codex: Codex) {
    let (real, mut turn) = with_server(&codex, &["echo", "echo", "echo"]).await;
    for decision in [Decision::Accept, Decision::AcceptForSession] {
        let ask = turn.answer(decision, Who::User).await;
        let Ask::Tool { server, persist, description, .. } = &ask else { panic!("{ask:?}") };
        assert_eq!((server.as_str(), description.as_deref()), ("tiny", Some("does echo")));
        assert_eq!(persist, &[Persist::Session, Persist::Always]);
    }
    let ended = turn.end().await;
    assert_eq!(ended.requests(), 2, "the third call is not asked about: {:?}", ended.events);
    assert_eq!(real.model.requests().last().unwrap().tool_outputs().len(), 3);
    real.close().await;
}

async fn a_form_and_an_address_of_a_server_are_answered(codex: Codex) {
    let (real, mut turn) = with_server(&codex, &["form", "form", "url"]).await;
    turn.answer(Decision::AcceptForSession, Who::User).await;
    let values =
        BTreeMap::from([("name".to_owned(), Given::plain("Ada")), ("age".to_owned(), Given::plain(37))]);
    let ask = turn.answer(Answer::with(Content::Form(values)), Who::User).await;
    let Ask::Elicitation { wish: Wish::Form(form), .. } = &ask else { panic!("{ask:?}") };
    let fields: Vec<_> = form.fields.iter().map(|field| (field.label(), field.required)).collect();
    assert_eq!(fields, [("age", false), ("Name", true)]);
    turn.answer(Decision::Decline, Who::User).await;
    turn.answer(Decision::Accept, Who::User).await;
    let ask = turn.answer(Decision::Accept, Who::User).await;
    assert!(
        matches!(&ask, Ask::Elicitation { wish: Wish::Url { url }, .. } if url == "https://example.org/x"),
        "{ask:?}"
    );
    turn.end().await;
    let outputs = real.model.requests().last().unwrap().tool_outputs();
    let plain: Vec<String> = outputs.iter().map(|output| output.replace('\\', "")).collect();
    let expected = [
        r#"told {"action":"accept","content":{"age":37,"name":"Ada"}}"#,
        r#"told {"action":"decline""#,
        r#"told {"action":"accept""#,
    ];
    for (output, expected) in plain.iter().zip(expected) {
        assert!(output.contains(expected), "{output}");
    }
    real.close().await;
}
