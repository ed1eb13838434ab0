//! Everything that Talaria sends has the shape that each installed Codex says it reads.
//!
//! Codex generates its own schema; a scripted app-server records what a host and its sessions really send. The schema
//! allows unknown fields, so names are looked up as well: a field with a typing mistake would silently do nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command as Program;
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::{Map, Value, json};
use talaria_core::event::Event;
use talaria_core::frame::{Decoded, Frame, decode_text};
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::request::{Decision, Who};
use talaria_core::wire::call::{CommandExec, METHODS, SandboxPolicy, ThreadStart, UserInput};
use talaria_core::wire::reply;
use talaria_core::wire::server_request::ServerRequest;
use talaria_engine::session::{Command, Session};
use talaria_testkit::app_server::directive::{expect, expect_answer, on, reply as answer, send};
use talaria_testkit::app_server::{AppServer, THREAD, TURN, complete_turn, start_turn};
use talaria_testkit::{Codex, build_dir};

use crate::stage::{Scripted, begin, begin_with, both_versions};

both_versions!(
    every_request_and_notification_that_we_send_is_what_this_codex_reads,
    every_answer_that_we_give_is_what_this_codex_reads,
    the_policy_that_only_older_versions_know_is_refused_by_newer_ones,
    a_mistake_is_seen_by_these_tests,
);

/// The schema files of one Codex.
struct Schema {
    _folder: tempfile::TempDir,
    out: PathBuf,
}

impl Schema {
    fn generate(codex: &Codex) -> Self {
        let folder = tempfile::tempdir_in(build_dir::folder("test-homes")).unwrap();
        let (home, out) = (folder.path().join("home"), folder.path().join("out"));
        fs::create_dir(&home).unwrap();
        let mut program = Program::new(&codex.native);
        program.args(["app-server", "generate-json-schema", "--experimental", "--out"]).arg(&out);
        let output = program.env("CODEX_HOME", &home).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { _folder: folder, out }
    }

    fn file(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.out.join(format!("{name}.json")));
        serde_json::from_str(&text.unwrap_or_else(|cause| panic!("{name}: {cause}"))).unwrap()
    }

    /// The schema of one method, with the definitions it refers to.
    fn request(&self, method: &str) -> Value {
        let all = self.file("ClientRequest");
        let variants = all["oneOf"].as_array().unwrap();
        let of_method = |variant: &&Value| variant["properties"]["method"]["enum"][0] == method;
        let found =
            variants.iter().find(of_method).unwrap_or_else(|| panic!("{method} is not in the schema"));
        with_definitions(found, &all)
    }
}

fn with_definitions(schema: &Value, root: &Value) -> Value {
    let mut whole = schema.clone();
    if let Some(definitions) = root.get("definitions") {
        whole["definitions"] = definitions.clone();
    }
    whole
}

/// Gives what is wrong with a message: what the schema refuses, and names that it does not have.
fn problems(schema: &Value, message: &Value) -> Vec<String> {
    let validator = jsonschema::draft7::new(schema).unwrap();
    let refused = validator.iter_errors(message).map(|error| format!("{}: {error}", error.instance_path()));
    let mut problems: Vec<String> = refused.collect();
    unknown_names(schema, schema, message, "", &mut problems);
    problems
}

/// Looks up every name of an object in the schemas that describe it.
fn unknown_names(root: &Value, schema: &Value, value: &Value, path: &str, problems: &mut Vec<String>) {
    let mut shapes = Vec::new();
    collect_shapes(root, schema, value, &mut shapes);
    match value {
        Value::Object(fields) => {
            // Something that is described as "anything" has no names to look up.
            if !shapes
                .iter()
                .any(|shape| shape.get("properties").is_some() || shape["additionalProperties"] == false)
            {
                return;
            }
            for (name, field) in fields {
                let described: Vec<&Value> =
                    shapes.iter().filter_map(|shape| shape.get("properties")?.get(name)).collect();
                if described.is_empty() {
                    problems.push(format!("{path}/{name}: the schema has no such name"));
                }
                for schema in described {
                    unknown_names(root, schema, field, &format!("{path}/{name}"), problems);
                }
            }
        }
        Value::Array(items) => {
            for schema in shapes.iter().filter_map(|shape| shape.get("items")) {
                for (at, item) in items.iter().enumerate() {
                    unknown_names(root, schema, item, &format!("{path}/{at}"), problems);
                }
            }
        }
        _ => {}
    }
}

/// The plain schemas behind references and alternatives; of alternatives, those that the value fits.
fn collect_shapes<'a>(root: &'a Value, schema: &'a Value, value: &Value, shapes: &mut Vec<&'a Value>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap();
        collect_shapes(root, target, value, shapes);
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        collect_shapes(root, part, value, shapes);
    }
    for key in ["anyOf", "oneOf"] {
        for part in schema[key].as_array().into_iter().flatten() {
            let fits: Validator = jsonschema::draft7::new(&with_definitions(part, root)).unwrap();
            if fits.is_valid(value) {
                collect_shapes(root, part, value, shapes);
            }
        }
    }
    shapes.push(schema);
}

/// Makes a host and its sessions send everything that they can send; gives what arrived.
async fn everything_that_we_send() -> Vec<Value> {
    let config = json!({ "config": { "approval_policy": null, "projects": {} }, "origins": {} });
    let approval = json!({ "threadId": THREAD, "turnId": TURN, "itemId": "c", "command": "ls", "cwd": "/w" });
    let first = vec![
        send(json!({ "id": 0, "method": "item/commandExecution/requestApproval", "params": approval })),
        expect_answer(0),
        send(json!({ "id": "x", "method": "brand/new", "params": {} })),
        expect_answer("x"),
        expect("turn/steer"),
        answer(json!({ "turnId": TURN })),
    ];
    let handlers = vec![
        on("config/read", [answer(config)]),
        on("command/exec", [answer(json!({ "exitCode": 0, "stdout": "", "stderr": "" }))]),
    ];
    let play = [handlers, start_turn(), first, complete_turn("one"), start_turn()].concat();
    let scripted = Scripted::start(AppServer::ready(play), "0.166.0").await;
    let host = Arc::clone(&scripted.host);

    let mut session = None;
    for sandbox in [None].into_iter().chain(Sandbox::ALL.map(Some)) {
        for approval_policy in [None].into_iter().chain(ApprovalPolicy::ALL.map(Some)) {
            let model = Some("gpt-5.5".to_owned());
            let start =
                ThreadStart { cwd: "/w".to_owned(), model, sandbox, approval_policy, config: Map::new() };
            // One at a time: the scripted server has only one thread.
            drop(session.take());
            session = Some(Session::start(host.clone(), start, Some("high".to_owned())).await.unwrap());
        }
    }
    host.account().await.unwrap();
    let sandbox_policy = SandboxPolicy::WorkspaceWrite {
        writable_roots: vec!["/w".to_owned()],
        network_access: false,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    };
    let command = vec!["true".to_owned()];
    let exec = CommandExec { command, cwd: "/w".to_owned(), timeout_ms: 1000, sandbox_policy };
    host.call(&exec).await.unwrap();

    let image = UserInput::LocalImage { path: "/w/picture.png".to_owned() };
    let input = vec![UserInput::Text { text: "look".to_owned() }, image];
    let mut turn = begin_with(session.unwrap(), input, None, Vec::new());
    turn.answer(Decision::Accept, Who::User).await;
    // The refusal of the stranger leaves before it is shown, so the server is ready for what comes next.
    turn.until(|event| matches!(event, Event::Unknown { .. }).then_some(())).await;
    turn.command(Command::Steer("and this".to_owned())).await;
    let ended = turn.end().await;
    let turn = begin(ended.session, "once more");
    turn.command(Command::Interrupt { by: Who::User }).await;
    turn.end().await;
    let received = scripted.program.received();
    scripted.close().await;
    received
}

async fn every_request_and_notification_that_we_send_is_what_this_codex_reads(codex: Codex) {
    let schema = Schema::generate(&codex);
    let (mut seen, mut answers) = (BTreeSet::new(), 0);
    for message in everything_that_we_send().await {
        let method = message["method"].as_str();
        let shape = match (method, message.get("id")) {
            (Some(method), Some(_)) => schema.request(method),
            (Some(_), None) => schema.file("ClientNotification"),
            (None, _) if message.get("error").is_some() => schema.file("JSONRPCError"),
            (None, _) => schema.file("JSONRPCResponse"),
        };
        // Only older versions know it; there is a test of its own for that.
        let is_old = message["params"]["approvalPolicy"] == "on-failure" && codex.version != "0.130.0";
        let found = problems(&shape, &message);
        assert_eq!(found.is_empty(), !is_old, "{} {message}: {found:#?}", codex.version);
        match method {
            Some(method) => drop(seen.insert(method.to_owned())),
            None => answers += 1,
        }
    }
    let wanted = METHODS.iter().copied().chain(["initialized"]).map(str::to_owned).collect();
    assert_eq!(seen, wanted, "every method was sent, and none that is not in the list");
    assert_eq!(answers, 2);
}

/// One question of each kind that Codex may ask, with the name of the schema of its answer.
fn questions() -> Vec<(ServerRequest, &'static str)> {
    let scope = json!({ "threadId": "t", "turnId": "u", "itemId": "i", "serverName": "s", "questions": [] });
    let shapes = [
        ("item/commandExecution/requestApproval", "CommandExecutionRequestApprovalResponse"),
        ("item/fileChange/requestApproval", "FileChangeRequestApprovalResponse"),
        ("item/permissions/requestApproval", "PermissionsRequestApprovalResponse"),
        ("item/tool/requestUserInput", "ToolRequestUserInputResponse"),
        ("mcpServer/elicitation/request", "McpServerElicitationRequestResponse"),
    ];
    let methods: Vec<&str> = shapes.iter().map(|(method, _)| *method).collect();
    assert_eq!(methods, ServerRequest::METHODS, "every question has its answer checked");
    let question = |(method, answer)| {
        let text = json!({ "id": 0, "method": method, "params": scope }).to_string();
        match decode_text(&text) {
            Decoded::Known(Frame::Request { request, .. }) => (request, answer),
            other => panic!("{other:?}"),
        }
    };
    shapes.into_iter().map(question).collect()
}

async fn every_answer_that_we_give_is_what_this_codex_reads(codex: Codex) {
    let schema = Schema::generate(&codex);
    for (question, name) in questions() {
        let shape = schema.file(name);
        let decisions = [Decision::Accept, Decision::AcceptForSession, Decision::Decline, Decision::Cancel];
        for decision in decisions {
            let answer = reply::answer(&question, decision).unwrap();
            let found = problems(&shape, &answer);
            assert!(found.is_empty(), "{} {} {decision:?}: {found:#?}", codex.version, question.method());
        }
        assert_eq!(reply::answer(&question, Decision::Void), None);
    }
}

async fn the_policy_that_only_older_versions_know_is_refused_by_newer_ones(codex: Codex) {
    let schema = Schema::generate(&codex).request("thread/start");
    let found = problems(
        &schema,
        &json!({ "id": 1, "method": "thread/start", "params": { "approvalPolicy": "on-failure" } }),
    );
    assert_eq!(found.is_empty(), codex.version == "0.130.0", "{found:?}");
}

/// The check itself is checked: a wrong name, a wrong type and a wrong word are each found, also deep inside.
async fn a_mistake_is_seen_by_these_tests(codex: Codex) {
    let schema = Schema::generate(&codex);
    let mistakes = [
        json!({ "id": 1, "method": "turn/start", "params": { "threadId": "t", "input": [], "efort": "high" } }),
        json!({ "id": 1, "method": "turn/start", "params": { "threadId": 7, "input": [] } }),
        json!({ "id": 1, "method": "turn/start", "params": { "threadId": "t", "input": [{ "type": "localImage", "file": "/x" }] } }),
        json!({ "id": 1, "method": "turn/start", "params": { "threadId": "t", "input": [{ "type": "text", "text": "x", "txet": "y" }] } }),
        json!({ "id": 1, "method": "thread/start", "params": { "sandbox": "workspaceWrite" } }),
        json!({ "id": 1, "method": "command/exec", "params": { "command": ["x"], "sandboxPolicy": { "type": "workspaceWrite", "writableRoot": [] } } }),
    ];
    for mistake in mistakes {
        let shape = schema.request(mistake["method"].as_str().unwrap());
        assert!(!problems(&shape, &mistake).is_empty(), "{mistake}");
    }
    let sound =
        json!({ "id": 1, "method": "thread/start", "params": { "config": { "any.thing": { "goes": 1 } } } });
    assert_eq!(problems(&schema.request("thread/start"), &sound), [] as [&str; 0]);
}
