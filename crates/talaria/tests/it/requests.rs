//! A request is answered from another terminal, once, and the second answer is refused.

use serde_json::json;
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::scene::{Scene, both_versions};

both_versions!(
    newest:
    a_request_that_waits_is_answered_from_elsewhere,
    a_question_at_a_terminal_goes_away_when_somebody_else_answers,
    an_open_request_survives_its_engine_and_is_answered_after,
);

/// A turn without a sandbox in which commands are asked about.
const ASKING: [&str; 6] = ["exec", "--sandbox", "danger-full-access", "--approval", "untrusted", "do it"];

/// The id of the one request that is open.
async fn open_request(scene: &Scene) -> String {
    let status = scene.wait_status(|status| status["requests"].as_array().unwrap().len() == 1).await;
    status["requests"][0]["id"].as_str().unwrap().to_owned()
}

fn ask(scene: &Scene) {
    scene.model.push(Reply::new().command("echo made > note"));
    scene.model.push(Reply::say("Done."));
}

async fn a_request_that_waits_is_answered_from_elsewhere(codex: Codex) {
    let scene = Scene::real(&codex).await;
    ask(&scene);
    let mut running = scene.start(&[&ASKING[..], &["--approve", "wait"]].concat());
    let id = open_request(&scene).await;
    running.wait_for_account(&format!("talaria requests answer {id}")).await;
    let listed = scene.run(&["requests", "list", "--json"]).await.exits(0);
    let request = &listed.json()[0];
    assert_eq!((&request["id"], &request["kind"]), (&json!(id), &json!("command")));
    assert!(request["summary"].as_str().unwrap().contains("echo made"), "{request}");
    assert!(!scene.work().join("note").exists());
    let shown = scene.run(&["requests", "show", &id[id.len() - 4..]]).await.exits(0);
    shown.prints(&["The model asks to run a command", "echo made > note", &id, ": open"]);
    let answered = scene.run(&["requests", "answer", &id[..8], "accept", "--json"]).await.exits(0);
    assert_eq!(answered.json()[0], json!({ "id": id, "decision": "accept" }));
    running.end().await.exits(0).prints(&["Done."]).complains(&["accepted by you"]);
    assert!(scene.work().join("note").exists());
    let late = scene.run(&["requests", "answer", &id, "decline"]).await.exits(1);
    late.complains(&["error: the answer was not accepted", "cause: "]);
    let over = scene.run(&["requests", "show", &id]).await.exits(0);
    over.prints(&[&id, ": accepted by you "]);
    let unknown = scene.run(&["requests", "show", "req-000000000000"]).await.exits(2);
    let unknown = unknown.complains(&["error: cannot show this request", "there is no request"]);
    assert!(!unknown.stderr.contains("answer was not accepted"), "{unknown}");
    scene.close().await;
}

async fn a_question_at_a_terminal_goes_away_when_somebody_else_answers(codex: Codex) {
    let scene = Scene::real(&codex).await;
    ask(&scene);
    let mut terminal = scene.terminal(&ASKING);
    terminal.wait_for("stop the turn: ").await;
    let id = open_request(&scene).await;
    scene.run(&["requests", "answer", &id, "decline", "--reason", "not here"]).await.exits(0);
    terminal.wait_for("it was answered elsewhere").await;
    terminal.wait_for("Done.").await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.transcript());
    assert!(!scene.work().join("note").exists());
    scene.close().await;
}

async fn an_open_request_survives_its_engine_and_is_answered_after(codex: Codex) {
    let scene = Scene::real(&codex).await;
    ask(&scene);
    let running = scene.start(&[&ASKING[..], &["--approve", "wait"]].concat());
    let id = open_request(&scene).await;
    scene.run(&["stop", "--keep-turns"]).await.exits(0).prints(&["1 turn continues without it"]);
    scene.run(&["requests", "answer", &id, "accept"]).await.exits(0);
    running.end().await.exits(0).prints(&["Done."]);
    assert!(scene.work().join("note").exists());
    scene.close().await;
}
