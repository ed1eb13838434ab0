//! A command of a model that uses Talaria as if it were the person: on the real Codex, in its real sandbox and outside of it.
//! None of it may succeed; what reaches the engine leaves a row in the audit log.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use talaria_scripted::Reply;
use talaria_testkit::{Codex, eventually};
use tokio::process::Command;

use crate::scene::{Scene, both_versions, of_type};

both_versions!(
    a_sandboxed_process_is_refused_everything_whatever_it_claims,
    a_task_with_network_can_neither_answer_nor_start_nor_read,
    an_unsandboxed_command_below_codex_is_not_the_person,
    no_engine_starts_below_codex,
    a_tool_call_cannot_give_a_task_the_network,
);

/// The program, for a shell line inside of Codex: Codex does not pass Talaria's own variables on.
fn talaria(scene: &Scene, arguments: &str) -> String {
    format!("TALARIA_HOME='{}' '{}' {arguments}", scene.home().display(), env!("CARGO_BIN_EXE_talaria"))
}

/// Attempts of a model to act as a person, given an open request.
fn attempts(scene: &Scene, request: &str) -> Vec<String> {
    let socket = scene.home().join("run/engine.sock");
    let raw = format!(
        "python3 -c 'import socket;s=socket.socket(socket.AF_UNIX);s.connect(\"{}\");\
         s.sendall(b\"GET /v1/requests HTTP/1.1\\r\\nhost: x\\r\\ntalaria-principal: person%3Aada\\r\\n\\r\\n\");\
         print(s.recv(65536).decode())'",
        socket.display()
    );
    let mut lines: Vec<String> = [
        "requests list --json".to_owned(),
        format!("requests answer {request} accept"),
        "sessions list --json".to_owned(),
        "sessions search secret".to_owned(),
        "exec --mode unrestricted 'touch by-exec'".to_owned(),
        "task start 'touch by-task'".to_owned(),
        "stop".to_owned(),
        "audit".to_owned(),
        "usage".to_owned(),
        "memory list".to_owned(),
        "memory add 'planted'".to_owned(),
        "skills list".to_owned(),
        "skills accept skp-0".to_owned(),
    ]
    .iter()
    .map(|arguments| talaria(scene, arguments))
    .collect();
    lines.push(raw);
    lines
}

/// Starts a task that waits for an approval, and returns its request.
async fn waiting_request(scene: &Scene) -> String {
    scene.model.route(|request| match request.prompt() {
        "wait" if !request.is_after_tool() => {
            Some(Reply::new().escalated_command("touch approved", "why not"))
        }
        "wait" => Some(Reply::say("the secret word is xyzzy")),
        _ => None,
    });
    let options = ["--sandbox", "workspace-write", "--approval", "on-request"];
    scene.run(&[&["task", "start"], &options[..], &["wait"]].concat()).await.exits(0);
    let status = scene.wait_status(|status| !status["requests"].as_array().unwrap().is_empty()).await;
    status["requests"][0]["id"].as_str().unwrap().to_owned()
}

async fn audit(scene: &Scene) -> Vec<Value> {
    scene.run(&["audit", "--limit", "1000", "--json"]).await.exits(0).json()
}

async fn a_sandboxed_process_is_refused_everything_whatever_it_claims(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let request = waiting_request(&scene).await;
    for line in attempts(&scene, &request) {
        let ended = sandboxed(&scene, &codex, &line).await;
        let printed =
            format!("{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        assert!(printed.contains("sandbox"), "{line}: {printed}");
        assert!(!printed.contains(&request) || line.contains(&request), "{line}: {printed}");
        if !line.starts_with("python3") {
            assert!(!ended.status.success(), "{line}: {printed}");
        }
    }
    let still = scene.status().await;
    assert_eq!(still["requests"][0]["id"], request.as_str(), "nobody answered");
    let rows = audit(&scene).await;
    let refused: Vec<&Value> = rows.iter().filter(|row| row["refused"] == true).collect();
    for action in [
        "requests",
        "sessions",
        "search",
        "start_session",
        "start_task",
        "stop",
        "audit",
        "usage",
        "memory",
        "change_memory",
        "skills",
        "change_skills",
    ] {
        assert!(refused.iter().any(|row| row["action"] == action), "{action}: {refused:?}");
    }
    assert!(refused.iter().all(|row| row["principal"] == "model:sandboxed-command"), "{refused:?}");
    assert!(rows.iter().all(|row| row["action"] != "answer" || row["refused"] == true), "{rows:?}");
    for made in ["by-exec", "by-task", "approved"] {
        assert!(!scene.work().join(made).exists(), "{made}");
    }
    scene.run(&["requests", "answer", &request, "decline"]).await.exits(0);
    let answer =
        audit(&scene).await.into_iter().find(|row| row["action"] == "answer" && row["refused"] == false);
    let answer = answer.unwrap();
    assert_eq!((&answer["decision"], &answer["request"]), (&"decline".into(), &request.as_str().into()));
    assert!(
        answer["peer"]["pid"].is_number() && answer["principal"].as_str().unwrap().starts_with("person:")
    );
    assert!(answer["peer"]["program"].as_str().unwrap().contains("talaria"), "{answer}");
    scene.wait_status(|status| status["turns"].as_array().unwrap().is_empty()).await;
    scene.close().await;
}

/// Runs a shell line in the sandbox of Codex with the network, as a process that Talaria knows nothing of.
async fn sandboxed(scene: &Scene, codex: &Codex, line: &str) -> std::process::Output {
    let mut command = Command::new(&codex.native);
    command.arg("sandbox");
    if codex.version.starts_with("0.130") {
        command.arg("linux");
    }
    command.args([
        "-c",
        "sandbox_mode=\"workspace-write\"",
        "-c",
        "sandbox_workspace_write.network_access=true",
    ]);
    command
        .args(["--", "/bin/sh", "-c", line])
        .current_dir(scene.work())
        .envs(scene.codex_home.environment());
    command.stdin(Stdio::null()).kill_on_drop(true).output().await.unwrap()
}

async fn a_task_with_network_can_neither_answer_nor_start_nor_read(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let request = waiting_request(&scene).await;
    let script = attempts(&scene, &request).join("; ") + "; echo tried > tried";
    scene.model.push(Reply::new().command(script));
    scene.model.push(Reply::say("done"));
    let options = ["--sandbox", "workspace-write", "--approval", "on-request", "--network", "--wait"];
    scene.run(&[&["task", "start"], &options[..], &["attack"]].concat()).await.exits(0);
    assert!(scene.work().join("tried").exists(), "the command ran");
    let still = scene.status().await;
    assert_eq!(still["requests"][0]["id"], request.as_str(), "nobody answered");
    let rows = audit(&scene).await;
    assert!(rows.iter().all(|row| row["action"] != "answer" || row["refused"] == true), "{rows:?}");
    let output = scene.model.requests().last().unwrap().tool_outputs().join("\n");
    assert!(!output.contains("\"kind\":\"command\""), "the request was read: {output}");
    for made in ["by-exec", "by-task", "approved"] {
        assert!(!scene.work().join(made).exists(), "{made}");
    }
    scene.run(&["requests", "answer", &request, "decline"]).await.exits(0);
    scene.wait_status(|status| status["turns"].as_array().unwrap().is_empty()).await;
    scene.close().await;
}

async fn an_unsandboxed_command_below_codex_is_not_the_person(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let request = waiting_request(&scene).await;
    let script = attempts(&scene, &request).join("; ") + "; echo tried > tried";
    scene.model.push(Reply::new().command(script));
    scene.model.push(Reply::say("done"));
    let options = ["--sandbox", "danger-full-access", "--approval", "never"];
    let ended = scene.run(&[&["exec", "--json"], &options[..], &["attack"]].concat()).await.exits(0);
    assert!(scene.work().join("tried").exists(), "the command ran");
    let events = ended.events();
    let warnings = of_type(&events, "warning");
    let told = |text: &str| warnings.iter().any(|event| event["message"].as_str().unwrap().contains(text));
    assert!(told("tried to use Talaria as you") && told(&request), "the person is told: {warnings:?}");
    let rows = audit(&scene).await;
    let refused: Vec<&Value> = rows.iter().filter(|row| row["refused"] == true).collect();
    assert!(refused.len() >= 8, "{refused:?}");
    assert!(refused.iter().all(|row| row["principal"] == "model:command-of-codex"), "{refused:?}");
    assert!(rows.iter().all(|row| row["action"] != "answer" || row["refused"] == true), "{rows:?}");
    assert_eq!(scene.status().await["requests"][0]["id"], request.as_str(), "nobody answered");
    let notes = scene.status().await["notes"].to_string();
    assert!(notes.contains("talaria audit"), "{notes}");
    scene.run(&["requests", "answer", &request, "decline"]).await.exits(0);
    scene.wait_status(|status| status["turns"].as_array().unwrap().is_empty()).await;
    scene.close().await;
}

async fn no_engine_starts_below_codex(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let other = scene.codex_home.root().join("other-home");
    let start = |options: &str| {
        let program = Path::new(env!("CARGO_BIN_EXE_talaria")).display();
        format!("TALARIA_HOME='{}' '{program}' {options} > said 2>&1; echo tried >> tried", other.display())
    };
    scene.model.push(Reply::new().command(start("serve")));
    scene.model.push(Reply::say("done"));
    let options = ["--sandbox", "danger-full-access", "--approval", "never"];
    scene.run(&[&["exec"], &options[..], &["serve"]].concat()).await.exits(0);
    let said = std::fs::read_to_string(scene.work().join("said")).unwrap();
    assert!(said.contains("below a Codex") && said.contains("terminal of your own"), "{said}");
    assert!(!other.join("run").exists(), "nothing was made");
    let sandboxed = sandboxed(&scene, &codex, &start("serve").replace("other-home", "work/home")).await;
    assert!(sandboxed.status.success());
    let said = std::fs::read_to_string(scene.work().join("said")).unwrap();
    assert!(said.contains("sandbox of Codex"), "{said}");
    scene.close().await;
}

async fn a_tool_call_cannot_give_a_task_the_network(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let call = |arguments: Value| {
        let greeting = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "m", "version": "1" } } });
        let ready = serde_json::json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let params = serde_json::json!({ "name": "codex_bridge", "arguments": arguments });
        let call = serde_json::json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
        format!("{greeting}\n{ready}\n{call}\n")
    };
    let wide = serde_json::json!({ "action": "start", "prompt": "x", "sandbox": "workspace-write",
        "approval_policy": "on-request", "network": true });
    let ended = scene.run_with_input(&["mcp"], call(wide).as_bytes()).await;
    assert!(ended.stdout.contains("waits for a person"), "{ended}");
    assert!(scene.model.requests().is_empty(), "nothing has begun");
    let open = scene.status().await["requests"].as_array().unwrap().clone();
    let id = open[0]["id"].as_str().unwrap();
    assert!(ended.stdout.contains(id), "the caller learns which request it is: {ended}");
    let shown = scene.run(&["requests", "show", id]).await.exits(0);
    assert!(shown.stdout.contains("model:m asks for a task with more than its sandbox allows"), "{shown}");
    scene.run(&["requests", "answer", id, "decline"]).await.exits(0);
    let rows = eventually("the refusal is in the log", async || {
        Some(audit(&scene).await).filter(|rows| rows[0]["action"] == "widen_task")
    })
    .await;
    assert_eq!((&rows[0]["refused"], &rows[0]["principal"]), (&true.into(), &"model:m".into()), "{rows:?}");
    assert!(scene.model.requests().is_empty(), "nothing was begun");
    scene.close().await;
}
