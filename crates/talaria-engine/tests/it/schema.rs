//! Everything that Talaria sends has the shape that each installed Codex says it reads.
//!
//! Codex generates its own schema; a scripted app-server records what a host and its sessions really send. The schema
//! allows unknown fields, so names are looked up as well: a field with a typing mistake would silently do nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command as Program;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use jsonschema::Validator;
use serde_json::{Map, Value, json};
use talaria_codex::commands::{CommandEvent, CommandSpec};
use talaria_codex::conversation::{CodexConversation, Command, Options, When};
use talaria_codex::host::Host;
use talaria_codex_proto::confine::Trust;
use talaria_codex_proto::frame::{Decoded, Frame, decode_text};
use talaria_codex_proto::hiding::{ExpectedSandbox, HiddenPaths, HidingStart};
use talaria_codex_proto::project;
use talaria_codex_proto::wire::call::{
    ApprovalsReviewer, Call, CommandExec, CommandTerminate, ContextEntry, DynamicTool, DynamicToolKind,
    EffectiveConfig, InjectedMessage, LoginCancel, LoginStart, METHODS, ModelList, PluginList,
    RateLimitsRead, SandboxPolicy, TerminalsClean, TerminalsList, TerminalsTerminate, ThreadArchive,
    ThreadCompact, ThreadFork, ThreadInjectItems, ThreadLoadedList, ThreadRead, ThreadResume, ThreadRollback,
    ThreadSample, ThreadSampleCancel, ThreadStart, ThreadUnarchive, ThreadUnsubscribe, TurnStart,
    UserConfigRead,
};
use talaria_codex_proto::wire::reply;
use talaria_codex_proto::wire::server_request::ServerRequest;
use talaria_core::event::Event;
use talaria_core::ids::{ThreadId, TurnId};
use talaria_core::input::InputPart;
use talaria_core::policy::{ApprovalPolicy, HideHome, Sandbox};
use talaria_core::request::{Answer, Ask, Content, Decision, Field, FieldKind, Grant, Question, Who, Wish};
use talaria_core::tool::ToolOutcome;
use talaria_core::version::Version;
use talaria_testkit::app_server::directive::{expect, expect_answer, on, reply as answer, send};
use talaria_testkit::app_server::{AppServer, THREAD, TURN, complete_turn, start_turn};
use talaria_testkit::{Codex, build_dir};

use crate::faults::accept_turn;
use crate::stage::{Scripted, begin, begin_with, both_versions};

both_versions!(
    every_request_and_notification_that_we_send_is_what_this_codex_reads,
    the_requests_that_we_read_are_what_this_codex_writes,
    every_answer_that_we_give_is_what_this_codex_reads,
    our_own_id_and_context_are_fields_where_we_send_them,
    the_policy_that_only_older_versions_know_is_refused_by_newer_ones,
    a_mistake_is_seen_by_these_tests,
    what_a_migration_asks_is_what_this_codex_reads,
);

/// The schema files of one Codex.
pub(crate) struct Schema {
    _folder: tempfile::TempDir,
    out: PathBuf,
}

impl Schema {
    pub(crate) fn generate(codex: &Codex) -> Self {
        let folder = tempfile::tempdir_in(build_dir::homes()).unwrap();
        let (home, out) = (folder.path().join("home"), folder.path().join("out"));
        fs::create_dir(&home).unwrap();
        let mut program = Program::new(&codex.native);
        program.args(["app-server", "generate-json-schema", "--experimental", "--out"]).arg(&out);
        let output = program.env("CODEX_HOME", &home).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { _folder: folder, out }
    }

    pub(crate) fn file(&self, name: &str) -> Value {
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

pub(crate) fn with_definitions(schema: &Value, root: &Value) -> Value {
    let mut whole = schema.clone();
    if let Some(definitions) = root.get("definitions") {
        whole["definitions"] = definitions.clone();
    }
    whole
}

/// Returns the problems of a message: schema violations, and unknown names.
pub(crate) fn problems(schema: &Value, message: &Value) -> Vec<String> {
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

/// Resolves references and alternatives to plain schemas; of alternatives, those that the value matches.
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

/// A start in which everything is asked for that can be asked of this version.
fn full_start(version: &Version) -> ThreadStart {
    let text = |text: &str| Some(text.to_owned());
    let tool = DynamicTool {
        kind: version.types_tools().then_some(DynamicToolKind::Function),
        name: "look".to_owned(),
        description: "Looks.".to_owned(),
        input_schema: json!({ "type": "object", "properties": {} }),
    };
    let mut start = ThreadStart {
        cwd: "/w".to_owned(),
        model: text("gpt-5.5"),
        model_provider: text("mock"),
        sandbox: Some(Sandbox::WorkspaceWrite),
        approval_policy: Some(ApprovalPolicy::OnRequest),
        approvals_reviewer: Some(ApprovalsReviewer::User),
        base_instructions: text("base"),
        developer_instructions: text("developer"),
        config: Map::new(),
        dynamic_tools: vec![tool],
        experimental_raw_events: true,
        hide_home: HideHome::default(),
    };
    start.set_effort("high");
    start
}

/// Sends what no session sends, each in its fullest form.
async fn send_the_rest(host: &Arc<Host>) {
    let version = host.version();
    let thread_id = ThreadId::new(THREAD);
    let start = full_start(version);
    host.call(&start).await.unwrap();
    host.call(&ThreadStart { approvals_reviewer: Some(ApprovalsReviewer::AutoReview), ..start.clone() })
        .await
        .unwrap();
    host.call(&ThreadResume::new(thread_id.clone(), &start)).await.unwrap();
    let mut hidden = HiddenPaths::default();
    hidden.hide("/home/a/.talaria", "key");
    let sandbox = ExpectedSandbox::of(&start, &EffectiveConfig::default(), Trust::Unknown);
    let hiding = HidingStart::new(&start, &sandbox, &hidden).unwrap().sent;
    host.call(&hiding).await.unwrap();
    host.call(&ThreadResume::new(thread_id.clone(), &hiding)).await.unwrap();
    for include_turns in [true, false] {
        host.call(&ThreadRead { thread_id: thread_id.clone(), include_turns }).await.unwrap();
    }
    let items = vec![InjectedMessage::from_user("earlier")];
    host.call(&ThreadInjectItems { thread_id: thread_id.clone(), items }).await.unwrap();
    host.call(&ThreadUnsubscribe { thread_id: thread_id.clone() }).await.unwrap();
    host.call(&ThreadArchive { thread_id: thread_id.clone() }).await.unwrap();
    host.call(&ThreadUnarchive { thread_id: thread_id.clone() }).await.unwrap();
    let api_key = "sk-test".to_owned();
    for start in [LoginStart::ApiKey { api_key }, LoginStart::Chatgpt, LoginStart::ChatgptDeviceCode] {
        host.call(&start).await.unwrap();
    }
    host.call(&LoginCancel { login_id: "l".to_owned() }).await.unwrap();
    host.call(&ThreadLoadedList {}).await.unwrap();
    host.call(&ThreadCompact { thread_id: thread_id.clone() }).await.unwrap();
    for cursor in [None, Some("next".to_owned())] {
        host.call(&ModelList { cursor, include_hidden: true }).await.unwrap();
    }
    host.call(&RateLimitsRead).await.unwrap();
    host.call(&TerminalsClean { thread_id: thread_id.clone() }).await.unwrap();
    let fork = ThreadStart { sandbox: Some(Sandbox::ReadOnly), ..start.clone() };
    host.call(&ThreadFork::new(thread_id.clone(), &fork)).await.unwrap();
    match version.forks_at_turns() {
        true => {
            let turn = Some(TurnId::new(TURN));
            host.call(&ThreadFork::kept(thread_id.clone(), &fork, turn)).await.unwrap();
        }
        false => {
            host.call(&ThreadFork::kept(thread_id.clone(), &fork, None)).await.unwrap();
            let rollback = ThreadRollback { thread_id: thread_id.clone(), num_turns: 2 };
            host.call(&rollback).await.unwrap();
        }
    }
    if version.samples_threads() {
        let (thread, turn) = (thread_id.clone(), TurnId::new(TURN));
        host.sample_thread(&thread, &turn, "what", Duration::from_secs(9)).await.unwrap();
        // One that is not waited for is cancelled.
        let dropped = host.sample_thread(&thread, &turn, "what", Duration::from_secs(9)).now_or_never();
        assert!(dropped.is_none(), "{dropped:?}");
    }
    if version.lists_terminals() {
        let cursor = Some("next".to_owned());
        host.call(&TerminalsList { thread_id: thread_id.clone(), cursor }).await.unwrap();
        let process_id = "7".to_owned();
        host.call(&TerminalsTerminate { thread_id: thread_id.clone(), process_id }).await.unwrap();
    }
    host.account().await.unwrap();
    let sandbox_policy = SandboxPolicy::WorkspaceWrite {
        writable_roots: vec!["/w".to_owned()],
        network_access: false,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    };
    let command = vec!["true".to_owned()];
    host.call(&CommandExec::new(command.clone(), "/w".to_owned(), 1000, sandbox_policy.clone()))
        .await
        .unwrap();
    let policies =
        [sandbox_policy, SandboxPolicy::ReadOnly { network_access: true }, SandboxPolicy::DangerFullAccess];
    host.call(&CommandTerminate { process_id: "command-7".to_owned() }).await.unwrap();
    for (policy, limit) in policies.into_iter().zip([None, Some(Duration::from_secs(1)), None]) {
        let (command, cwd, hide_home) = (command.clone(), "/w".to_owned(), HideHome::Never);
        let line = CommandSpec { command, cwd, policy, hide_home, limit };
        let mut execution = host.execute(line).unwrap();
        assert!(matches!(execution.next().await, CommandEvent::Ended(Ok(0))));
    }
}

/// Makes a host and its sessions send every message to this version; returns the received ones.
async fn everything_that_we_send(version: &str) -> Vec<Value> {
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
        on("command/exec/terminate", [answer(json!({}))]),
        on("thread/read", [answer(json!({ "thread": { "id": THREAD, "status": { "type": "idle" } } }))]),
        on("thread/inject_items", [answer(json!({}))]),
        on("thread/compact/start", [answer(json!({}))]),
        on("model/list", [answer(json!({ "data": [], "nextCursor": null }))]),
        on("account/rateLimits/read", [answer(json!({ "rateLimits": {} }))]),
        on("thread/archive", [answer(json!({}))]),
        on("thread/unarchive", [answer(json!({}))]),
        on("account/login/start", [answer(json!({ "type": "apiKey" }))]),
        on("account/login/cancel", [answer(json!({ "status": "canceled" }))]),
        on("thread/rollback", [answer(json!({}))]),
        on("thread/sample", [answer(json!({ "responseId": "r", "sourceTurnId": TURN, "text": null }))]),
        on("thread/sample/cancel", [answer(json!({}))]),
        on("thread/backgroundTerminals/terminate", [answer(json!({ "terminated": true }))]),
    ];
    let play = [handlers, start_turn(), first, complete_turn("one"), accept_turn("another")].concat();
    let scripted = Scripted::start(AppServer::ready(play), version).await;
    let host = Arc::clone(&scripted.host);

    let mut session = None;
    for sandbox in [None].into_iter().chain(Sandbox::ALL.map(Some)) {
        for approval_policy in [None].into_iter().chain(ApprovalPolicy::ALL.map(Some)) {
            let start =
                ThreadStart { cwd: "/w".to_owned(), sandbox, approval_policy, ..ThreadStart::default() };
            // One at a time: the scripted server has only one thread.
            drop(session.take());
            let (model, effort) = (Some("another".to_owned()), Some("high".to_owned()));
            let options = Options { model, effort, ..Options::default() };
            session = Some(CodexConversation::start(host.clone(), start, options).await.unwrap());
        }
    }
    send_the_rest(&host).await;

    let image = InputPart::LocalImage { path: "/w/picture.png".to_owned() };
    let input = vec![InputPart::text("look"), image];
    let mut turn = begin_with(session.unwrap(), input, None, Vec::new());
    turn.answer(Decision::Accept, Who::User).await;
    // The refusal of the unknown request is sent before it is shown, so the server is ready for the next
    // message.
    turn.until(|event| matches!(event, Event::Unknown { .. }).then_some(())).await;
    turn.command(Command::Say {
        input: crate::stage::said("and this"),
        when: When::Now,
        limit: None,
        kept: None,
    })
    .await;
    let ended = turn.end().await;
    let mut turn = begin(ended.session, "once more");
    turn.until(|event| matches!(event, Event::TurnStarted { .. }).then_some(())).await;
    turn.command(Command::Interrupt { by: Who::User }).await;
    turn.end().await;
    let received = scripted.program.received();
    scripted.close().await;
    received
}

async fn every_request_and_notification_that_we_send_is_what_this_codex_reads(codex: Codex) {
    let schema = Schema::generate(&codex);
    let (mut seen, mut answers) = (BTreeSet::new(), 0);
    for message in everything_that_we_send(codex.version).await {
        let method = message["method"].as_str();
        let shape = match (method, message.get("id")) {
            (Some(method), Some(_)) => schema.request(method),
            (Some(_), None) => schema.file("ClientNotification"),
            (None, _) if message.get("error").is_some() => schema.file("JSONRPCError"),
            (None, _) => schema.file("JSONRPCResponse"),
        };
        // Only older versions have it; another test covers that.
        let is_old = message["params"]["approvalPolicy"] == "on-failure" && codex.version != "0.130.0";
        let found = problems(&shape, &message);
        assert_eq!(found.is_empty(), !is_old, "{} {message}: {found:#?}", codex.version);
        match method {
            Some(method) => drop(seen.insert(method.to_owned())),
            None => answers += 1,
        }
    }
    // Talaria calls these only where the version has them.
    let newer =
        [TerminalsList::METHOD, TerminalsTerminate::METHOD, ThreadSample::METHOD, ThreadSampleCancel::METHOD];
    let older = [ThreadRollback::METHOD];
    let newer = if codex.version == "0.130.0" { &older[..] } else { &newer };
    let wanted = METHODS.iter().chain(newer).copied().chain(["initialized"]).map(str::to_owned).collect();
    assert_eq!(seen, wanted, "every method was sent, and none that is not in the list");
    assert_eq!(answers, 2);
}

async fn what_a_migration_asks_is_what_this_codex_reads(codex: Codex) {
    fn asked<C: Call>(schema: &Schema, call: &C) -> Vec<String> {
        problems(&schema.request(C::METHOD), &json!({ "id": 1, "method": C::METHOD, "params": call }))
    }
    let schema = Schema::generate(&codex);
    assert_eq!(asked(&schema, &UserConfigRead { include_layers: false }), [""; 0]);
    assert_eq!(asked(&schema, &PluginList {}), [""; 0]);
}

/// A request as the real Codex writes it, with the name that its schema files begin with.
struct Sample {
    name: String,
    /// The version that writes it so, if not both do.
    only: Option<String>,
    schema: &'static str,
    params: Value,
    request: ServerRequest,
}

fn samples() -> Vec<Sample> {
    let schemas = [
        ("item/commandExecution/requestApproval", "CommandExecutionRequestApproval"),
        ("item/fileChange/requestApproval", "FileChangeRequestApproval"),
        ("item/permissions/requestApproval", "PermissionsRequestApproval"),
        ("item/tool/requestUserInput", "ToolRequestUserInput"),
        ("mcpServer/elicitation/request", "McpServerElicitationRequest"),
        ("item/tool/call", "DynamicToolCall"),
        ("account/chatgptAuthTokens/refresh", "ChatgptAuthTokensRefresh"),
        ("attestation/generate", "AttestationGenerate"),
        ("currentTime/read", "CurrentTimeRead"),
    ];
    let methods: Vec<&str> = schemas.iter().map(|(method, _)| *method).collect();
    assert_eq!(methods, ServerRequest::METHODS, "every request is known here");
    let sample = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["id"] = json!(0);
        let Decoded::Known(Frame::Request { request, .. }) = decode_text(&line.to_string()) else {
            panic!("{line}")
        };
        let text = |key: &str| line[key].as_str().map(str::to_owned);
        let (_, schema) = schemas.iter().find(|(method, _)| *method == request.method()).unwrap();
        let (name, only, params) = (text("name").unwrap(), text("only"), line["params"].clone());
        Sample { name, only, schema, params, request }
    };
    let samples: Vec<Sample> = REQUESTS.lines().map(sample).collect();
    for method in methods {
        assert!(samples.iter().any(|sample| sample.request.method() == method), "{method} has a sample");
    }
    samples
}

/// The requests of which the core's tests show every answer.
const REQUESTS: &str = include_str!("../../../talaria-codex-proto/src/wire/reply/requests.jsonl");

/// Everything that may go with a yes to this question.
fn contents(ask: &Ask) -> Vec<Content> {
    match ask {
        Ask::Permissions { .. } => [Grant::All, Grant::Network, Grant::Files].map(Content::Grant).to_vec(),
        Ask::Input { questions, .. } => {
            let first = |question: &Question| question.options.first().map(|option| option.label.clone());
            let answer = |question: &Question| {
                let text = first(question).unwrap_or("free text".to_owned());
                (question.id.clone(), vec![question.given(text)])
            };
            vec![Content::Answers(questions.iter().map(answer).collect())]
        }
        Ask::Elicitation { wish: Wish::Form(form), .. } => {
            let typed = |field: &Field| match field.kind {
                FieldKind::Text { .. } => "Ada",
                _ => "1",
            };
            let fill = |field: &Field| Some((field.name.clone(), field.read(typed(field)).unwrap()?));
            vec![Content::Form(form.fields.iter().filter_map(fill).collect())]
        }
        _ => vec![Content::Nothing],
    }
}

async fn the_requests_that_we_read_are_what_this_codex_writes(codex: Codex) {
    let schema = Schema::generate(&codex);
    for sample in samples().into_iter().filter(|sample| sample.is_in(&codex)) {
        let shape = schema.file(&format!("{}Params", sample.schema));
        let found = problems(&shape, &sample.params);
        assert!(found.is_empty(), "{} {}: {found:#?}", codex.version, sample.name);
    }
}

impl Sample {
    fn is_in(&self, codex: &Codex) -> bool {
        self.only.as_deref().is_none_or(|version| version == codex.version)
    }
}

async fn every_answer_that_we_give_is_what_this_codex_reads(codex: Codex) {
    let schema = Schema::generate(&codex);
    let decisions = [
        Decision::Accept,
        Decision::AcceptForSession,
        Decision::AcceptAlways,
        Decision::Decline,
        Decision::Cancel,
    ];
    let mut checked = 0;
    for sample in samples().into_iter().filter(|sample| sample.is_in(&codex)) {
        let Sample { name, request, .. } = &sample;
        let shape = schema.file(&format!("{}Response", sample.schema));
        let ask = project::ask(request, None);
        for (decision, content) in decisions
            .iter()
            .flat_map(|decision| contents(&ask).into_iter().map(move |content| (*decision, content)))
        {
            let given = Answer { decision, reason: None, content };
            if ask.check(&given).is_err() {
                assert!(decision.is_yes(), "{name}: a no always fits");
                continue;
            }
            // Requests for programs are answered by them, and those for the host are refused.
            let Some(answer) = reply::answer(request, &given) else {
                assert!(!ask.is_answerable(), "{name}: {decision}");
                continue;
            };
            let found = problems(&shape, &answer);
            assert!(found.is_empty(), "{} {name} {decision:?}: {found:#?}", codex.version);
            checked += 1;
        }
        assert_eq!(reply::answer(request, &Decision::Void.into()), None);
    }
    assert!(checked > 90, "{checked} answers");
    for outcome in [ToolOutcome::failed("no"), ToolOutcome::done("yes")] {
        let result = reply::tool_result(&outcome);
        assert_eq!(problems(&schema.file("DynamicToolCallResponse"), &result), [] as [&str; 0]);
    }
}

async fn our_own_id_and_context_are_fields_where_we_send_them(codex: Codex) {
    let start = TurnStart {
        thread_id: ThreadId::new("t"),
        input: Vec::new(),
        model: None,
        effort: None,
        client_user_message_id: Some("ours".to_owned()),
        additional_context: BTreeMap::new(),
    };
    let schema = Schema::generate(&codex).request("turn/start");
    let problems =
        |start: &TurnStart| problems(&schema, &json!({ "id": 1, "method": "turn/start", "params": start }));
    let version: Version = codex.version.parse().unwrap();
    let found = problems(&start);
    assert_eq!(found.is_empty(), version.echoes_message_ids(), "{found:?}");
    let context = ContextEntry::untrusted("hook", "text".to_owned());
    let start = TurnStart {
        client_user_message_id: None,
        additional_context: BTreeMap::from([("hook", context)]),
        ..start
    };
    let found = problems(&start);
    assert_eq!(found.is_empty(), version.takes_context(), "{found:?}");
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
