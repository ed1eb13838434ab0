//! Without a living engine `talaria stop` and `talaria status` are still true: leftovers of the last one are found, listed
//! and ended. And a command whose engine a person stopped does not start another one.

use std::fs;

use serde_json::Value;
use talaria_scripted::{Gate, Reply};
use talaria_testkit::app_server::directive::on;
use talaria_testkit::{AppServer, Codex};

use crate::scene::{Running, Scene, both_versions, names};
use crate::survival::lane::{LOOK, is_alive};

both_versions!(
    stop_without_an_engine_ends_codex_and_the_commands_of_its_turns;
    newest:
    a_command_whose_engine_was_stopped_starts_no_other,
);

/// A turn whose command runs until it is ended, and a word of it that no other process has.
async fn endless(scene: &Scene, word: &str) -> Running {
    scene.model.push(Reply::new().command(format!("touch begun; sleep {word}")));
    let options = ["--sandbox", "danger-full-access", "--approval", "never"];
    let running = scene.start(&[&["exec", "--json"], &options[..], &["work"]].concat());
    while !scene.work().join("begun").exists() {
        tokio::time::sleep(LOOK).await;
    }
    running
}

/// Kills the engine and the command that follows the turn, which would start another engine.
async fn kill(scene: &Scene, running: Running) {
    running.kill().await;
    scene.kill_engine().await;
}

/// Does a command with this word in it run?
fn runs(word: &str) -> bool {
    let lines = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("cmdline"));
    lines.filter_map(|line| fs::read(line).ok()).any(|line| {
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.trim_end() == format!("sleep {word}")
    })
}

async fn stop_without_an_engine_ends_codex_and_the_commands_of_its_turns(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let word = if codex.version == "0.130.0" { "7130.25" } else { "7166.25" };
    let running = endless(&scene, word).await;
    let host = scene.codex_pid().await.as_raw_nonzero().get();
    let session = scene.status().await["turns"][0]["session"].as_str().unwrap().to_owned();
    kill(&scene, running).await;

    let status = scene.status().await;
    for field in ["engine", "hosts", "turns", "background", "requests", "tasks"] {
        assert_eq!(status.get(field), Some(&Value::Null), "{field} is not known without an engine: {status}");
    }
    let left = status["left"].as_array().unwrap();
    let kind = |pid: i32| left.iter().find(|it| it["pid"] == pid).map(|it| it["kind"].clone());
    assert_eq!(kind(host), Some("codex".into()), "{status}");
    assert!(left.iter().any(|it| it["command"] == format!("sleep {word}")), "{status}");
    let page = scene.run(&["status"]).await.exits(0);
    page.prints(&[
        "no engine is running; still running from the last one: 1 Codex process and ",
        &format!("process {host}: "),
        "`talaria stop` ends it",
    ]);
    scene
        .run(&["doctor"])
        .await
        .prints(&["warning  left over     running without an engine: 1 Codex process and "]);
    let kept = scene.run(&["stop", "--keep-turns"]).await.exits(0);
    kept.prints(&["still running from the last one: 1 Codex process and ", "resumes it"]);
    assert!(is_alive(host) && runs(word), "they were only named");

    let ended = scene.run(&["stop"]).await.exits(0);
    ended.prints(&["no engine was running; ended 1 Codex process and ", &format!("process {host}: ")]);
    assert!(!is_alive(host) && !runs(word), "nothing is left when it returns");
    assert_eq!(names(&scene.home().join("hosts")), [""; 0]);
    assert_eq!(scene.status().await["left"], serde_json::json!([]));
    scene.run(&["stop"]).await.exits(0).prints(&["no engine is running\n"]);

    let shown = scene.run(&["sessions", "show", &session, "--json"]).await.exits(0).json().remove(0);
    scene.wait_status(|status| status["turns"].as_array().unwrap().is_empty()).await;
    assert_eq!(shown["turns"].as_array().unwrap().len(), 1);
    let shown = scene.run(&["sessions", "show", &session, "--json"]).await.exits(0).json().remove(0);
    let outcome = &shown["turns"][0]["outcome"];
    assert_eq!(outcome["outcome"], "lost", "{outcome}");
    assert!(outcome["message"].as_str().unwrap().contains("`talaria stop` ended Codex"), "{outcome}");
    scene.close().await;
}

/// No engine can come to take over what is left: without the key or with a damaged database it does not start.
#[tokio::test]
async fn stop_needs_neither_the_database_nor_the_key() {
    for (file, word) in [("talaria.db", "7001.25"), ("key", "7002.25"), ("home.json", "7003.25")] {
        let scene = Scene::real(&Codex::v0_166()).await;
        let running = endless(&scene, word).await;
        let host = scene.codex_pid().await.as_raw_nonzero().get();
        kill(&scene, running).await;
        fs::write(scene.home().join(file), "damaged").unwrap();
        if file != "home.json" {
            scene.run(&["sessions", "list"]).await.exits(1).complains(&["cannot start the engine"]);
        }
        assert!(is_alive(host), "{file}");
        scene.run(&["stop"]).await.exits(0).prints(&["ended 1 Codex process and "]);
        assert!(!is_alive(host) && !runs(word), "{file}");
        scene.close().await;
    }
}

async fn a_command_whose_engine_was_stopped_starts_no_other(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().text("half").gate(&gate).text(" and whole"));
    let running = scene.start(&["exec", "--json", "go"]);
    gate.reached().await;
    scene.run(&["stop", "--keep-turns"]).await.exits(0).prints(&["1 turn continues without it"]);
    let ended = running.end().await.exits(4);
    let events = ended.events();
    assert_eq!(events.last().unwrap()["outcome"], "lost", "nobody interrupted it: {ended}");
    ended.complains(&[
        "the engine was stopped before the turn was seen to end",
        "this command does not start it again",
        "see what happened to the turn: talaria exec --attach ",
    ]);
    assert!(scene.status().await["engine"].is_null(), "nobody asked for another engine");
    scene.run(&["stop"]).await.exits(0).prints(&["ended 1 Codex process"]);
    gate.open();
    scene.close().await;
}

#[tokio::test]
async fn a_command_that_starts_its_turn_does_not_bring_back_an_engine_that_is_stopped() {
    for method in ["initialize", "thread/start"] {
        // It starts and never answers this.
        let (scene, installed) = Scene::scripted(AppServer::ready([on(method, [])])).await;
        let running = scene.start(&["exec", "--json", "talk"]);
        installed.wait_received(method).await;
        scene.run(&["stop"]).await.exits(0).prints(&["has ended\n", "1 turn interrupted"]);
        let ended = running.end().await.exits(4);
        let events = ended.events();
        let last = events.last().unwrap();
        assert!(last["by"] == "stop" || last["outcome"] == "lost", "{ended}");
        assert!(scene.status().await["engine"].is_null(), "{ended}");
        scene.close().await;
    }
}
