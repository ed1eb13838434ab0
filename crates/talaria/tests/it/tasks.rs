//! Tasks go on by themselves: in a sandbox, asking before they do anything.

use serde_json::json;
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::scene::{Scene, both_versions};

both_versions!(a_task_runs_by_itself_and_waits_for_an_answer);

async fn a_task_runs_by_itself_and_waits_for_an_answer(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().command("touch forbidden"));
    scene.model.push(Reply::say("Then not."));
    let started = scene.run(&["task", "start", "--json", "touch it"]).await.exits(0);
    let task = &started.json()[0];
    assert_eq!(task["status"], "starting");
    let id = task["id"].as_str().unwrap();
    assert!(id.starts_with("codex-") && id.len() == 18, "{id}");
    let status = scene.wait_status(|status| status["requests"].as_array().unwrap().len() == 1).await;
    assert_eq!((&status["requests"][0]["task"], &status["turns"][0]["task"]), (&json!(id), &json!(id)));
    let shown = scene.run(&["task", "show", id, "--json"]).await.exits(0).json().remove(0);
    assert_eq!((&shown["status"], &shown["session"]), (&"waiting".into(), &task["session"]));
    scene.run(&["task", "list"]).await.exits(0).prints(&[id, "waiting for you"]);
    let request = status["requests"][0]["id"].as_str().unwrap();
    scene.run(&["requests", "answer", request, "decline"]).await.exits(0);
    scene.wait_status(|status| status["turns"].as_array().unwrap().is_empty()).await;
    let shown = scene.run(&["task", "show", id, "--json"]).await.exits(0).json().remove(0);
    assert_eq!((&shown["status"], &shown["answer"]), (&"completed".into(), &"Then not.".into()));
    let events = scene.run(&["exec", "--attach", id]).await.exits(0);
    events.prints(&["Then not."]).complains(&["nothing runs on"]);
    assert!(!scene.work().join("forbidden").exists());
    scene.close().await;
}
