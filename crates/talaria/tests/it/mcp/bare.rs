//! Robustness against any peer: garbage is answered, the end is immediate, and the engine may stop and start.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::json;
use talaria_scripted::{Gate, ModelUsage, Reply};
use talaria_testkit::Codex;

use super::wire::Wire;
use crate::scene::Scene;

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_no_message_is_answered_with_an_error() {
    let scene = Scene::empty().await;
    let mut wire = Wire::silent(&scene);
    let huge =
        [b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"".as_slice(), &vec![b'x'; 17 << 20], b"\"}\n"].concat();
    let cases: [(&[u8], i64); 6] = [
        (b"hello\n", -32700),
        (b"\xff\xfe\x00\x1b[2J\n", -32700),
        (b"{\"jsonrpc\": \"2.0\", \n", -32700),
        (b"[1, 2]\n", -32600),
        (b"42\n", -32600),
        (&huge, -32600),
    ];
    for round in ["before the greeting", "after it"] {
        for (bytes, code) in &cases {
            wire.write(b"\n\r\n  \n").await;
            wire.write(bytes).await;
            let answer = wire.read().await;
            assert_eq!(
                (&answer["error"]["code"], &answer["id"]),
                (&json!(code), &json!(null)),
                "{round}: {answer}"
            );
        }
        if round == "before the greeting" {
            wire.greet().await;
        }
    }
    let answer = wire.ask("no/such/method", json!({})).await;
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    for params in [json!({ "name": 5 }), json!([]), json!({ "name": "codex_bridge", "arguments": "x" })] {
        let answer = wire.ask("tools/call", params).await;
        assert!(answer["error"].is_object(), "{answer}");
    }
    assert_eq!(wire.call(json!({ "action": "list" })).await["success"], true);
    // Half a message, and the end.
    wire.write(b"{\"jsonrpc\"").await;
    wire.close_input();
    wire.ends_well().await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_also_when_nobody_reads_what_it_says() {
    let scene = Scene::empty().await;
    for end in [None, Some(Signal::TERM)] {
        let mut wire = Wire::greeted(&scene).await;
        // Far more than fits into the pipe.
        for _ in 0..5000 {
            wire.request("resources/templates/list", json!({})).await;
        }
        wire.wait_held_up().await;
        wire.end(end);
        // A write that is stuck is waited for a little.
        wire.ends_well_within(Duration::from_secs(10)).await;
    }
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_at_once_also_while_somebody_waits_and_the_task_goes_on() {
    let scene = Scene::real(&Codex::v0_166()).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().gate(&gate).text("At last."));
    let mut wire = Wire::greeted(&scene).await;
    let said = wire.call(json!({ "action": "start", "prompt": "x" })).await;
    let id = said["task"]["task_id"].as_str().unwrap().to_owned();
    gate.reached().await;
    for end in [None, Some(Signal::TERM), Some(Signal::INT), Some(Signal::HUP)] {
        let wait = json!({ "action": "wait", "task_id": id, "timeout_seconds": 3600 });
        let params = json!({ "name": "codex_bridge", "arguments": wait, "_meta": { "progressToken": "p" } });
        wire.request("tools/call", params).await;
        // It is running when it answers a later message.
        assert_eq!(wire.ask("ping", json!({})).await["result"], json!({}));
        wire.end(end);
        wire.ends_well().await;
        wire = Wire::greeted(&scene).await;
    }
    gate.open();
    let said = wire.call(json!({ "action": "wait", "task_id": id, "timeout_seconds": 60 })).await;
    assert_eq!((&said["task"]["status"], &said["task"]["answer"]), (&"completed".into(), &"At last.".into()));
    wire.close_input();
    wire.ends_well().await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_wait_is_not_answered_and_hurts_nothing() {
    let scene = Scene::real(&Codex::v0_166()).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().gate(&gate).text("At last."));
    let mut wire = Wire::greeted(&scene).await;
    let said = wire.call(json!({ "action": "start", "prompt": "x" })).await;
    let id = said["task"]["task_id"].clone();
    gate.reached().await;
    let wait = json!({ "action": "wait", "task_id": id, "timeout_seconds": 3600 });
    let call = wire.request("tools/call", json!({ "name": "codex_bridge", "arguments": wait })).await;
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": call } });
    wire.write(format!("{cancel}\n").as_bytes()).await;
    // The answers to what follows come, and nothing else does.
    assert_eq!(wire.call(json!({ "action": "status", "task_id": id })).await["task"]["status"], "working");
    gate.open();
    let said = wire.call(json!({ "action": "wait", "task_id": id, "timeout_seconds": 60 })).await;
    assert_eq!(said["task"]["status"], "completed");
    wire.close_input();
    wire.ends_well().await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_may_die_and_be_stopped_between_two_calls() {
    let scene = Scene::real(&Codex::v0_166()).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().gate(&gate).text("At last."));
    let mut wire = Wire::greeted(&scene).await;
    let said = wire.call(json!({ "action": "start", "prompt": "x" })).await;
    let id = said["task"]["task_id"].clone();
    gate.reached().await;
    kill_process(scene.engine_pid().await.unwrap(), Signal::KILL).unwrap();
    let said = wire.call(json!({ "action": "status", "task_id": id })).await;
    assert_eq!((&said["success"], &said["task"]["status"]), (&true.into(), &"working".into()), "{said}");
    // Also in the middle of a wait.
    let wait = json!({ "action": "wait", "task_id": id, "timeout_seconds": 120 });
    let call = wire.request("tools/call", json!({ "name": "codex_bridge", "arguments": wait })).await;
    assert_eq!(wire.ask("ping", json!({})).await["result"], json!({}));
    kill_process(scene.engine_pid().await.unwrap(), Signal::KILL).unwrap();
    gate.open();
    let answer = wire.read().await;
    let said = &answer["result"]["structuredContent"];
    assert_eq!((&answer["id"], &said["task"]["status"]), (&json!(call), &"completed".into()), "{answer}");
    scene.run(&["stop"]).await.exits(0);
    assert_eq!(wire.call(json!({ "action": "result", "task_id": id })).await["task"]["answer"], "At last.");
    wire.close_input();
    wire.ends_well().await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_codex_there_is_no_tool_and_the_reason_is_told() {
    let mut scene = Scene::empty().await;
    scene.only_programs(&[]);
    let mut wire = Wire::greeted(&scene).await;
    let tools = wire.ask("tools/list", json!({})).await;
    let names: Vec<&serde_json::Value> =
        tools["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(
        names,
        ["talaria_recall", "talaria_memory", "talaria_skill", "talaria_web", "talaria_delegate"],
        "no task can be started"
    );
    let said = wire.call(json!({ "action": "start", "prompt": "x" })).await;
    assert_eq!((&said["success"], &said["code"]), (&false.into(), &"codex".into()), "{said}");
    assert!(said["hint"].as_str().unwrap().contains("talaria setup"), "{said}");
    assert_eq!(wire.call(json!({ "action": "list" })).await["count"], 0);
    // It is searched again each time.
    scene.use_codex(&Codex::v0_166().native);
    let tools = wire.ask("tools/list", json!({})).await;
    assert_eq!(tools["result"]["tools"][0]["name"], "codex_bridge", "{tools}");
    wire.close_input();
    wire.ends_well().await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_codex_tasks_run_on_the_built_in_loop_where_a_provider_is_configured() {
    let mut scene = crate::own_loop::scene().await;
    scene.only_programs(&[]);
    let mut wire = Wire::greeted(&scene).await;
    let tools = wire.ask("tools/list", json!({})).await;
    assert_eq!(tools["result"]["tools"][0]["name"], "codex_bridge", "{tools}");
    scene.model.push(Reply::say("The loop answers."));
    let start = json!({ "action": "start", "prompt": "Go.", "provider": "own-chat", "model": "tiny",
        "cwd": scene.work() });
    let started = wire.call(start).await;
    assert_eq!(started["success"], true, "{started}");
    let task = started["task"]["task_id"].clone();
    let ended = wire.call(json!({ "action": "wait", "task_id": task, "timeout_seconds": 60 })).await;
    assert!(ended.to_string().contains("The loop answers."), "{ended}");
    let listed = scene.run(&["sessions", "list", "--json"]).await.exits(0).json();
    assert_eq!(listed[0]["runtime"], "own_loop");
    wire.close_input();
    wire.ends_well().await;
    scene.close().await;
}

/// Every file below a directory that has `secret` in it: the database, the log of the engine, what hosts leave.
fn files_with(folder: &Path, secret: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, secret));
        } else if std::fs::read(&path).is_ok_and(|bytes| memmem(&bytes, secret)) {
            found.push(path);
        }
    }
    found
}

fn memmem(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_has_no_secret_in_it() {
    let scene = Scene::real(&Codex::v0_166()).await;
    let (secret, gate) = ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", Gate::new());
    std::fs::write(scene.work().join("a.txt"), "hello\n").unwrap();
    // The texts of a step, of an intermediate message, and of a failed call.
    let misfit = format!("*** Begin Patch\n*** Update File: a.txt\n@@\n-token {secret}\n+x\n*** End Patch\n");
    scene.model.push(Reply::new().gate(&gate).text(format!("I try {secret} first.")).patch(misfit));
    scene.model.push(Reply::say(format!("The token is {secret}.")));
    let mut wire = Wire::greeted(&scene).await;
    let said = wire.call(json!({ "action": "start", "prompt": format!("use {secret}") })).await;
    let id = said["task"]["task_id"].as_str().unwrap().to_owned();
    gate.reached().await;
    let wait = json!({ "action": "wait", "task_id": id, "timeout_seconds": 60 });
    let params = json!({ "name": "codex_bridge", "arguments": wait, "_meta": { "progressToken": "p" } });
    let call = wire.request("tools/call", params).await;
    let mut told = String::new();
    loop {
        let message = wire.read().await;
        if message["method"] == "notifications/progress" {
            // The first sign of life, after ten seconds: from now on it follows the task.
            gate.open();
            told += &format!("{}\n", message["params"]["message"]);
        } else if message["id"] == call {
            assert!(!message.to_string().contains(secret), "{message}");
            break;
        }
    }
    for part in ["said: I try ", "apply_patch verification failed", "said: The token is "] {
        assert!(told.contains(part), "{part} is missing: {told}");
    }
    assert!(!told.contains(secret), "{told}");
    wire.close_input();
    wire.ends_well().await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_masked_and_hostile_text_is_harmless() {
    let scene = Scene::real(&Codex::v0_166()).await;
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    // Each of them is in what is said, and none in what is reported.
    let others =
        ["Zk9herons", "T1BFTkFJX0FQSV9LRVk9c2stcHJvai1GYWtlNE1hdGVyaWFsN05vdFJlYWwyRmFrZTRN", "Zk9garza"];
    let [typed, encoded, spanish] = others;
    let more = format!("Run mysql -uroot -p{typed} or decode {encoded}; contraseña: {spanish}");
    scene.model.push(Reply::say(format!("The token is {secret}. {more}")));
    let mut wire = Wire::greeted(&scene).await;
    let said = wire
        .call(json!({ "action": "start", "prompt": format!("use {secret} {more} \u{1b}]0;x\u{7}") }))
        .await;
    let id = said["task"]["task_id"].as_str().unwrap().to_owned();
    let mut told = said.to_string();
    told += &wire.call(json!({ "action": "wait", "task_id": id, "timeout_seconds": 60 })).await.to_string();
    for action in ["status", "result", "events"] {
        told += &wire.call(json!({ "action": action, "task_id": id })).await.to_string();
    }
    told += &wire.call(json!({ "action": "list" })).await.to_string();
    told += &wire.ask("resources/list", json!({})).await.to_string();
    let uri = format!("talaria://tasks/{id}/transcript");
    told += &wire.ask("resources/read", json!({ "uri": uri })).await.to_string();
    assert!(told.contains("The token is"), "{told}");
    for secret in others.into_iter().chain([secret]) {
        assert!(!told.contains(secret), "{secret}: {told}");
        assert_eq!(files_with(&scene.home(), secret.as_bytes()), Vec::<PathBuf>::new(), "{secret}");
    }
    assert!(!told.contains("\\u001b") && !told.contains("\\u0007"), "{told}");
    wire.close_input();
    wire.ends_well().await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tokens_of_a_task_are_those_of_all_its_turns() {
    let scene = Scene::real(&Codex::v0_166()).await;
    let usage = |input, output| ModelUsage { input, cached: 100, output, reasoning: 5 };
    scene.model.push(Reply::say("First.").usage(usage(900, 40)));
    scene.model.push(Reply::say("Second.").usage(usage(1300, 60)));
    let mut wire = Wire::greeted(&scene).await;
    let said = wire.call(json!({ "action": "start", "prompt": "one" })).await;
    let id = said["task"]["task_id"].as_str().unwrap().to_owned();
    let wait = json!({ "action": "wait", "task_id": id, "timeout_seconds": 60 });
    wire.call(wait.clone()).await;
    wire.call(json!({ "action": "send", "task_id": id, "prompt": "two" })).await;
    wire.call(wait).await;
    let said = wire.call(json!({ "action": "result", "task_id": id })).await;
    assert_eq!(said["task"]["answer"], "Second.", "{said}");
    let both = json!({ "input": 2200, "cached": 200, "output": 100, "reasoning": 10, "total": 2300 });
    assert_eq!(said["task"]["usage"], both);
    let shown = scene.run(&["task", "show", &id, "--json"]).await.exits(0).json();
    assert_eq!(shown[0]["usage"], both);
    scene.run(&["task", "show", &id]).await.exits(0).prints(&["2.2k"]);
    wire.close_input();
    wire.ends_well().await;
    scene.close().await;
}
