//! Codex dies before, during and after `turn/start`, or never starts: the task has an outcome and a reason, and is
//! notified.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use talaria_core::api::{NewTask, ProblemCode, TaskInfo, TaskQuery, TaskStatus};
use talaria_scripted::{Gate, Reply};
use talaria_testkit::app_server::directive::{exit, expect, notify, on, reply, send, stderr};
use talaria_testkit::app_server::{THREAD, TURN, agent_delta, start_turn};
use talaria_testkit::{AppServer, Codex};

use super::eventually;
use crate::home::Home;
use crate::stage::both_versions;

both_versions!(
    newest:
    a_codex_that_is_killed_loses_the_turn_and_the_task_goes_on_when_the_person_does,
);

async fn a_codex_that_is_killed_loses_the_turn_and_the_task_goes_on_when_the_person_does(codex: Codex) {
    let (mut home, gate) = (Home::real(&codex).await, Gate::new());
    let listener = home.listener();
    home.open().await;
    home.model.play([Reply::new().text("half ").gate(&gate), Reply::say("whole")]);
    let new = NewTask { notify: vec![listener.target.clone()], ..home.task("remember the heron") };
    let task = home.start_task(new).await;
    gate.reached().await;
    home.reaches(&task, TaskStatus::Working).await;
    home.kill_codex(&home.hosts().await).await;
    let ended = home.ends(&task).await;
    assert_eq!(ended.status, TaskStatus::Lost);
    assert!(why(&ended).contains("Codex"), "{}", why(&ended));
    home.told(&task, "outcome").await;
    assert_eq!(listener.heard()[0]["error"].as_str(), Some(why(&ended)));
    home.send(&task, "go on").await.unwrap();
    let again = home.reaches_turn(&task, 2).await;
    assert_eq!((again.status, again.answer.as_deref()), (TaskStatus::Completed, Some("whole")));
    let asked = home.model.requests().pop().unwrap();
    assert!(asked.user_texts().contains(&"remember the heron"), "it is the same conversation");
    home.close().await;
}

/// Codex's standard error before it dies.
const LAST_WORDS: &str = "thread main panicked at the wall";

/// Runs a task on this Codex to its end; returns its state, after checking the invariants of every end.
async fn end(home: &mut Home) -> TaskInfo {
    let listener = home.listener();
    home.open().await;
    let new = NewTask { notify: vec![listener.target.clone()], ..home.task("go") };
    let task = home.start_task(new).await;
    let ended = home.ends(&task).await;
    assert!(ended.status.is_terminal() && ended.completed_at.is_some(), "{ended:#?}");
    home.told(&task, "outcome").await;
    let heard = listener.heard();
    assert_eq!((&heard[0]["kind"], &heard[0]["status"]), (&"outcome".into(), &ended.status.word().into()));
    let why = ended.outcome.as_ref().and_then(|report| report.message.clone());
    assert_eq!(heard[0]["error"].as_str(), why.as_deref(), "the reason is told");
    // Neither the rest of the engine's life nor the next engine changes anything.
    home.crash().await;
    home.open().await;
    assert_eq!(home.status_of(&task).await, ended.status);
    home.stop(false).await;
    assert_eq!(listener.heard().len(), 1, "told once");
    assert_eq!(home.marker.survivors(), []);
    ended
}

async fn end_on(directives: impl IntoIterator<Item = Value>) -> TaskInfo {
    let (mut home, _) = Home::scripted(AppServer::ready(directives)).await;
    end(&mut home).await
}

fn why(task: &TaskInfo) -> &str {
    task.outcome.as_ref().unwrap().message.as_deref().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_codex_that_cannot_be_run_is_refused_before_the_task_is_written() {
    let (mut home, installed) = Home::scripted(AppServer::ready([])).await;
    home.open().await;
    std::fs::set_permissions(&installed.codex, std::fs::Permissions::from_mode(0o644)).unwrap();
    let problem = home.try_task(home.task("go")).await.unwrap_err();
    assert!(problem.message.ends_with("is not executable"), "{problem:?}");
    std::fs::remove_file(&installed.codex).unwrap();
    let problem = home.try_task(home.task("go")).await.unwrap_err();
    assert!(problem.message.ends_with("does not exist"), "{problem:?}");
    assert_eq!(problem.code, ProblemCode::Codex);
    let tasks = home.on(|engine| async move { engine.tasks(TaskQuery::default()).await }).await.unwrap();
    assert_eq!(tasks.len(), 0, "{tasks:?}");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_codex_that_ends_before_it_says_hello_fails_the_task() {
    let (mut home, _) = Home::scripted(AppServer::script([stderr(LAST_WORDS), exit(3)])).await;
    let ended = end(&mut home).await;
    assert_eq!(ended.status, TaskStatus::Failed);
    assert!(why(&ended).contains("cannot start Codex"), "{}", why(&ended));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_codex_that_ends_instead_of_a_greeting_a_login_or_a_conversation_fails_the_task() {
    for method in ["initialize", "account/read", "thread/start"] {
        let ended = end_on([on(method, [stderr(LAST_WORDS), exit(3)])]).await;
        assert_eq!(ended.status, TaskStatus::Failed, "{method}");
        assert!(!why(&ended).is_empty(), "{method}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_codex_that_ends_when_it_gets_the_input_leaves_no_task_at_work() {
    let ended = end_on([on("turn/start", [stderr(LAST_WORDS), exit(3)])]).await;
    assert!(matches!(ended.status, TaskStatus::Failed | TaskStatus::Lost), "{ended:#?}");
    assert!(!why(&ended).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_codex_that_ends_when_it_has_taken_the_input_leaves_no_task_at_work() {
    let turn = json!({ "turn": { "id": TURN, "items": [], "status": "inProgress", "error": null } });
    let ended = end_on([expect("turn/start"), reply(turn), stderr(LAST_WORDS), exit(3)]).await;
    assert!(matches!(ended.status, TaskStatus::Failed | TaskStatus::Lost), "{ended:#?}");
    assert!(!why(&ended).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_codex_that_ends_in_the_middle_leaves_no_task_at_work() {
    let half = start_turn().into_iter().chain([send(agent_delta("half ")), stderr(LAST_WORDS), exit(3)]);
    let ended = end_on(half).await;
    assert!(matches!(ended.status, TaskStatus::Failed | TaskStatus::Lost), "{ended:#?}");
    assert!(!why(&ended).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_codex_that_ends_while_it_asks_closes_its_question() {
    let params = json!({ "threadId": THREAD, "turnId": TURN, "itemId": "c", "command": "ls", "cwd": "/w" });
    let ask = json!({ "id": 7, "method": "item/commandExecution/requestApproval", "params": params });
    let (mut home, _) =
        Home::scripted(AppServer::ready(start_turn().into_iter().chain([send(ask), exit(3)]))).await;
    home.open().await;
    let task = home.start_task(home.task("go")).await;
    let ended = home.ends(&task).await;
    assert!(matches!(ended.status, TaskStatus::Failed | TaskStatus::Lost), "{ended:#?}");
    assert!(ended.requests.is_empty() && home.engine().requests().await.unwrap().is_empty());
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_codex_that_ends_behind_a_turn_changes_nothing_and_the_next_turn_has_another() {
    let mut home = Home::standing_in().await;
    home.open().await;
    let task = home.start_task(home.task("go")).await;
    let ended = home.ends(&task).await;
    assert_eq!((ended.status, ended.answer.as_deref()), (TaskStatus::Completed, Some("done: go")));
    let pids = home.hosts().await;
    home.kill_codex(&pids).await;
    eventually("its end is noticed", async || home.hosts().await.is_empty().then_some(())).await;
    assert_eq!(home.status_of(&task).await, TaskStatus::Completed);
    let sent = home.send(&task, "and again").await.unwrap();
    assert_eq!((sent.turn, sent.waits), (Some(2), false));
    let again = home.reaches_turn(&task, 2).await;
    assert_eq!((again.status, again.answer.as_deref()), (TaskStatus::Completed, Some("done: and again")));
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_codex_fails_by_itself_fails_the_task_with_its_words() {
    let error =
        json!({ "message": "the model is on holiday", "codexErrorInfo": null, "additionalDetails": null });
    let turn = json!({ "id": TURN, "items": [], "status": "failed", "error": error });
    let failed = notify("turn/completed", json!({ "threadId": THREAD, "turn": turn }));
    let ended = end_on(start_turn().into_iter().chain([failed])).await;
    assert_eq!(ended.status, TaskStatus::Failed);
    assert!(why(&ended).contains("the model is on holiday"), "{}", why(&ended));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_is_gone_when_its_turn_comes_fails_the_task() {
    let mut home = Home::standing_in().await;
    home.open().await;
    let mut new = home.task("go");
    let gone = Path::new(&new.cwd).join("gone");
    gone.to_str().unwrap().clone_into(&mut new.cwd);
    let problem = home.try_task(new).await.unwrap_err();
    assert!(problem.message.contains("gone") && problem.hint.is_some(), "{problem:?}");
    assert!(home.engine().tasks(Default::default()).await.unwrap().is_empty(), "nothing was written down");
    home.close().await;
}
