//! Tasks continue by themselves: in a sandbox, asking before they do anything.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;
use talaria_scripted::{Gate, Reply};
use talaria_testkit::{Codex, eventually};

use crate::scene::{Scene, both_versions};

both_versions!(
    a_task_is_steered_stopped_and_goes_on_on_the_same_thread;
    newest:
    a_task_runs_by_itself_and_waits_for_an_answer,
    a_further_turn_waits_for_the_one_that_runs,
    a_working_task_shows_the_command_that_runs_and_what_is_queued,
    a_waiting_command_prints_the_answer_and_names_what_needs_a_person,
    the_end_of_a_task_is_an_exit_code,
);

/// Starts a task and returns its id.
pub(crate) async fn start(scene: &Scene, options: &[&str]) -> String {
    let started = scene.run(&[&["task", "start", "--json"], options].concat()).await.exits(0);
    let task = started.json().remove(0);
    for field in ["id", "session", "status"] {
        assert!(task[field].is_string(), "{field}: {task}");
    }
    task["id"].as_str().unwrap().to_owned()
}

/// What `task show --json` says.
pub(crate) async fn shown(scene: &Scene, id: &str) -> Value {
    scene.run(&["task", "show", id, "--json"]).await.exits(0).json().remove(0)
}

/// Waits until nothing runs.
pub(crate) async fn rest(scene: &Scene) {
    scene.wait_status(|status| status["turns"].as_array().unwrap().is_empty()).await;
}

/// Waits for a question and returns its id.
async fn asked(scene: &Scene) -> String {
    let status = scene.wait_status(|status| status["requests"].as_array().unwrap().len() == 1).await;
    status["requests"][0]["id"].as_str().unwrap().to_owned()
}

/// The stored author of an answer.
async fn answered_by(scene: &Scene, request: &str) -> Option<String> {
    let file = scene.home().join("talaria.db");
    let mut conn = SqliteConnectOptions::new().filename(file).read_only(true).connect().await.unwrap();
    let query = sqlx::query_scalar("select answered_by from request where id = $1").bind(request.to_owned());
    query.fetch_one(&mut conn).await.unwrap()
}

async fn a_task_runs_by_itself_and_waits_for_an_answer(codex: Codex) {
    let mut scene = Scene::real(&codex).await;
    scene.set("USER", "ada");
    scene.model.push(Reply::new().command("touch forbidden"));
    scene.model.push(Reply::say("Then \u{1b}[2Jnot."));
    let id = start(&scene, &["touch it"]).await;
    assert!(id.starts_with("codex-") && id.len() == 18, "{id}");
    let request = asked(&scene).await;
    let status = scene.status().await;
    assert_eq!((&status["requests"][0]["task"], &status["turns"][0]["task"]), (&json!(id), &json!(id)));
    let task = shown(&scene, &id).await;
    assert_eq!((&task["status"], &task["owner"]), (&"waiting_for_approval".into(), &"person:ada".into()));
    assert_eq!(task["requests"][0]["id"], json!(request));
    scene.run(&["task", "list", "--active"]).await.exits(0).prints(&[&id, "waiting for your approval"]);
    let page = scene.run(&["task", "show", &id[..9]]).await.exits(0);
    page.prints(&[&id, "waiting for your approval", &format!("talaria requests answer {request} accept")]);
    scene.run(&["requests", "list"]).await.exits(0).prints(&[&request, &id, "touch forbidden"]);

    scene.run(&["requests", "answer", &request, "decline"]).await.exits(0);
    rest(&scene).await;
    let by = answered_by(&scene, &request).await.unwrap();
    assert!(by.contains("person:ada") && by.contains("process "), "{by}");
    let task = shown(&scene, &id).await;
    assert_eq!((&task["status"], &task["answer"]), (&"completed".into(), &"Then \u{1b}[2Jnot.".into()));
    let page = scene.run(&["task", "show", &id]).await.exits(0);
    let page = page.prints(&["completed", "Then ␛[2Jnot.", &format!("talaria task send {id}")]);
    assert!(!page.stdout.contains('\u{1b}'), "{page}");
    scene.run(&["task", "list", "--active"]).await.exits(0).prints(&["no tasks running"]);
    let watched = scene.run(&["task", "watch", &id]).await.exits(0);
    assert_eq!(watched.stdout, "Then \u{1b}[2Jnot.\n", "a pipe gets the answer alone: {watched}");
    watched.complains(&["has ended", "completed"]);
    assert!(!scene.work().join("forbidden").exists());
    scene.close().await;
}

async fn a_task_is_steered_stopped_and_goes_on_on_the_same_thread(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().text("The sky ").gate(&gate).text("is blue."));
    scene.model.push(Reply::new().text("The sea ").stall());
    let id = start(&scene, &["tell me of the sky"]).await;
    gate.reached().await;
    let mut watching = scene.start(&["task", "watch", &id, "--json"]);
    watching.wait_for("\"turn_started\"").await;
    let steered = scene.run(&["task", "steer", &id, "no, of the sea"]).await.exits(0);
    steered.prints(&["sent to the running turn; not read yet"]);
    watching.wait_for("\"steered\"").await;
    gate.open();
    watching.wait_for("The sea").await;
    assert_eq!(scene.model.requests().last().unwrap().prompt(), "no, of the sea");

    scene.run(&["task", "send", &id, "and of the shore"]).await.exits(0);
    let stopped = scene.run(&["task", "cancel", &id]).await.exits(0);
    assert_eq!(stopped.stdout, format!("{id} was stopped\nnot sent: and of the shore\n"));
    let outcome = watching.end().await.exits(4).json().pop().unwrap();
    assert_eq!((&outcome["outcome"], &outcome["by"]), (&"interrupted".into(), &"user".into()));
    assert_eq!(shown(&scene, &id).await["status"], "cancelled");
    let late = scene.run(&["task", "steer", &id, "and the land"]).await.exits(1);
    late.complains(&[
        "error: cannot steer this task",
        "cause: it has ended: cancelled",
        &format!("hint: `talaria task send {id} PROMPT` starts another turn"),
    ]);
    let late = scene.run(&["task", "interrupt", &id]).await.exits(1);
    late.complains(&["error: cannot stop this task", "cancelled", "talaria task list --active"]);

    scene.model.push(Reply::say("It is green."));
    let sent =
        scene.run_with_input(&["task", "send", &id[..10], "--wait", "-"], b"and the land?").await.exits(0);
    assert_eq!(sent.stdout, "It is green.\n", "{sent}");
    let told = scene.model.requests().pop().unwrap();
    assert!(told.user_texts().contains(&"tell me of the sky"), "{told:?}");
    let task = shown(&scene, &id).await;
    assert_eq!((&task["status"], &task["turns"]), (&"completed".into(), &2.into()));
    scene.close().await;
}

async fn a_working_task_shows_the_command_that_runs_and_what_is_queued(codex: Codex) {
    let mut scene = Scene::real(&codex).await;
    scene.set("USER", "ada");
    let waits = "until [ -e go-on ]; do sleep 0.05; done";
    scene.model.push(Reply::new().command(waits));
    for answer in ["First.", "Second."] {
        scene.model.push(Reply::say(answer));
    }
    let id = start(&scene, &["one"]).await;
    let request = asked(&scene).await;
    assert_eq!(
        shown(&scene, &id).await["running"],
        json!([]),
        "a command that waits for a person does not run"
    );
    scene.run(&["requests", "answer", &request, "accept"]).await.exits(0);
    scene.run(&["task", "send", &id, "then the second"]).await.exits(0);
    let is_running = |task: &Value| task["running"].to_string().contains("go-on");
    eventually("the command runs", async || is_running(&shown(&scene, &id).await).then_some(())).await;
    let page = scene.run(&["task", "show", &id]).await.exits(0);
    page.prints(&[
        "status   working",
        "owner    person:ada\n",
        "turns    1, and 1 queued",
        "Running now:\n",
        waits,
        "Queued for the next turns:\n  then the second\n",
    ]);
    std::fs::write(scene.work().join("go-on"), "").unwrap();
    rest(&scene).await;
    let task = shown(&scene, &id).await;
    assert_eq!((&task["running"], &task["queued"]), (&json!([]), &json!([])));
    scene.close().await;
}

async fn a_further_turn_waits_for_the_one_that_runs(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().gate(&gate).text("First."));
    scene.model.push(Reply::say("Second."));
    scene.model.push(Reply::say("Third."));
    let id = start(&scene, &["one"]).await;
    gate.reached().await;
    let sent = scene.run(&["task", "send", &id, "--json", "two"]).await.exits(0).json().remove(0);
    assert_eq!((&sent["id"], &sent["waits"]), (&json!(id), &true.into()));
    let waiting = scene.start(&["task", "send", &id, "--wait", "three"]);
    let written = async { while shown(&scene, &id).await["turns"] != 3 {} };
    tokio::time::timeout(Duration::from_secs(60), written).await.unwrap();
    assert_eq!(shown(&scene, &id).await["status"], "working");
    gate.open();
    let ended = waiting.end().await.exits(0);
    assert_eq!(ended.stdout, "Third.\n", "the answer to what was asked, and no other: {ended}");
    ended.complains(&["it is queued until the running turn has ended"]);
    let prompts: Vec<String> =
        scene.model.requests().iter().map(|request| request.prompt().to_owned()).collect();
    assert_eq!(prompts, ["one", "two", "three"]);
    scene.close().await;
}

async fn a_waiting_command_prints_the_answer_and_names_what_needs_a_person(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().command("echo made > note"));
    scene.model.push(Reply::say("Done."));
    let waiting = scene.start(&["task", "start", "--sandbox", "workspace-write", "--wait", "make a note"]);
    let request = asked(&scene).await;
    scene.run(&["requests", "answer", &request, "accept"]).await.exits(0);
    let ended = waiting.end().await.exits(0);
    assert_eq!(ended.stdout, "Done.\n", "{ended}");
    let how = format!("talaria requests answer {request} accept");
    assert_eq!(ended.stderr.matches(&how).count(), 1, "{ended}");
    ended.complains(&["started codex-", "talaria task watch codex-", "Ctrl-C leaves it running"]);
    assert!(scene.work().join("note").exists());
    scene.close().await;
}

async fn the_end_of_a_task_is_an_exit_code(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::status(400).body(json!({ "error": { "message": "no such thing" } })));
    let failed = scene.run(&["task", "start", "--wait", "--json", "go"]).await.exits(1);
    let lines = failed.json();
    assert_eq!(lines[1]["status"], "failed", "{failed}");
    let id = lines[0]["id"].as_str().unwrap();
    let watched = scene.run(&["task", "watch", id]).await.exits(1);
    assert_eq!(watched.stdout, "", "{watched}");
    watched.complains(&["failed"]);

    scene.model.push(Reply::new().stall());
    let late = scene.run(&["task", "start", "--wait", "--deadline", "1s", "go"]).await.exits(5);
    late.complains(&["timed out", "--deadline"]);
    scene.close().await;
}
