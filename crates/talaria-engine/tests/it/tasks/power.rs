//! A model that asks for more than the sandbox for its task causes a request of Talaria itself: a person decides, at any
//! time and from any client, also after the engine that asked has ended.

use std::fs;

use talaria_core::api::{
    AnswerRequest, NewTask, Problem, ProblemCode, RequestInfo, RequestState, TaskStarted, TaskStatus,
};
use talaria_core::policy::ApprovalPolicy;
use talaria_core::request::{Answer, Ask, Decision, Who};
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use super::{accept, yes};
use crate::home::Home;
use crate::stage::both_versions;

both_versions!(
    newest:
    a_task_begins_with_what_a_person_granted_after_the_engine_that_asked_was_killed,
);

/// A task of the model `a` that asks for the network and a further directory.
async fn start(home: &Home, prompt: &str) -> TaskStarted {
    try_start(home, wide(home, prompt)).await.unwrap()
}

fn wide(home: &Home, prompt: &str) -> NewTask {
    let beside = home.codex_home.root().join("beside");
    fs::create_dir_all(&beside).unwrap();
    NewTask {
        network: true,
        writable_roots: vec![beside.to_str().unwrap().to_owned()],
        approval: Some(ApprovalPolicy::OnRequest),
        ..home.writing_task(prompt)
    }
}

async fn try_start(home: &Home, mut new: NewTask) -> Result<TaskStarted, Problem> {
    new.started_in = Some(home.codex_home.work().to_str().unwrap().to_owned());
    let model = home.as_model("a");
    home.on(|_| async move { model.start_task(new).await }).await
}

async fn only_request(home: &Home) -> RequestInfo {
    let mut open = home.engine().requests().await.unwrap();
    assert_eq!(open.len(), 1, "{open:?}");
    open.remove(0)
}

fn no() -> AnswerRequest {
    AnswerRequest { answer: Answer::decline_because("not today".to_owned()).revealed(), ..yes() }
}

/// The audit log entries about the request: action, caller, refused.
async fn wishes_in_the_log(home: &Home) -> Vec<(String, bool)> {
    let rows = home.engine().audit(Default::default()).await.unwrap();
    let wishes = rows.into_iter().filter(|row| row.action == "widen_task");
    wishes.map(|row| (row.principal, row.refused)).collect()
}

async fn a_task_begins_with_what_a_person_granted_after_the_engine_that_asked_was_killed(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let listener = home.listener();
    home.configure(&format!("[bridge]\nnotify_targets = [{:?}]\n", listener.target));
    home.open().await;
    let made = home.codex_home.root().join("beside/made.txt");
    home.model.play([Reply::new().command(format!("touch {}", made.display())), Reply::say("It is there.")]);
    let new = NewTask { notify: vec![listener.target.clone()], ..wide(&home, "make the file") };
    let task = try_start(&home, new).await.unwrap();
    assert_eq!(task.status, TaskStatus::WaitingForApproval);
    // The caller and the person see it at once.
    let seen = home.as_model("a").task(&task.id).await.unwrap();
    let asked = only_request(&home).await;
    assert_eq!(seen.requests.iter().map(|open| &open.id).collect::<Vec<_>>(), [&asked.id]);
    assert_eq!((seen.status, seen.network, asked.kind.as_str()), (task.status, false, "permissions"));
    assert!(matches!(&asked.ask, Some(Ask::TaskPower { model, permissions, .. })
        if model == "model:a" && permissions.network && permissions.files.len() == 1));
    assert_eq!(asked.choices, [Decision::Accept, Decision::Decline, Decision::Cancel]);
    let heard = &listener.hears(1).await[0];
    assert_eq!(heard["respond"], format!("talaria requests answer {} accept", asked.id));
    home.told(&task, "request").await;

    home.crash().await;
    home.open().await;
    assert_eq!(only_request(&home).await.id, asked.id, "the same request is open");
    assert_eq!(home.status_of(&task).await, TaskStatus::WaitingForApproval);
    assert!(home.model.requests().is_empty(), "Codex has nothing of it");
    accept(home.engine(), &asked.id).await;
    let ended = home.ends(&task).await;
    assert_eq!((ended.status, ended.answer.as_deref()), (TaskStatus::Completed, Some("It is there.")));
    assert!(ended.network && ended.writable_roots.len() == 1, "{ended:?}");
    assert!(made.exists(), "its sandbox has the directory");
    let closed = home.engine().request(asked.id.as_str()).await.unwrap();
    assert_eq!((closed.state, closed.decision), (RequestState::Delivered, Some(Decision::Accept)));
    assert_eq!(wishes_in_the_log(&home).await, [("model:a".to_owned(), false)]);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_power_is_declined_ends_without_having_begun() {
    let mut home = Home::standing_in().await;
    home.open().await;
    let task = start(&home, "go").await;
    let asked = only_request(&home).await;
    home.engine().answer(asked.id.as_str(), no()).await.unwrap();
    let ended = home.ends(&task).await;
    assert_eq!((ended.status, ended.started_at, ended.network), (TaskStatus::Failed, None, false));
    let why = ended.outcome.and_then(|report| report.message).unwrap();
    assert!(why.contains("was not granted: may use the network, may read and write"), "{why}");
    assert!(why.ends_with("; the person says: not today"), "{why}");
    assert!(ended.requests.is_empty());
    let closed = home.engine().request(asked.id.as_str()).await.unwrap();
    assert_eq!((closed.state, closed.decision), (RequestState::Delivered, Some(Decision::Decline)));
    assert_eq!(wishes_in_the_log(&home).await, [("model:a".to_owned(), true)]);
    // The next turn has the same power, and no one is asked again.
    home.send(&task, "go on").await.unwrap();
    let next = home.reaches_turn(&task, 2).await;
    assert_eq!((next.status, next.network, next.writable_roots.len()), (TaskStatus::Completed, false, 0));
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_its_engine_did_not_live_to_act_on_is_acted_on_by_the_next() {
    let mut home = Home::standing_in().await;
    home.open().await;
    let task = start(&home, "go").await;
    let asked = only_request(&home).await;
    home.crash().await;
    let store = home.store().await;
    let answer = talaria_store::NewAnswer {
        decision: "accept".to_owned(),
        sealed: None,
        by: "user (person:ada, no terminal)".to_owned(),
        at: 7,
        audit: None,
    };
    store.answer_request(&asked.id, answer).await.unwrap();
    store.close().await;
    home.open().await;
    let ended = home.ends(&task).await;
    assert_eq!((ended.status, ended.network), (TaskStatus::Completed, true));
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_policy_lets_a_model_grant_power_to_its_own_task() {
    let mut home = Home::standing_in().await;
    home.configure("[bridge]\nanswers = [\"permissions\"]\n");
    home.open().await;
    let task = start(&home, "go").await;
    let asked = only_request(&home).await;
    let problem = home.as_model("a").answer(asked.id.as_str(), yes()).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::Forbidden);
    assert_eq!(home.status_of(&task).await, TaskStatus::WaitingForApproval);
    // It can stop its task, which withdraws the request.
    home.as_model("a").interrupt(&task.id, talaria_core::api::Interrupt { by: Who::Model }).await.unwrap();
    let ended = home.ends(&task).await;
    assert_eq!((ended.status, ended.requests.len()), (TaskStatus::Cancelled, 0));
    let closed = home.engine().request(asked.id.as_str()).await.unwrap();
    assert_eq!(closed.state, RequestState::Void);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_waits_for_its_power_holds_up_nobody() {
    let mut home = Home::standing_in().await;
    home.max_tasks = 1;
    home.open().await;
    let waiting = start(&home, "go").await;
    let other = home.start_task(home.task("go")).await;
    assert_eq!(home.ends(&other).await.status, TaskStatus::Completed);
    home.crash().await;
    home.open().await;
    let third = home.start_task(home.task("go")).await;
    assert_eq!(home.ends(&third).await.status, TaskStatus::Completed);
    accept(home.engine(), &only_request(&home).await.id).await;
    assert_eq!(home.ends(&waiting).await.status, TaskStatus::Completed);
    home.close().await;
}
