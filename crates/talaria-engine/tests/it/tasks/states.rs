//! State of a task: it always agrees with its turns and requests, and a finished task stays finished.

use std::collections::HashMap;

use talaria_core::api::{NewTask, NewTurn, ProblemCode, Say, TaskQuery, TaskStatus, When};
use talaria_core::event::{Event, Stage};
use talaria_core::outcome::Outcome;
use talaria_core::principal::Principal;
use talaria_core::request::Who;
use talaria_scripted::{Gate, Reply};
use talaria_testkit::Codex;

use super::{accept, conversation, eventually, is_turn_start};
use crate::engine::waiting;
use crate::home::Home;
use crate::stage::both_versions;

both_versions!(
    newest:
    a_follow_up_is_a_second_turn_on_the_same_thread,
    a_follow_up_waits_while_a_turn_runs_and_then_runs,
    words_for_a_turn_that_runs_reach_it,
);

async fn a_follow_up_is_a_second_turn_on_the_same_thread(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.play([Reply::say("I will remember the heron."), Reply::say("It was the heron.")]);
    let task = home.start_task(home.task("remember the heron")).await;
    assert_eq!(home.ends(&task).await.status, TaskStatus::Completed);
    let thread = home.detail(&conversation(&task.session)).await.thread;
    let sent = home.send(&task, "which bird was it").await.unwrap();
    assert_eq!((sent.turn, sent.waits), (Some(2), false));
    let ended = home.reaches_turn(&task, 2).await;
    assert_eq!((ended.status, ended.answer.as_deref()), (TaskStatus::Completed, Some("It was the heron.")));
    assert_eq!((home.detail(&conversation(&task.session)).await.thread, ended.turns), (thread, 2));
    let asked = home.model.requests().pop().unwrap();
    assert!(asked.user_texts().contains(&"remember the heron"), "{:?}", asked.user_texts());
    home.close().await;
}

async fn a_follow_up_waits_while_a_turn_runs_and_then_runs(codex: Codex) {
    let (mut home, gate) = (Home::real(&codex).await, Gate::new());
    home.open().await;
    home.model.play([Reply::new().text("one ").gate(&gate), Reply::say("two")]);
    let task = home.start_task(home.task("first")).await;
    gate.reached().await;
    // The model may be asked before the engine has read that the turn began.
    home.reaches(&task, TaskStatus::Working).await;
    let sent = home.send(&task, "second").await.unwrap();
    assert_eq!((sent.turn, sent.waits), (None, true));
    assert_eq!(home.status_of(&task).await, TaskStatus::Working, "the first still runs");
    gate.open();
    let ended = home.reaches_turn(&task, 2).await;
    assert_eq!((ended.status, ended.answer.as_deref()), (TaskStatus::Completed, Some("two")));
    home.close().await;
}

async fn words_for_a_turn_that_runs_reach_it(codex: Codex) {
    let (mut home, gate) = (Home::real(&codex).await, Gate::new());
    home.open().await;
    home.model.play([Reply::new().text("one ").gate(&gate), Reply::say("blue it is")]);
    let task = home.start_task(home.task("choose a colour")).await;
    gate.reached().await;
    let say = Say { text: "make it blue".to_owned(), images: Vec::new(), when: When::Now };
    assert!(home.engine().say(&task.id, say).await.unwrap().to_running_turn);
    home.news(&task).await.is(|event| matches!(event, Event::Steered { .. })).await;
    gate.open();
    let ended = home.ends(&task).await;
    assert_eq!((ended.status, ended.turns), (TaskStatus::Completed, 1));
    assert!(home.model.requests().last().unwrap().user_texts().contains(&"make it blue"));
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follow_up_that_waits_keeps_its_deadline_and_a_task_its_codex_home() {
    let (mut home, gate) = (Home::real(&Codex::v0_166()).await, Gate::new());
    home.open().await;
    home.model.play([Reply::new().text("one ").gate(&gate), Reply::say("two"), Reply::say("three")]);
    let task = home.start_task(home.task("first")).await;
    gate.reached().await;
    let limited = NewTurn { limit_ms: Some(60_000), ..home.turn("second") };
    let id = task.id.clone();
    home.on(|engine| async move { engine.send(&id, limited).await }).await.unwrap();
    let kept = home.store().await.turn(&task.session, 2).await.unwrap().unwrap();
    assert_eq!(kept.limit_ms, Some(60_000));
    gate.open();
    home.reaches_turn(&task, 2).await;
    // A client with another CODEX_HOME does not move the conversation there.
    let mut elsewhere = home.turn("third");
    elsewhere.caller.codex_home = Some("/nowhere".to_owned());
    let id = task.id.clone();
    home.on(|engine| async move { engine.send(&id, elsewhere).await }).await.unwrap();
    let row = home.store().await.session(&task.session).await.unwrap().unwrap();
    assert!(!row.settings.unwrap().contains("/nowhere"));
    assert_eq!(home.reaches_turn(&task, 3).await.answer.as_deref(), Some("three"));
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_a_task_cancels_it() {
    let (mut home, _) = Home::scripted(waiting()).await;
    home.open().await;
    let task = home.start_task(home.task("go")).await;
    home.news(&task).await.is(is_turn_start).await;
    home.cancel(&task).await.unwrap();
    let ended = home.ends(&task).await;
    assert_eq!(ended.status, TaskStatus::Cancelled);
    assert_eq!(ended.outcome.unwrap().outcome, Outcome::Interrupted { by: Who::User });
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_stops_its_task_cancels_it() {
    let (mut home, _) = Home::scripted(waiting()).await;
    home.open().await;
    let mut new = home.task("go");
    new.started_in = Some(new.cwd.clone());
    let model = home.as_model("zed");
    let task = home.on(|_| async move { model.start_task(new).await }).await.unwrap();
    home.news(&task).await.is(is_turn_start).await;
    // Whatever it says of itself.
    let interrupt = talaria_core::api::Interrupt { by: Who::User };
    home.as_model("zed").interrupt(&task.id, interrupt).await.unwrap();
    let ended = home.ends(&task).await;
    assert_eq!((ended.status, ended.owner), (TaskStatus::Cancelled, Principal::model("zed")));
    assert_eq!(ended.outcome.unwrap().outcome, Outcome::Interrupted { by: Who::Model });
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_runs_when_the_engine_is_stopped_is_cancelled() {
    let (mut home, _) = Home::scripted(waiting()).await;
    home.open().await;
    let task = home.start_task(home.task("go")).await;
    home.news(&task).await.is(is_turn_start).await;
    home.stop(false).await;
    home.open().await;
    assert_eq!(home.status_of(&task).await, TaskStatus::Cancelled);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_time_is_up_has_failed_and_says_why() {
    let (mut home, _) = Home::scripted(waiting()).await;
    home.open().await;
    let (listener, turn) = (home.listener(), NewTurn { limit_ms: Some(1000), ..home.turn("go") });
    let notify = vec![listener.target.clone()];
    let task = home.start_task(NewTask { turn, notify, ..home.task("go") }).await;
    let ended = home.ends(&task).await;
    assert_eq!(ended.status, TaskStatus::Failed);
    let report = ended.outcome.unwrap();
    assert_eq!(report.outcome, Outcome::Interrupted { by: Who::Deadline });
    let told = &listener.hears(1).await[0];
    assert_eq!((&told["status"], &told["error"]), (&"failed".into(), &"its time was up".into()));
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_stays_over_and_says_what_to_do_next() {
    let mut home = Home::standing_in().await;
    home.open().await;
    let task = home.start_task(home.task("go")).await;
    let ended = home.ends(&task).await;
    assert_eq!((ended.status, ended.answer.as_deref()), (TaskStatus::Completed, Some("done: go")));
    let refused = home.cancel(&task).await.unwrap_err();
    let words = Say { text: "more".to_owned(), images: Vec::new(), when: When::Now };
    let steered = home.engine().say(&task.id, words).await.unwrap_err();
    for problem in [refused, steered] {
        assert_eq!(problem.code, ProblemCode::Conflict, "{problem:?}");
        let hint = problem.hint.unwrap();
        assert!(hint.contains(&format!("talaria task send {}", task.id)), "{hint}");
    }
    let still = home.show(&task).await;
    assert_eq!((still.status, still.completed_at), (TaskStatus::Completed, ended.completed_at));
    home.close().await;
}

/// Polls many tasks while they run: list and detail agree, and no finished task continues by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_status_never_disagrees_with_what_was_written_down() {
    let mut home = Home::standing_in().await;
    home.max_tasks = 2;
    home.open().await;
    let mut tasks = Vec::new();
    let store = home.store().await;
    let mut ended: HashMap<String, TaskStatus> = HashMap::new();
    let mut seen: HashMap<String, TaskStatus> = HashMap::new();
    while ended.len() < 12 {
        let number = tasks.len();
        if number < 12 {
            let prompt = if number % 3 == 0 { format!("ask-{number}") } else { format!("go {number}") };
            tasks.push(home.start_task(home.task(&prompt)).await);
        }
        for task in &tasks {
            let before = home.show(task).await;
            let lines = home.engine().tasks(TaskQuery { limit: 100, ..TaskQuery::default() }).await.unwrap();
            let turn = store.last_turns(&task.session, None, 1).await.unwrap().pop().unwrap();
            let after = home.show(task).await;
            if before.status != after.status || before.requests.len() != after.requests.len() {
                continue;
            }
            let line = lines.iter().find(|line| line.id == task.id).unwrap();
            assert_eq!(line.status, after.status, "the list says what the page says");
            assert_eq!(after.status.is_terminal(), turn.stage == Stage::Settled, "{:?}", after.status);
            assert_eq!(after.status.is_terminal(), after.completed_at.is_some());
            assert_eq!(after.status.is_waiting(), !after.requests.is_empty());
            assert_eq!(after.status == TaskStatus::Queued, after.ahead.is_some());
            seen.insert(format!("{:?}", after.status), after.status);
            if let Some(was) = ended.get(&task.id) {
                assert_eq!(*was, after.status, "what is over stays over");
            } else if after.status.is_terminal() {
                ended.insert(task.id.clone(), after.status);
            }
            for open in after.requests {
                // The second caller gets an error.
                let answer = super::yes();
                let _ = home.engine().answer(open.id.as_str(), answer).await;
            }
        }
    }
    assert!(ended.values().all(|status| *status == TaskStatus::Completed), "{ended:?}");
    assert!(seen.len() > 1, "{seen:?}");
    store.close().await;
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follow_up_after_a_restart_stands_behind_those_that_wait() {
    let mut home = Home::standing_in().await;
    home.open().await;
    let task = home.start_task(home.task("ask-one")).await;
    let ticket = home.news(&task).await.request().await;
    assert!(home.send(&task, "two").await.unwrap().waits);
    home.crash().await;
    home.open().await;
    // The turn is resumed concurrently.
    let three = eventually("it waits", async || home.send(&task, "three").await.ok()).await;
    assert!(three.waits);
    accept(home.engine(), &ticket).await;
    let ended = home.reaches_turn(&task, 3).await;
    assert_eq!((ended.status, ended.answer.as_deref()), (TaskStatus::Completed, Some("done: three")));
    let prompts = home.detail(&conversation(&task.session)).await.turns.into_iter().map(|turn| turn.prompt);
    assert_eq!(prompts.collect::<Vec<_>>(), ["ask-one", "two", "three"]);
    home.close().await;
}
