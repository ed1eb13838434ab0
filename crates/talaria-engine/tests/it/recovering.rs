//! Recovery by the next engine: running turns continue, requests are reopened, losses are reported, and no prompt is
//! sent twice.

use talaria_core::api::{ProblemCode, RequestState};
use talaria_core::event::{Event, Stage};
use talaria_core::item::ItemBody;
use talaria_core::outcome::Outcome;
use talaria_core::policy::ApprovalPolicy;
use talaria_core::request::Decision;
use talaria_scripted::{Gate, Reply};
use talaria_testkit::app_server::directive::on;
use talaria_testkit::app_server::{complete_turn, start_turn};
use talaria_testkit::{AppServer, Codex};

use crate::engine::{asking, waiting};
use crate::home::{Home, completed_once};
use crate::stage::both_versions;

both_versions!(
    a_turn_that_ran_when_the_engine_died_goes_on_in_the_next,
    a_turn_that_ended_while_no_engine_was_there_has_its_outcome,
    an_open_approval_is_answered_after_the_restart,
    codex_that_died_while_no_engine_was_there_loses_the_turn_and_its_request;
    newest:
    a_turn_that_was_left_running_goes_on_in_the_next,
    what_was_lost_is_continued_once_if_that_is_wanted,
);

/// A turn that has completed a command and is in the middle of its answer.
async fn half_way(home: &Home, gate: &Gate) -> talaria_core::api::SessionStarted {
    home.model.push(Reply::new().command("echo one"));
    home.model.push(Reply::new().text("half ").gate(gate).text("whole"));
    let started = home.start(ApprovalPolicy::Never, "go on").await;
    let mut events = home.events(&started, 0).await;
    events.is(|event| matches!(event, Event::ItemCompleted { item } if is_command(&item.body))).await;
    gate.reached().await;
    started
}

fn is_command(body: &ItemBody) -> bool {
    matches!(body, ItemBody::Command { .. })
}

async fn goes_on(mut home: Home, started: talaria_core::api::SessionStarted, gate: Gate, pids: Vec<i32>) {
    home.open().await;
    assert_eq!(home.hosts().await, pids, "the host was adopted");
    let mut events = home.events(&started, 0).await;
    events.is(|event| matches!(event, Event::Gap(_))).await;
    gate.open();
    let report = events.outcome().await;
    assert_eq!((&report.outcome, report.text.as_deref()), (&Outcome::Completed, Some("half whole")));
    let all = home.all(&started).await;
    // On 0.130 the person's own message is a step, too.
    assert!(completed_once(&all) >= 2, "{all:#?}");
    let commands = all.iter().filter(|numbered| match &numbered.event {
        Event::ItemCompleted { item } => is_command(&item.body),
        _ => false,
    });
    assert_eq!(commands.count(), 1);
    assert_eq!(home.model.requests().len(), 2, "nothing was prompted twice");
    let detail = home.detail(&started).await;
    assert_eq!(detail.turns.len(), 1);
    let answers = detail.messages.iter().filter(|message| message.content.as_deref() == Some("half whole"));
    assert_eq!(answers.count(), 1, "{:#?}", detail.messages);
    home.close().await;
}

async fn a_turn_that_ran_when_the_engine_died_goes_on_in_the_next(codex: Codex) {
    let (mut home, gate) = (Home::real(&codex).await, Gate::new());
    home.open().await;
    let started = half_way(&home, &gate).await;
    let pids = home.hosts().await;
    home.crash().await;
    goes_on(home, started, gate, pids).await;
}

async fn a_turn_that_was_left_running_goes_on_in_the_next(codex: Codex) {
    let (mut home, gate) = (Home::real(&codex).await, Gate::new());
    home.open().await;
    let started = half_way(&home, &gate).await;
    let pids = home.hosts().await;
    assert_eq!(home.stop(true).await.kept, 1);
    goes_on(home, started, gate, pids).await;
}

async fn a_turn_that_ended_while_no_engine_was_there_has_its_outcome(codex: Codex) {
    let (mut home, gate) = (Home::real(&codex).await, Gate::new());
    home.open().await;
    let started = half_way(&home, &gate).await;
    home.crash().await;
    gate.open();
    home.open().await;
    let report = home.events(&started, 0).await.outcome().await;
    assert_eq!((&report.outcome, report.text.as_deref()), (&Outcome::Completed, Some("half whole")));
    completed_once(&home.all(&started).await);
    assert_eq!(home.model.requests().len(), 2);
    home.close().await;
}

async fn an_open_approval_is_answered_after_the_restart(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.play([Reply::new().command("touch made.txt"), Reply::say("made")]);
    let started = home.start(ApprovalPolicy::Untrusted, "make it").await;
    let ticket = home.events(&started, 0).await.request().await;
    for _ in 0..2 {
        home.crash().await;
        home.open().await;
        let open = home.engine().requests().await.unwrap();
        assert_eq!(open.iter().map(|request| &request.id).collect::<Vec<_>>(), [&ticket], "it is still open");
    }
    home.answer(&ticket, "accept").await.unwrap();
    let mut events = home.events(&started, 0).await;
    assert_eq!(events.outcome().await.outcome, Outcome::Completed);
    assert!(home.codex_home.work().join("made.txt").exists());
    assert_eq!(home.engine().request(ticket.as_str()).await.unwrap().state, RequestState::Delivered);
    let opened = events.seen.iter().filter(|event| matches!(event, Event::RequestOpened { .. }));
    assert_eq!(opened.count(), 1, "asked once: {:#?}", events.seen);
    assert_eq!(home.model.requests().len(), 2);
    home.close().await;
}

async fn codex_that_died_while_no_engine_was_there_loses_the_turn_and_its_request(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.push(Reply::new().command("touch made.txt"));
    let started = home.start(ApprovalPolicy::Untrusted, "make it").await;
    let ticket = home.events(&started, 0).await.request().await;
    let pids = home.hosts().await;
    home.crash().await;
    home.kill_codex(&pids).await;
    home.open().await;
    let report = home.events(&started, 0).await.outcome().await;
    assert!(matches!(report.outcome, Outcome::Lost { .. }), "{:?}", report.outcome);
    assert_eq!(home.engine().request(ticket.as_str()).await.unwrap().state, RequestState::Void);
    assert_eq!(home.answer(&ticket, "accept").await.unwrap_err().code, ProblemCode::Conflict);
    assert_eq!(home.model.requests().len(), 1, "nothing starts by itself");
    // The conversation continues when the person does.
    home.model.push(Reply::say("again"));
    let (id, turn) = (started.id.clone(), home.turn("again"));
    let next = home.on(|engine| async move { engine.start_turn(id.as_str(), turn).await }).await.unwrap();
    assert_eq!(home.events(&next, next.after).await.outcome().await.outcome, Outcome::Completed);
    home.close().await;
}

async fn what_was_lost_is_continued_once_if_that_is_wanted(codex: Codex) {
    let (mut home, gate) = (Home::real(&codex).await, Gate::new());
    home.configure("[codex]\non_loss = \"continue\"\n");
    home.open().await;
    home.model.push(Reply::new().text("half ").gate(&gate));
    let started = home.start(ApprovalPolicy::Never, "go").await;
    gate.reached().await;
    home.model.push(Reply::new().text("more ").gate(&gate));
    home.kill_codex(&home.hosts().await).await;
    let mut events = home.events(&started, 0).await;
    assert!(matches!(events.outcome().await.outcome, Outcome::Lost { .. }));
    gate.reached_by(2).await;
    let detail = home.detail(&started).await;
    assert_eq!(detail.turns.len(), 2);
    assert!(detail.info.running, "the conversation runs again");
    assert!(detail.turns[1].prompt.starts_with("Codex was stopped"), "{}", detail.turns[1].prompt);
    // Ours is not continued once more.
    home.kill_codex(&home.hosts().await).await;
    assert!(matches!(events.outcome().await.outcome, Outcome::Lost { .. }));
    let store =
        talaria_store::Store::open(&home.talaria().store_file(), 0, &Default::default()).await.unwrap();
    home.stop(false).await;
    let turns = store.last_turns(&started.id, None, 10).await.unwrap();
    assert_eq!(turns.iter().map(|turn| turn.ours).collect::<Vec<_>>(), [false, true]);
    store.close().await;
    home.open().await;
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_cannot_be_taken_up_takes_its_requests_with_it() {
    let (mut home, installed) = Home::scripted(asking()).await;
    home.open().await;
    let started = home.start(ApprovalPolicy::Untrusted, "go").await;
    let ticket = home.events(&started, 0).await.request().await;
    let pids = home.hosts().await;
    home.crash().await;
    home.kill_codex(&pids).await;
    std::fs::remove_file(&installed.codex).unwrap();
    home.open().await;
    let mut events = home.events(&started, 0).await;
    let report = events.outcome().await;
    assert!(matches!(report.outcome, Outcome::Lost { .. }), "{:?}", report.outcome);
    let closed = |event: &&Event| matches!(event, Event::RequestClosed { decision: Decision::Void, .. });
    assert_eq!(events.seen.iter().filter(closed).count(), 1, "{:#?}", events.seen);
    assert_eq!(home.engine().request(ticket.as_str()).await.unwrap().state, RequestState::Void);
    assert!(home.engine().requests().await.unwrap().is_empty());
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_turn_that_is_lost_is_returned_also_where_that_is_continued() {
    let (mut home, _) = Home::scripted(waiting()).await;
    home.configure("[codex]\non_loss = \"continue\"\n");
    home.open().await;
    let started = home.start(ApprovalPolicy::Never, "first").await;
    let mut events = home.events(&started, 0).await;
    events.is(|event| matches!(event, Event::TurnStarted { .. })).await;
    home.say_next(&started, "second").await;
    events.is(|event| matches!(event, Event::Queued { .. })).await;
    home.kill_codex(&home.hosts().await).await;
    assert!(matches!(events.outcome().await.outcome, Outcome::Lost { .. }));
    let is_returned =
        |event: &Event| matches!(event, Event::Unqueued { inputs, .. } if inputs[0].text == "second");
    assert!(events.seen.iter().any(is_returned), "{:#?}", events.seen);
    events.is(|event| matches!(event, Event::TurnStarted { .. })).await;
    let prompts: Vec<_> = home.detail(&started).await.turns.into_iter().map(|turn| turn.prompt).collect();
    assert_eq!(prompts.len(), 2);
    assert!(prompts[1].starts_with("Codex was stopped"), "{prompts:?}");
    home.close().await;
}

/// A turn that the ledger calls sent, left by an engine that was killed; its permit is redeemed or not. Returns what is
/// sent to Codex afterwards, and the outcome of the turn.
async fn left_as_sent(is_redeemed: bool) -> (Vec<serde_json::Value>, talaria_core::outcome::Report) {
    let (mut home, silent) = Home::scripted(AppServer::ready([on("thread/start", [])])).await;
    home.open().await;
    let started = home.start(ApprovalPolicy::Never, "wait for it").await;
    silent.wait_received("thread/start").await;
    let pids = home.hosts().await;
    home.crash().await;
    home.kill_codex(&pids).await;
    let store =
        talaria_store::Store::open(&home.talaria().store_file(), 0, &Default::default()).await.unwrap();
    let turn = store.last_turns(&started.id, None, 1).await.unwrap().pop().unwrap();
    let epoch = store.next_epoch().await.unwrap();
    let lease =
        talaria_store::Lease { session: started.id.clone(), epoch, owner: "test".to_owned(), expires_at: 0 };
    store.take_lease(lease, talaria_store::Takeover::Older).await.unwrap();
    let sent = talaria_store::TurnPatch { ordinal: 1, stage: Some(Stage::Sent), ..Default::default() };
    let changes = vec![talaria_store::Change::Turn(sent)];
    let batch =
        talaria_store::Batch { session: started.id.clone(), epoch, at: 1, events: Vec::new(), changes };
    store.append(batch).await.unwrap();
    store.close().await;
    std::fs::create_dir_all(home.talaria().permits_dir()).unwrap();
    let permit = home.talaria().permits_dir().join(&turn.client_id);
    if !is_redeemed {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        std::fs::write(&permit, boot.trim()).unwrap();
    }
    let script = start_turn().into_iter().chain(complete_turn("here"));
    let installed = home.install(AppServer::ready(script));
    home.open().await;
    let report = home.events(&started, 0).await.outcome().await;
    assert!(!permit.exists(), "a turn that is over has no permit");
    let sent = installed.received().into_iter().filter(|message| message["method"] == "turn/start").collect();
    home.close().await;
    (sent, report)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_was_to_be_written_and_was_not_is_sent_by_the_next_engine_once() {
    let (sent, report) = left_as_sent(false).await;
    assert_eq!((&report.outcome, report.text.as_deref()), (&Outcome::Completed, Some("here")));
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0]["params"]["input"][0]["text"], "wait for it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_may_have_been_written_is_never_sent_again() {
    let (sent, report) = left_as_sent(true).await;
    assert_ne!(report.outcome, Outcome::Completed);
    assert_eq!(sent.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prepared_turn_is_sent_by_the_next_engine_once() {
    // Codex says nothing to the start of a thread: the turn is written down, and cannot be sent.
    let (mut home, silent) = Home::scripted(AppServer::ready([on("thread/start", [])])).await;
    home.open().await;
    let started = home.start(ApprovalPolicy::Never, "wait for it").await;
    silent.wait_received("thread/start").await;
    let pids = home.hosts().await;
    home.crash().await;
    home.kill_codex(&pids).await;
    let script = start_turn().into_iter().chain(complete_turn("here"));
    let installed = home.install(AppServer::ready(script));
    home.open().await;
    let report = home.events(&started, 0).await.outcome().await;
    assert_eq!((&report.outcome, report.text.as_deref()), (&Outcome::Completed, Some("here")));
    let sent = installed.received();
    let sent: Vec<_> = sent.iter().filter(|message| message["method"] == "turn/start").collect();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0]["params"]["input"][0]["text"], "wait for it");
    home.stop(false).await;
    home.open().await;
    assert_eq!(home.detail(&started).await.turns.len(), 1);
    home.close().await;
}
