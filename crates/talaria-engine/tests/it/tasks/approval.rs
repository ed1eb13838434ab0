//! A task that waits for a person: it survives its engine, the answer names its author, and every target is notified
//! once.

use talaria_core::access::Identity;
use talaria_core::api::{Interrupt, NewTask, NoticeState, Notify, RequestState, TaskStatus};
use talaria_core::principal::Principal;
use talaria_core::request::Who;
use talaria_scripted::Reply;
use talaria_testkit::Codex;
use talaria_testkit::app_server::write_program;

use super::{accept, eventually};
use crate::home::Home;
use crate::stage::both_versions;

both_versions!(
    newest:
    a_task_that_waits_outlives_its_engine_is_approved_and_tells_its_end_once,
);

async fn a_task_that_waits_outlives_its_engine_is_approved_and_tells_its_end_once(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let listener = home.listener();
    home.open().await;
    home.model.play([Reply::new().command("touch made.txt"), Reply::say("The file is there.")]);
    let new = NewTask { notify: vec![listener.target.clone()], ..home.writing_task("make the file") };
    let task = home.start_task(new).await;
    assert!(matches!(task.status, TaskStatus::Queued | TaskStatus::Starting), "{:?}", task.status);
    let ticket = home.news(&task).await.request().await;
    let waiting = home.show(&task).await;
    assert_eq!(waiting.status, TaskStatus::WaitingForApproval);
    assert_eq!(waiting.requests.iter().map(|open| &open.id).collect::<Vec<_>>(), [&ticket]);
    let asked = &listener.hears(1).await[0];
    assert_eq!((&asked["kind"], &asked["status"]), (&"request".into(), &"waiting_for_approval".into()));
    assert_eq!(asked["respond"], format!("talaria requests answer {ticket} accept"));
    assert_eq!((&asked["request"]["id"], &asked["repeat"]), (&ticket.as_str().into(), &false.into()));
    assert_eq!(asked["request"]["choices"][0], "accept", "the words that answer it");
    home.told(&task, "request").await;

    home.crash().await;
    home.open().await;
    let open = home.engine().requests().await.unwrap();
    assert_eq!(open.iter().map(|open| &open.id).collect::<Vec<_>>(), [&ticket], "the same request is open");
    assert_eq!(home.status_of(&task).await, TaskStatus::WaitingForApproval);
    assert!(!home.codex_home.work().join("made.txt").exists());
    accept(&home.engine().for_caller(Identity::owner(Principal::person("ada"))), &ticket).await;
    let ended = home.ends(&task).await;
    assert_eq!((ended.status, ended.answer.as_deref()), (TaskStatus::Completed, Some("The file is there.")));
    assert!(ended.completed_at.is_some() && ended.requests.is_empty());
    assert!(home.codex_home.work().join("made.txt").exists());
    let answered = home.engine().request(ticket.as_str()).await.unwrap();
    assert_eq!(
        (answered.state, answered.answered_by.as_deref()),
        (RequestState::Delivered, Some("user (person:ada, no terminal)"))
    );
    home.told(&task, "outcome").await;
    // Another engine finds nothing that is owed.
    home.crash().await;
    home.open().await;
    assert_eq!(home.status_of(&task).await, TaskStatus::Completed);
    home.stop(false).await;
    let heard = listener.heard();
    assert_eq!(heard.len(), 2, "each was told once: {heard:#?}");
    let told = &heard[1];
    assert_eq!((&told["kind"], &told["status"]), (&"outcome".into(), &"completed".into()));
    assert_eq!((&told["answer"], &told["repeat"]), (&"The file is there.".into(), &false.into()));
    assert_eq!((&told["task"], &told["attempt"]), (&task.id.as_str().into(), &1.into()));
    assert_eq!(told["look"], format!("talaria task show {}", task.id));
    home.open().await;
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_being_told_when_the_engine_died_is_told_again_and_says_so() {
    let mut home = Home::standing_in().await;
    let root = home.codex_home.root().to_owned();
    let listener = home.listener();
    // The first time it reads everything and never ends, so that its success is never recorded.
    let script = format!(
        "#!/bin/sh\n[ -e '{0}/again' ] && again=1\ntouch '{0}/again'\n{{ cat; echo; }} >> '{0}/heard'\n\
         [ \"$again\" ] && exit 0\nexec sleep 1000\n",
        root.display()
    );
    write_program(&root.join("listen"), &script).unwrap();
    home.open().await;
    let new = NewTask { notify: vec![listener.target.clone()], ..home.task("go") };
    let task = home.start_task(new).await;
    assert_eq!(home.ends(&task).await.status, TaskStatus::Completed);
    assert_eq!(listener.hears(1).await[0]["repeat"], false);
    assert_eq!(home.show(&task).await.notices[0].state, NoticeState::Sending);
    home.crash().await;
    home.open().await;
    let heard = listener.hears(2).await;
    assert_eq!((&heard[1]["repeat"], &heard[1]["attempt"]), (&true.into(), &2.into()));
    assert_eq!(heard[1]["answer"], heard[0]["answer"]);
    let notice = eventually("the notice is sent", async || {
        home.show(&task).await.notices.pop().filter(|notice| notice.state == NoticeState::Sent)
    })
    .await;
    assert_eq!((notice.attempts, notice.repeat), (2, true));
    home.stop(false).await;
    assert_eq!(listener.heard().len(), 2, "and not once more");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_stopped_tells_whom_it_stopped_before_it_goes() {
    let mut home = Home::standing_in().await;
    let listener = home.listener();
    home.open().await;
    let new = NewTask { notify: vec![listener.target.clone()], ..home.task("ask-it") };
    let task = home.start_task(new).await;
    home.news(&task).await.request().await;
    listener.hears(1).await;
    home.stop(false).await;
    home.open().await;
    assert_eq!(home.status_of(&task).await, TaskStatus::Cancelled);
    let heard = listener.hears(2).await;
    assert_eq!((&heard[1]["kind"], &heard[1]["status"]), (&"outcome".into(), &"cancelled".into()));
    home.stop(false).await;
    assert_eq!(listener.heard().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_names_nobody_says_so_when_somebody_asks() {
    let mut home = Home::standing_in().await;
    home.open().await;
    let task = home.start_task(home.task("go")).await;
    home.ends(&task).await;
    let notify = async |dry_run| home.engine().notify(Notify { dry_run, ..Notify::default() }).await.unwrap();
    let shown = notify(true).await;
    assert_eq!((shown.len(), shown[0].target.as_ref(), shown[0].state), (1, None, NoticeState::NoTarget));
    assert!(shown[0].message.as_ref().unwrap().contains("done: go"), "{shown:?}");
    assert_eq!(notify(true).await, shown, "looking changes nothing");
    assert_eq!(notify(false).await[0].state, NoticeState::NoTarget);
    assert_eq!((notify(false).await, notify(true).await), (Vec::new(), Vec::new()));
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_bounds_what_is_shown_and_what_is_marked() {
    let mut home = Home::standing_in().await;
    home.open().await;
    for number in 0..3 {
        let task = home.start_task(home.task(&format!("go {number}"))).await;
        home.ends(&task).await;
    }
    let notify = async |limit, dry_run| home.engine().notify(Notify { limit, dry_run }).await.unwrap().len();
    assert_eq!((notify(2, true).await, notify(10, true).await), (2, 3));
    assert_eq!((notify(2, false).await, notify(2, false).await, notify(2, false).await), (2, 1, 0));
    home.close().await;
}

/// A failed delivery is retried later, and at once on request.
#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_fails_is_told_when_it_can_be() {
    let mut home = Home::standing_in().await;
    let (root, listener) = (home.codex_home.root().to_owned(), home.listener());
    let heard = std::fs::read_to_string(root.join("listen")).unwrap();
    write_program(&root.join("listen"), "#!/bin/sh\necho no room >&2\nexit 9\n").unwrap();
    home.open().await;
    let task = home.start_task(NewTask { notify: vec![listener.target.clone()], ..home.task("go") }).await;
    home.ends(&task).await;
    let failed = eventually("it failed", async || {
        home.show(&task).await.notices.pop().filter(|notice| notice.state == NoticeState::Failed)
    })
    .await;
    assert!(failed.error.as_deref().unwrap().contains("no room"), "{failed:?}");
    assert!(failed.due_at.is_some() && failed.sent_at.is_none());
    write_program(&root.join("listen"), &heard).unwrap();
    let sent = home.on(|engine| async move { engine.notify(Notify::default()).await }).await.unwrap();
    assert_eq!((sent.len(), sent[0].state, sent[0].repeat), (1, NoticeState::Sent, false));
    assert_eq!(listener.heard().len(), 1);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_of_a_request_that_was_closed_unanswered_is_given_up_and_says_why() {
    let mut home = Home::standing_in().await;
    let listener = home.listener();
    write_program(&home.codex_home.root().join("listen"), "#!/bin/sh\nexit 9\n").unwrap();
    home.open().await;
    for is_answered in [false, true] {
        let new = NewTask { notify: vec![listener.target.clone()], ..home.task("ask-it") };
        let task = home.start_task(new).await;
        let ticket = home.news(&task).await.request().await;
        let notice = async |state| {
            eventually("the notification of the request", async || {
                let mut notices = home.show(&task).await.notices.into_iter();
                notices.find(|notice| notice.kind == "request" && notice.state == state)
            })
            .await
        };
        notice(NoticeState::Failed).await;
        if is_answered {
            accept(home.engine(), &ticket).await;
        } else {
            home.engine().interrupt(&task.id, Interrupt { by: Who::User }).await.unwrap();
        }
        home.ends(&task).await;
        home.on(|engine| async move { engine.notify(Notify::default()).await }).await.unwrap();
        let why = match is_answered {
            true => "the request was answered before this was sent",
            false => "the request was closed, not answered here, before this was sent",
        };
        assert_eq!(notice(NoticeState::Abandoned).await.error.as_deref(), Some(why));
    }
    home.close().await;
}
