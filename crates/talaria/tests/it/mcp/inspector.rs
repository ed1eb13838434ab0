//! The MCP inspector (npm `@modelcontextprotocol/inspector`) in its command line mode: one server for each question.

use serde_json::{Value, json};
use talaria_scripted::Reply;
use talaria_testkit::{Codex, mcp_clients};
use tokio::process::Command;

use crate::scene::{Scene, both_versions};

both_versions!(
    newest:
    a_task_is_started_approved_by_the_person_and_read,
);

async fn ask(scene: &Scene, method: &str, options: &[&str]) -> Value {
    let talaria = scene.command(&["mcp"]);
    let mut command = Command::new("node");
    command.arg(mcp_clients::inspector()).args(["--cli", "--method", method]).args(options);
    for (name, value) in talaria.as_std().get_envs() {
        let Some(value) = value else { continue };
        // It hands few variables on by itself.
        command.env(name, value).arg("-e").arg(format!("{}={}", name.display(), value.display()));
    }
    command.arg("--").arg(talaria.as_std().get_program()).arg("mcp").current_dir(scene.work());
    let output = command.kill_on_drop(true).output().await.unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(&said)
        .unwrap_or_else(|error| panic!("{error}: {said:?} {}", String::from_utf8_lossy(&output.stderr)))
}

async fn call(scene: &Scene, arguments: &[&str]) -> Value {
    let mut options = vec!["--tool-name", "codex_bridge"];
    arguments.iter().for_each(|argument| options.extend(["--tool-arg", argument]));
    let result = ask(scene, "tools/call", &options).await;
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))).unwrap()
}

async fn a_task_is_started_approved_by_the_person_and_read(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().command("touch allowed"));
    scene.model.push(Reply::say("It is touched."));
    let tools = ask(&scene, "tools/list", &[]).await;
    assert_eq!(tools["tools"][0]["name"], "codex_bridge");
    let target = format!("notify_target={}", super::teller(&scene));
    let said = call(&scene, &["action=start", "prompt=touch it", "sandbox=workspace-write", &target]).await;
    let id = said["task"]["task_id"].as_str().unwrap_or_else(|| panic!("{said}")).to_owned();
    let named = format!("task_id={id}");
    let said = call(&scene, &["action=wait", &named, "timeout_seconds=50"]).await;
    assert_eq!(said["task"]["status"], "waiting_for_approval");
    let request = said["task"]["pending_requests"][0]["request_id"].as_str().unwrap().to_owned();
    let said = call(&scene, &["action=respond", &format!("request_id={request}"), "decision=accept"]).await;
    assert_eq!((&said["success"], &said["code"]), (&false.into(), &"forbidden".into()));
    super::kill_engine(&scene).await;
    scene.run(&["requests", "answer", &request, "accept"]).await.exits(0);
    let said = call(&scene, &["action=wait", &named, "timeout_seconds=50"]).await;
    assert_eq!(
        (&said["task"]["status"], &said["task"]["answer"]),
        (&"completed".into(), &"It is touched.".into())
    );
    super::is_told_once(&super::told(&scene, &id).await, "It is touched.");
    assert_eq!(call(&scene, &["action=list", "limit=5"]).await["tasks"][0]["task_id"], json!(id));
    let listed = ask(&scene, "resources/list", &[]).await;
    let uri = listed["resources"][0]["uri"].as_str().unwrap();
    let read = ask(&scene, "resources/read", &["--uri", uri]).await;
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("It is touched."), "{read}");
    scene.close().await;
}
