//! Scheduling: a limited number runs at once, callers alternate, and the order survives a restart.

use std::time::Duration;

use talaria_core::access::Identity;
use talaria_core::api::{Say, TaskCounts, TaskStarted, TaskStatus, When};
use talaria_core::principal::Principal;
use talaria_scripted::{Gate, Reply};
use talaria_testkit::Codex;

use super::accept;
use crate::home::Home;

/// A home with one slot, and a task in it that works until the gate opens; all others are answered at once.
async fn occupied(gate: &Gate) -> (Home, TaskStarted) {
    let mut home = Home::real(&Codex::v0_166()).await;
    home.max_tasks = 1;
    home.open().await;
    let held = gate.clone();
    home.model.route(move |request| {
        let reply = Reply::new().text("done");
        Some(if request.prompt() == "first" { reply.gate(&held) } else { reply })
    });
    let first = start(&home, "p", "first").await;
    gate.reached().await;
    (home, first)
}

async fn start(home: &Home, owner: &str, prompt: &str) -> TaskStarted {
    let (engine, new) =
        (home.engine().for_caller(Identity::owner(Principal::person(owner))), home.task(prompt));
    home.on(|_| async move { engine.start_task(new).await }).await.unwrap()
}

/// In which order the model was asked.
fn served(home: &Home) -> Vec<String> {
    home.model.requests().iter().map(|request| request.prompt().to_owned()).collect()
}

const WAITING: [(&str, &str); 5] = [("a", "a1"), ("a", "a2"), ("b", "b1"), ("a", "a3"), ("b", "b2")];
const ORDER: [&str; 6] = ["first", "a1", "b1", "a2", "b2", "a3"];

async fn line_up(home: &Home) -> Vec<TaskStarted> {
    let mut tasks = Vec::new();
    for (owner, prompt) in WAITING {
        let task = start(home, owner, prompt).await;
        assert_eq!(task.status, TaskStatus::Queued);
        tasks.push(task);
    }
    tasks
}

async fn ahead(home: &Home, tasks: &[TaskStarted]) -> Vec<Option<usize>> {
    let mut ahead = Vec::new();
    for task in tasks {
        let info = home.show(task).await;
        assert_eq!((info.status, info.completed_at), (TaskStatus::Queued, None));
        ahead.push(info.ahead);
    }
    ahead
}

async fn all_end(home: &Home, tasks: &[TaskStarted]) {
    for task in tasks {
        assert_eq!(home.ends(task).await.status, TaskStatus::Completed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_take_turns_and_each_is_served_in_order() {
    let gate = Gate::new();
    let (home, first) = occupied(&gate).await;
    let tasks = line_up(&home).await;
    assert_eq!(ahead(&home, &tasks).await, [0, 2, 1, 4, 3].map(Some));
    let counts = home.engine().status().await.unwrap().tasks;
    assert_eq!(counts, TaskCounts { working: 1, waiting: 0, queued: 5 });
    gate.open();
    all_end(&home, &[&[first], &tasks[..]].concat()).await;
    assert_eq!(served(&home), ORDER);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_line_outlives_the_engine() {
    let gate = Gate::new();
    let (mut home, first) = occupied(&gate).await;
    let mut tasks = line_up(&home).await;
    for number in 10..30 {
        tasks.push(start(&home, "c", &format!("c{number}")).await);
    }
    let before = ahead(&home, &tasks).await;
    home.crash().await;
    home.open().await;
    home.reaches(&first, TaskStatus::Working).await;
    // From the first moment on, and no other task ran at the same time.
    assert_eq!(ahead(&home, &tasks).await, before);
    let counts = home.engine().status().await.unwrap().tasks;
    assert_eq!(counts, TaskCounts { working: 1, waiting: 0, queued: tasks.len() });
    gate.open();
    all_end(&home, &[&[first], &tasks[..]].concat()).await;
    let served = served(&home);
    assert_eq!(served[..4], ["first", "a1", "b1", "c10"]);
    for caller in ["a", "b", "c"] {
        let own: Vec<_> = served.iter().filter(|prompt| prompt.starts_with(caller)).collect();
        assert!(own.is_sorted(), "{own:?}");
    }
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_cancelled_in_the_line_never_starts() {
    let gate = Gate::new();
    let (home, first) = occupied(&gate).await;
    let (gone, after) = (start(&home, "p", "gone").await, start(&home, "p", "after").await);
    home.cancel(&gone).await.unwrap();
    let ended = home.ends(&gone).await;
    assert_eq!((ended.status, ended.ahead), (TaskStatus::Cancelled, None));
    assert!(ended.completed_at.is_some());
    assert_eq!(home.show(&after).await.ahead, Some(0));
    gate.open();
    all_end(&home, &[first, after]).await;
    assert_eq!(served(&home), ["first", "after"]);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_can_be_stopped_and_spoken_to_as_soon_as_it_is_written_down() {
    let mut home = Home::standing_in().await;
    home.max_tasks = 1;
    home.open().await;
    for number in 0..20 {
        let task = home.start_task(home.task(&format!("ask-{number}"))).await;
        if number % 2 == 0 {
            assert!(home.send(&task, "ask-more").await.unwrap().waits);
            home.cancel(&task).await.unwrap();
            let stopped = home.reaches(&task, TaskStatus::Cancelled).await;
            assert_eq!(stopped.turns, 1, "what waited behind it was taken back");
            assert!(!home.send(&task, "ask-more").await.unwrap().waits);
            home.reaches(&task, TaskStatus::WaitingForApproval).await;
        }
        home.cancel(&task).await.unwrap();
        let ended = home.reaches(&task, TaskStatus::Cancelled).await;
        assert_eq!(ended.turns, 1 + i64::from(number % 2 == 0));
    }
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follow_up_for_a_task_in_the_line_is_kept_at_once() {
    let gate = Gate::new();
    let (mut home, first) = occupied(&gate).await;
    let queued = start(&home, "p", "one").await;
    let sent = tokio::time::timeout(Duration::from_secs(20), home.send(&queued, "two")).await;
    assert!(sent.expect("it is not held up by whoever works").unwrap().waits);
    // Input for the turn itself waits, too: no turn runs that could accept it.
    let more = Say { text: "three".to_owned(), images: Vec::new(), when: When::Now };
    let said = tokio::time::timeout(Duration::from_secs(20), home.engine().say(&queued.id, more)).await;
    assert!(!said.expect("nor is this").unwrap().to_running_turn);
    home.crash().await;
    home.open().await;
    gate.open();
    all_end(&home, &[first]).await;
    assert_eq!(home.reaches_turn(&queued, 3).await.status, TaskStatus::Completed);
    assert_eq!(served(&home), ["first", "one", "two", "three"]);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_waits_for_a_person_makes_room() {
    let mut home = Home::standing_in().await;
    home.max_tasks = 1;
    home.open().await;
    let asking = home.start_task(home.task("ask-one")).await;
    let ticket = home.news(&asking).await.request().await;
    let other = home.start_task(home.task("go")).await;
    assert_eq!(home.ends(&other).await.status, TaskStatus::Completed);
    let status = home.engine().status().await.unwrap();
    assert_eq!((status.tasks.waiting, status.tasks.queued, status.limits.tasks), (1, 0, 1));
    accept(home.engine(), &ticket).await;
    assert_eq!(home.ends(&asking).await.status, TaskStatus::Completed);
    home.close().await;
}
