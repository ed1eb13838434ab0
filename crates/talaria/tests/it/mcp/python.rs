//! The official Python SDK (PyPI `mcp`) as client, in both eras of the protocol.

use std::process::Stdio;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use talaria_scripted::{Gate, Reply};
use talaria_testkit::{Codex, mcp_clients};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::scene::{Scene, both_versions};

both_versions!(
    newest:
    a_task_waits_for_the_person_and_not_for_the_model,
    a_model_that_may_answer_answers,
    a_task_is_steered_and_stopped_by_its_model,
);

/// The SDK, which asks one thing at a time.
pub(super) struct Sdk {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Sdk {
    pub(super) fn start(scene: &Scene, mode: &str, name: &str) -> Self {
        Self::with(scene, mode, name, &["mcp"])
    }

    fn with(scene: &Scene, mode: &str, name: &str, arguments: &[&str]) -> Self {
        let talaria = scene.command(arguments);
        let mut command = Command::new(mcp_clients::python());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/client.py");
        command.arg(script).args([mode, name]).arg(talaria.as_std().get_program());
        command.args(arguments).current_dir(scene.work()).kill_on_drop(true);
        for (name, value) in talaria.as_std().get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output).lines() }
    }

    async fn send(&mut self, request: Value) {
        self.input.write_all(format!("{request}\n").as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let Some(line) = self.output.next_line().await.unwrap() else { panic!("the client ended") };
        serde_json::from_str(&line).unwrap()
    }

    pub(super) async fn ask(&mut self, request: Value) -> Value {
        self.send(request).await;
        self.receive().await
    }

    /// Calls the tool; returns what it says, which is the same as text and as data.
    async fn call(&mut self, arguments: Value) -> Value {
        self.send(json!({ "do": "call", "arguments": arguments })).await;
        self.called().await.0
    }

    /// The tool's result, and the progress before it.
    async fn called(&mut self) -> (Value, Vec<(f64, String)>) {
        let result = self.receive().await;
        let said = &result["structuredContent"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
        assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), said);
        assert_eq!(result["isError"] == true, said["success"] == false, "{result}");
        (said.clone(), serde_json::from_value(result["progress"].clone()).unwrap())
    }

    pub(super) async fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().await.unwrap().success());
    }
}

#[track_caller]
fn task(said: &Value) -> &Value {
    assert_eq!(said["success"], true, "{said}");
    &said["task"]
}

#[track_caller]
fn refused<'a>(said: &'a Value, code: &str) -> &'a str {
    assert_eq!((&said["success"], &said["code"]), (&false.into(), &code.into()), "{said}");
    assert!(!said["error"].as_str().unwrap().is_empty());
    said["hint"].as_str().unwrap_or_default()
}

async fn a_task_waits_for_the_person_and_not_for_the_model(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().command("touch allowed"));
    scene.model.push(Reply::say("It is \u{1b}[2Jtouched."));
    let mut sdk = Sdk::start(&scene, "auto", "Claude Code");
    let greeting = sdk.ask(json!({ "do": "greet" })).await;
    assert_eq!(
        (&greeting["version"], &greeting["server"]["name"]),
        (&"2026-07-28".into(), &"talaria".into())
    );
    let tools = sdk.ask(json!({ "do": "tools" })).await;
    let tool = |tool: &Value| (tool["name"].clone(), tool["annotations"]["readOnlyHint"].clone());
    let listed: Vec<_> = tools["tools"].as_array().unwrap().iter().map(tool).collect();
    let expected = [
        ("codex_bridge", Value::Null),
        ("talaria_recall", true.into()),
        ("talaria_memory", false.into()),
        ("talaria_skill", false.into()),
        ("talaria_web", true.into()),
        ("talaria_delegate", false.into()),
    ];
    assert_eq!(listed, expected.map(|(name, hint)| (Value::from(name), hint)));

    let target = super::teller(&scene);
    let start = json!({
        "action": "Start ", "prompt": "touch it", "sandbox": "workspace-write", "notify_target": target
    });
    let said = sdk.call(start).await;
    assert_eq!(said["protocol"]["mailbox"], false);
    let id = task(&said)["task_id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("codex-") && id.len() == 18, "{id}");
    let said = sdk.call(json!({ "action": "wait", "task_id": id, "timeout_seconds": 60 })).await;
    assert_eq!(task(&said)["status"], "waiting_for_approval");
    assert_eq!(task(&said)["active_connection"], true);
    let request = task(&said)["pending_requests"][0].clone();
    let name = request["request_id"].as_str().unwrap();
    assert_eq!((&request["kind"], &request["for"]), (&"command".into(), &"the person".into()));
    assert!(request["details"]["command"].as_str().unwrap().contains("touch allowed"), "{request}");
    let answer = format!("talaria requests answer {name} accept");
    assert!(request["how"].as_str().unwrap().contains(&answer), "{request}");
    assert!(said["message"].as_str().unwrap().contains("ask the person"), "{said}");

    // The model cannot answer for the person, in no shape, and says nothing to Codex by trying.
    for id_field in ["request_id", "instruction"] {
        let said = sdk.call(json!({ "action": "respond", id_field: name, "decision": "accept" })).await;
        assert!(refused(&said, "forbidden").contains(&answer), "{said}");
    }
    let said = sdk.call(json!({ "action": "status", "task_id": id })).await;
    assert_eq!(task(&said)["status"], "waiting_for_approval");
    assert!(!scene.work().join("allowed").exists());

    // For another caller none of it exists.
    let mut other = Sdk::start(&scene, "legacy", "somebody else");
    assert_eq!(other.ask(json!({ "do": "greet" })).await["version"], "2025-11-25");
    assert_eq!(other.call(json!({ "action": "list" })).await["count"], 0);
    for action in ["status", "result", "wait", "events", "interrupt"] {
        refused(&other.call(json!({ "action": action, "task_id": id })).await, "unknown");
    }
    refused(&other.call(json!({ "action": "steer", "task_id": id, "instruction": "x" })).await, "unknown");
    refused(&other.call(json!({ "action": "respond", "request_id": name })).await, "unknown");
    assert_eq!(other.ask(json!({ "do": "resources" })).await["resources"], json!([]));
    let uri = format!("talaria://tasks/{id}/transcript");
    assert!(other.ask(json!({ "do": "read", "uri": uri })).await["error"].is_string());
    other.end().await;
    // Under the same name it does, for any client.
    let mut same = Sdk::with(&scene, "legacy", "somebody else", &["mcp", "--as", "Claude-Code"]);
    assert_eq!(same.call(json!({ "action": "list" })).await["tasks"][0]["task_id"], json!(id));
    same.end().await;

    // A model that knows of the request waits for the person, not in a circle.
    sdk.send(
        json!({ "do": "call", "arguments": { "action": "wait", "task_id": id, "timeout_seconds": 90 } }),
    )
    .await;
    super::kill_engine(&scene).await;
    scene.run(&["requests", "answer", name, "accept"]).await.exits(0);
    let (said, progress) = sdk.called().await;
    assert_eq!(task(&said)["status"], "completed");
    assert_eq!(task(&said)["answer"], "It is ␛[2Jtouched.");
    super::is_told_once(&super::told(&scene, &id).await, "It is \u{1b}[2Jtouched.");
    assert_eq!(task(&said)["pending_requests"], json!([]));
    assert!(scene.work().join("allowed").exists());
    assert!(progress.windows(2).all(|pair| pair[0].0 < pair[1].0), "{progress:?}");
    let told: Vec<&str> = progress.iter().map(|(_, told)| told.as_str()).collect();
    assert!(told.iter().any(|told| told.contains("accepted by you")), "{told:?}");
    assert!(told.contains(&"completed"), "{told:?}");

    let said = sdk.call(json!({ "action": "result", "task_id": id })).await;
    assert_eq!(task(&said)["answer"], "It is ␛[2Jtouched.");
    let said = sdk.call(json!({ "action": "events", "task_id": id, "limit": 1000 })).await;
    let kinds: Vec<&str> =
        said["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"request_opened") && kinds.ends_with(&["outcome"]), "{kinds:?}");
    assert!(!kinds.iter().any(|kind| kind.ends_with("_delta")), "{kinds:?}");
    assert_eq!(said.get("next_after"), None);
    let first = sdk.call(json!({ "action": "events", "task_id": id, "limit": 1 })).await;
    let after = first["next_after"].as_i64().unwrap();
    let rest = sdk.call(json!({ "action": "events", "task_id": id, "after": after, "limit": 1000 })).await;
    assert_eq!(rest["events"].as_array().unwrap().len() + 1, kinds.len());

    let listed = sdk.ask(json!({ "do": "resources" })).await;
    assert_eq!(listed["resources"][0]["uri"], json!(uri));
    let read = sdk.ask(json!({ "do": "read", "uri": uri })).await;
    let text = read["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("touch it") && text.contains("It is ␛[2Jtouched."), "{text}");
    assert_eq!(sdk.ask(json!({ "do": "templates" })).await["resourceTemplates"].as_array().unwrap().len(), 1);

    // A finished task is not steered or stopped; it continues with a follow-up.
    let said = sdk.call(json!({ "action": "steer", "task_id": id, "instruction": "faster" })).await;
    assert!(refused(&said, "conflict").contains("send"), "{said}");
    refused(&sdk.call(json!({ "action": "cancel", "task_id": id })).await, "conflict");
    refused(&sdk.call(json!({ "action": "respond", "request_id": name })).await, "forbidden");
    scene.model.push(Reply::say("Again."));
    let said = sdk.call(json!({ "action": "send", "task_id": id, "prompt": "once more" })).await;
    assert_eq!(said["success"], true, "{said}");
    let said = sdk.call(json!({ "action": "wait", "task_id": id, "timeout_seconds": 60 })).await;
    assert_eq!((&task(&said)["status"], &task(&said)["answer"]), (&"completed".into(), &"Again.".into()));
    assert_eq!(task(&said)["turns"], 2);
    sdk.end().await;
    scene.close().await;
}

async fn a_model_that_may_answer_answers(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let config = std::fs::read_to_string(scene.home().join("config.toml")).unwrap();
    scene.configure(&format!("{config}\n[bridge.callers.trusted]\nanswers = [\"command\"]\n"));
    scene.model.push(Reply::new().command("touch allowed"));
    scene.model.push(Reply::say("Done."));
    let mut sdk = Sdk::start(&scene, "auto", "trusted");
    let said = sdk.call(json!({ "action": "start", "prompt": "x", "sandbox": "workspace-write" })).await;
    let id = task(&said)["task_id"].clone();
    let said = sdk.call(json!({ "action": "wait", "task_id": id, "timeout_seconds": 60 })).await;
    let request = task(&said)["pending_requests"][0]["request_id"].clone();
    // A wrong shape is not an answer.
    let wrong = json!({ "action": "respond", "request_id": request, "answers": { "q": ["x"] } });
    refused(&sdk.call(wrong).await, "bad_request");
    let foreign = json!({ "action": "respond", "request_id": request, "task_id": "codex-000000000000" });
    refused(&sdk.call(foreign).await, "unknown");
    let right = json!({ "action": "respond", "request_id": request, "task_id": id, "decision": "accept" });
    assert_eq!(sdk.call(right.clone()).await["success"], true);
    let said = sdk.call(json!({ "action": "wait", "task_id": id, "timeout_seconds": 60 })).await;
    assert_eq!((&task(&said)["status"], &task(&said)["answer"]), (&"completed".into(), &"Done.".into()));
    refused(&sdk.call(right).await, "conflict");
    sdk.end().await;
    scene.close().await;
}

async fn a_task_is_steered_and_stopped_by_its_model(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let (gate, steered) = (Gate::new(), Gate::new());
    scene.model.push(Reply::new().text("thinking ").gate(&gate));
    // Codex may ask the model again with the words that were said in between, before it is stopped.
    scene.model.push(Reply::new().text("shorter ").gate(&steered));
    let mut sdk = Sdk::start(&scene, "legacy", "m");
    let said = sdk.call(json!({ "action": "start", "prompt": "x", "limit": 5 })).await;
    assert_eq!(said["ignored"], json!(["limit"]));
    let id = task(&said)["task_id"].clone();
    gate.reached().await;
    // The time is over, and that is no error.
    let said = sdk.call(json!({ "action": "wait", "task_id": id, "timeout_seconds": 0 })).await;
    assert_eq!(task(&said)["status"], "working");
    assert!(said["message"].as_str().unwrap().contains("has not ended yet"), "{said}");
    // A client that gives up does not affect the task, and the next call works.
    let wait = json!({ "action": "wait", "task_id": id, "timeout_seconds": 3600 });
    let given_up = sdk.ask(json!({ "do": "call", "arguments": wait, "give_up_after": 0.5 })).await;
    assert_eq!(given_up["timed_out"], true);
    let said = sdk.call(json!({ "action": "status", "task_id": id })).await;
    assert_eq!(task(&said)["status"], "working");
    let said = sdk.call(json!({ "action": "steer", "task_id": id, "instruction": "shorter" })).await;
    assert_eq!(said["success"], true, "{said}");
    let said = sdk.call(json!({ "action": "cancel", "task_id": id })).await;
    assert_eq!(task(&said)["status"], "cancelled", "{said}");
    gate.open();
    steered.open();
    sdk.end().await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_model_may_not_ask_for_is_refused_with_the_reason() {
    let scene = Scene::real(&Codex::v0_166()).await;
    let mut sdk = Sdk::start(&scene, "auto", "m");
    let start = |more: Value| {
        let mut call = json!({ "action": "start", "prompt": "x" });
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call
    };
    for (more, code) in [
        (json!({ "cwd": "/" }), "forbidden"),
        (json!({ "cwd": scene.home() }), "forbidden"),
        (json!({ "cwd": ".." }), "bad_request"),
        (json!({ "cwd": "nowhere" }), "bad_request"),
        (json!({ "codex_home": scene.user_home() }), "forbidden"),
        (json!({ "notify_target": "command:touch /tmp/x" }), "forbidden"),
        (json!({ "sandbox": "danger-full-access" }), "bad_request"),
        (json!({ "approval_policy": "never" }), "bad_request"),
        (json!({ "worktree": true }), "bad_request"),
        (json!({ "network": true }), "bad_request"),
        (json!({ "prompt": "x".repeat(1024 * 1024 + 1) }), "bad_request"),
        (json!({ "prompt": " " }), "bad_request"),
    ] {
        let said = sdk.call(start(more.clone())).await;
        refused(&said, code);
        assert!(said["error"].as_str().unwrap().len() < 400, "{more}: {said}");
    }
    assert_eq!(sdk.call(json!({ "action": "list", "limit": 1000 })).await["count"], 0, "nothing was started");
    assert_eq!(scene.model.requests().len(), 0);
    let said = sdk.call(json!({ "action": "notify_completed", "dry_run": true })).await;
    assert_eq!((&said["success"], &said["count"], &said["dry_run"]), (&true.into(), &0.into(), &true.into()));
    // More than the sandbox of its directory is a question for the person, and nothing runs before the answer.
    let said = sdk.call(start(json!({ "sandbox": "workspace-write", "writable_roots": ["/var"] }))).await;
    assert_eq!((&said["success"], &said["task"]["status"]), (&true.into(), &"waiting_for_approval".into()));
    let status = scene.wait_status(|status| !status["requests"].as_array().unwrap().is_empty()).await;
    let request = status["requests"][0]["id"].as_str().unwrap();
    scene.run(&["requests", "answer", request, "decline"]).await.exits(0);
    let task = said["task"]["hermes_task_id"].as_str().unwrap();
    let ended = sdk.call(json!({ "action": "wait", "task_id": task, "timeout_seconds": 60 })).await;
    assert_eq!(ended["task"]["status"], "failed", "{ended}");
    assert_eq!(scene.model.requests().len(), 0);
    let unknown = sdk.ask(json!({ "do": "call", "tool": "other", "arguments": {} })).await;
    assert!(unknown["error"].as_str().unwrap().contains("tools/list names them"), "{unknown}");
    sdk.end().await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_more_power_survives_a_killed_engine_and_its_answer_starts_the_task_once() {
    let scene = Scene::real(&Codex::v0_166()).await;
    scene.model.push(Reply::say("Done."));
    let mut sdk = Sdk::start(&scene, "auto", "m");
    let start = json!({ "action": "start", "prompt": "x", "sandbox": "workspace-write", "network": true });
    let said = sdk.call(start).await;
    assert_eq!(said["task"]["status"], "waiting_for_approval", "{said}");
    let task = said["task"]["hermes_task_id"].as_str().unwrap();
    let open = |status: &Value| status["requests"][0]["id"].as_str().map(str::to_owned);
    let request = open(&scene.wait_status(|status| open(status).is_some()).await).unwrap();

    kill_process(scene.engine_pid().await.unwrap(), Signal::KILL).unwrap();
    scene.run(&["requests", "show", &request]).await.exits(0).prints(&["network"]);
    let status = scene.wait_status(|status| open(status).is_some()).await;
    assert_eq!(open(&status).as_ref(), Some(&request), "the same question");
    assert_eq!(scene.model.requests().len(), 0, "nothing ran before the answer");
    scene.run(&["requests", "answer", &request, "accept"]).await.exits(0);
    let ended = sdk.call(json!({ "action": "wait", "task_id": task, "timeout_seconds": 60 })).await;
    assert_eq!(ended["task"]["status"], "completed", "{ended}");
    assert_eq!(scene.model.requests().len(), 1);
    scene.run(&["audit"]).await.exits(0).prints(&["widen_task"]);
    sdk.end().await;
    scene.close().await;
}
