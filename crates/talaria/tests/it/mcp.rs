//! `talaria mcp` as MCP clients use it: the official Python SDK, the MCP inspector, Codex itself, and peers that misbehave.

mod bare;
mod codex;
mod inspector;
mod own_tools;
mod python;
mod wire;

use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::scene::Scene;

/// The program that is notified, by appending to a file; the person lets models name it.
fn teller(scene: &Scene) -> String {
    let target = format!("command:tee -a {}", scene.user_home().join("told.json").display());
    let file = scene.home().join("config.toml");
    let config = std::fs::read_to_string(&file).unwrap_or_default();
    scene.configure(&format!("{config}\n[bridge]\nnotify_targets = [\"{target}\"]\n"));
    target
}

/// Kills the engine, as the kernel does when memory runs out.
async fn kill_engine(scene: &Scene) {
    kill_process(scene.engine_pid().await.unwrap(), Signal::KILL).unwrap();
}

/// Notifications about a task, when none is pending.
async fn told(scene: &Scene, task: &str) -> Vec<Value> {
    loop {
        let shown = scene.run(&["task", "show", task, "--json"]).await.exits(0).json();
        let notices = shown[0]["notices"].as_array().unwrap().clone();
        assert!(notices.iter().all(|notice| notice["repeat"] == false), "{notices:?}");
        if notices.iter().all(|notice| notice["state"] == "sent") {
            break;
        }
    }
    let text = std::fs::read_to_string(scene.user_home().join("told.json")).unwrap();
    serde_json::Deserializer::from_str(&text).into_iter().map(Result::unwrap).collect()
}

/// It was reported once that a task waits for the person, and to be completed once, with its answer.
#[track_caller]
fn is_told_once(told: &[Value], answer: &str) {
    let kinds: Vec<&str> = told.iter().map(|notice| notice["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["request", "outcome"], "{told:?}");
    assert!(told[0]["respond"].as_str().unwrap().starts_with("talaria requests answer req-"));
    assert_eq!((&told[1]["status"], &told[1]["answer"]), (&"completed".into(), &answer.into()));
}
