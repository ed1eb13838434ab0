//! An engine in its home: what it runs, what it records, and how it ends.

use std::time::Duration;

use serde_json::json;
use talaria_core::api::{Interrupt, ProblemCode, Prune, RequestState, SessionQuery};
use talaria_core::event::{Event, Stage};
use talaria_core::outcome::Outcome;
use talaria_core::policy::ApprovalPolicy;
use talaria_core::request::Who;
use talaria_core::transcript::Role;
use talaria_engine::engine::{Engine, LockError, OpenError};
use talaria_scripted::{Gate, Reply};
use talaria_testkit::app_server::directive::{notify, on, reply, reply_error, send};
use talaria_testkit::app_server::{THREAD, TURN, complete_turn, start_turn};
use talaria_testkit::{AppServer, Codex, eventually};

use crate::home::{Home, completed_once, options};
use crate::stage::{PATIENCE, both_versions};

both_versions!(
    a_conversation_goes_on_on_its_thread_after_everything_was_stopped;
    newest:
    a_session_runs_and_its_rows_say_what_its_events_say,
    a_conversation_is_followed_from_any_number_while_a_turn_runs,
    what_runs_when_the_engine_is_stopped_is_interrupted_and_told_so,
);

async fn a_session_runs_and_its_rows_say_what_its_events_say(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.play([Reply::new().command("echo from the command"), Reply::say("The pelican is done.")]);
    let (started, report) = home.run("what does the pelican do").await;
    assert_eq!((&report.outcome, started.turn, started.after), (&Outcome::Completed, 1, 0));
    let all = home.all(&started).await;
    assert!(all.iter().map(|numbered| numbered.seq).eq(1..=all.len() as i64));
    assert!(all.iter().all(|numbered| numbered.turn == Some(1) && numbered.session == started.id));
    let stages = all.iter().filter_map(|numbered| match &numbered.event {
        Event::Ledger { stage, .. } => Some(*stage),
        _ => None,
    });
    assert_eq!(stages.collect::<Vec<_>>(), [Stage::Prepared, Stage::Sent, Stage::Accepted, Stage::Settled]);
    let Event::SessionStarted(begun) = &all[0].event else { panic!("{:?}", all[0]) };

    let detail = home.detail(&started).await;
    assert_eq!(detail.thread.as_deref(), Some(begun.thread.as_str()));
    assert_eq!(detail.codex.as_deref(), Some(codex.version));
    assert!(!detail.info.running);
    assert_eq!(detail.info.last_seq, all.len() as i64);
    let [turn] = &detail.turns[..] else { panic!("{:?}", detail.turns) };
    assert_eq!((turn.stage, turn.prompt.as_str()), (Stage::Settled, "what does the pelican do"));
    assert_eq!(serde_json::to_value(&turn.outcome).unwrap(), serde_json::to_value(Some(&report)).unwrap());
    let said: Vec<_> = detail.messages.iter().map(|message| message.role).collect();
    assert_eq!(said, [Role::User, Role::Assistant, Role::Tool, Role::Assistant], "{:#?}", detail.messages);
    for words in ["pelican done", "\"from the command\""] {
        assert_eq!(home.engine().search(words, 5).await.unwrap()[0].session, started.id, "{words}");
    }
    home.close().await;
}

async fn a_conversation_is_followed_from_any_number_while_a_turn_runs(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let gates = [Gate::new(), Gate::new()];
    let words = |reply: Reply| reply.text_chunks((0..40).map(|number| format!("word {number} ")));
    home.model.push(words(words(Reply::new().text("begin ").gate(&gates[0])).gate(&gates[1])));
    let started = home.start(ApprovalPolicy::Never, "talk").await;
    let mut followers = vec![home.events(&started, 0).await];
    for gate in gates {
        gate.reached().await;
        followers[0].is(|event| matches!(event, Event::TextDelta { .. })).await;
        for after in 0..i64::try_from(followers[0].seen.len()).unwrap() {
            followers.push(home.events(&started, after).await);
        }
        gate.open();
    }
    let all = home.all(&started).await.len();
    assert!(all < followers.len() + 50, "the turn may still run");
    for follower in &mut followers {
        assert_eq!(follower.outcome().await.outcome, Outcome::Completed);
    }
    drop(followers);
    home.close().await;
}

async fn a_conversation_goes_on_on_its_thread_after_everything_was_stopped(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.push(Reply::say("I will remember the heron."));
    let (started, _) = home.run("remember the heron").await;
    let thread = home.detail(&started).await.thread;
    assert!(thread.is_some());
    home.stop(false).await;
    assert_eq!(home.marker.survivors(), []);

    home.open().await;
    home.model.push(Reply::say("It was the heron."));
    let (id, turn) = (started.id.clone(), home.turn("which bird was it"));
    let next = home.on(|engine| async move { engine.start_turn(id.as_str(), turn).await }).await.unwrap();
    assert_eq!(next.turn, 2);
    assert_eq!(home.events(&next, next.after).await.outcome().await.outcome, Outcome::Completed);
    assert_eq!(home.detail(&started).await.thread, thread, "the same thread");
    let asked = home.model.requests().pop().unwrap();
    assert!(asked.user_texts().contains(&"remember the heron"), "{:?}", asked.user_texts());
    assert!(asked.assistant_texts().contains(&"I will remember the heron."));
    home.close().await;
}

async fn what_runs_when_the_engine_is_stopped_is_interrupted_and_told_so(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let gate = Gate::new();
    home.model.push(Reply::new().text("half ").gate(&gate).text("never"));
    let started = home.start(ApprovalPolicy::Never, "go").await;
    let mut events = home.events(&started, 0).await;
    gate.reached().await;
    // A follower receives the end of the turn before the end of the engine.
    let told = async {
        let outcome = events.outcome().await.outcome;
        (outcome, events.next().await)
    };
    let (stopped, (outcome, after)) = tokio::join!(home.stop(false), told);
    assert_eq!((stopped.interrupted, stopped.kept), (1, 0));
    assert_eq!(outcome, Outcome::Interrupted { by: Who::Stop });
    assert!(after.is_none(), "{after:?}");
    assert_eq!(home.marker.survivors(), []);
    home.open().await;
    assert_eq!(home.detail(&started).await.turns.len(), 1);
    assert!(home.engine().status().await.unwrap().turns.is_empty());
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_those_who_begin_a_turn_at_once_one_does_and_the_others_are_told_that_it_runs() {
    let mut home = Home::standing_in().await;
    home.open().await;
    let (started, _) = home.run("go").await;
    for _ in 0..5 {
        let (id, turn) = (started.id.clone(), home.turn("ask-it"));
        let begun = home.on(move |engine| async move {
            let begin = |_| engine.start_turn(id.as_str(), turn.clone());
            futures_util::future::join_all((0..8).map(begin)).await
        });
        let (begun, refused): (Vec<_>, Vec<_>) = begun.await.into_iter().partition(Result::is_ok);
        assert_eq!(begun.len(), 1);
        let codes: Vec<_> = refused.into_iter().map(|refused| refused.unwrap_err().code).collect();
        assert_eq!(codes, [ProblemCode::Busy; 7]);
        let next = begun.into_iter().next().unwrap().unwrap();
        home.engine().interrupt(next.id.as_str(), Interrupt { by: Who::User }).await.unwrap();
        home.events(&next, next.after).await.outcome().await;
    }
    home.close().await;
}

/// A Codex whose turns wait until they are stopped.
pub(crate) fn waiting() -> AppServer {
    let turn = |id: &str, status: &str| {
        let turn = json!({ "id": id, "items": [], "status": status, "error": null });
        json!({ "threadId": THREAD, "turn": turn })
    };
    // Each turn has its own name, in every process.
    let ours = "$.params.clientUserMessageId";
    let running = turn(ours, "inProgress");
    AppServer::ready([
        on("turn/start", [reply(running.clone()), notify("turn/started", running)]),
        on(
            "turn/interrupt",
            [reply(json!({})), notify("turn/completed", turn("$.params.turnId", "interrupted"))],
        ),
    ])
}

/// A Codex whose turns ask whether a command may be run, and wait.
pub(crate) fn asking() -> AppServer {
    let params = json!({ "threadId": THREAD, "turnId": TURN, "itemId": "c", "command": "ls", "cwd": "/w" });
    let ask = json!({ "id": 7, "method": "item/commandExecution/requestApproval", "params": params });
    AppServer::ready(start_turn().into_iter().chain([send(ask)]))
}

async fn runs(home: &Home, started: &talaria_core::api::SessionStarted) {
    home.events(started, started.after).await.is(|event| matches!(event, Event::TurnStarted { .. })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_engine_of_the_same_home_is_told_who_has_it() {
    let (mut home, _) = Home::scripted(waiting()).await;
    home.open().await;
    let Err(OpenError::Lock(LockError::Held(Some(holder)))) =
        Engine::open(home.talaria(), options(None)).await
    else {
        panic!("it was let in")
    };
    assert_eq!((holder.pid, holder.version.as_str()), (std::process::id(), "1.2.3"));
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_on_which_nothing_was_accepted_is_not_kept_for_resuming() {
    let refused = reply_error(json!({ "code": -32600, "message": "no" }));
    let (mut home, _) = Home::scripted(AppServer::ready([on("turn/start", [refused])])).await;
    home.open().await;
    let (started, report) = home.run("go").await;
    assert!(matches!(report.outcome, Outcome::Failed { .. }), "{:?}", report.outcome);
    assert_eq!(home.detail(&started).await.thread, None);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_nobody_needs_ends_with_its_hosts() {
    let script = start_turn().into_iter().chain(complete_turn("done"));
    let (mut home, _) = Home::scripted(AppServer::ready(script)).await;
    home.open_with(Some(Duration::from_millis(50))).await;
    let (_, report) = home.run("go").await;
    assert_eq!(report.outcome, Outcome::Completed);
    tokio::time::timeout(PATIENCE, home.engine().stopped()).await.unwrap();
    assert_eq!(home.marker.survivors(), [], "it has ended when its hosts have");
    home.crash().await;
    home.open().await;
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_with_a_turn_does_not_end_by_itself() {
    let (mut home, _) = Home::scripted(waiting()).await;
    home.open_with(Some(Duration::from_secs(1))).await;
    let started = home.start(ApprovalPolicy::Never, "go").await;
    runs(&home, &started).await;
    let ended = tokio::time::timeout(Duration::from_millis(2500), home.engine().stopped()).await;
    assert!(ended.is_err(), "a turn runs");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prune_does_not_touch_what_runs_or_waits() {
    let (mut home, _) = Home::scripted(asking()).await;
    home.open().await;
    let started = home.start(ApprovalPolicy::Untrusted, "go").await;
    home.events(&started, 0).await.request().await;
    let all = Prune { keep: Some(0), ..Prune::default() };
    assert_eq!(home.engine().prune(all).await.unwrap().sessions, []);
    assert_eq!(home.detail(&started).await.turns.len(), 1);
    let id = started.id.clone();
    let interrupt = Interrupt { by: Who::User };
    home.engine().interrupt(id.as_str(), interrupt).await.unwrap();
    home.events(&started, 0).await.outcome().await;
    assert_eq!(home.engine().prune(all).await.unwrap().sessions.len(), 1);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_stopped_while_codex_does_not_say_whether_it_opens_the_conversation() {
    let (mut home, silent) = Home::scripted(AppServer::ready([on("account/read", [])])).await;
    home.open().await;
    let started = home.start(ApprovalPolicy::Never, "go").await;
    silent.wait_received("account/read").await;
    home.engine().interrupt(started.id.as_str(), Interrupt { by: Who::User }).await.unwrap();
    let asked = std::time::Instant::now();
    let report = home.events(&started, 0).await.outcome().await;
    assert_eq!((report.exit_code(), report.outcome), (4, Outcome::Interrupted { by: Who::User }));
    assert!(asked.elapsed() < PATIENCE / 6, "Codex has 30 s to answer, and is not waited for");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn input_that_waited_behind_a_lost_turn_is_returned() {
    let (mut home, installed) = Home::scripted(waiting()).await;
    home.open().await;
    let started = home.start(ApprovalPolicy::Never, "first").await;
    runs(&home, &started).await;
    home.say_next(&started, "the second thing").await;
    let mut events = home.events(&started, 0).await;
    events.is(|event| matches!(event, Event::Queued { waiting: 1, .. })).await;
    let pids = home.hosts().await;
    home.crash().await;
    home.kill_codex(&pids).await;
    home.open().await;
    let mut events = home.events(&started, 0).await;
    assert!(matches!(events.outcome().await.outcome, Outcome::Lost { .. }));
    assert_eq!(returned(&home, &started).await, ["the second thing"]);
    let running = home.engine().sessions(SessionQuery { running: true, limit: 5, ..SessionQuery::default() });
    assert!(running.await.unwrap().is_empty(), "nothing runs alone");
    let detail = home.detail(&started).await;
    let said: Vec<_> = detail
        .messages
        .iter()
        .filter(|message| message.role == Role::User)
        .filter_map(|message| message.content.as_deref())
        .collect();
    assert_eq!(said, ["first"]);
    let sent = installed.received().into_iter().filter(|message| message["method"] == "turn/start");
    let texts: Vec<_> = sent.map(|message| message["params"]["input"][0]["text"].clone()).collect();
    assert_eq!(texts, ["first"]);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn input_that_waited_when_the_engine_was_stopped_is_returned() {
    let (mut home, installed) = Home::scripted(waiting()).await;
    home.open().await;
    let started = home.start(ApprovalPolicy::Never, "first").await;
    runs(&home, &started).await;
    home.say_next(&started, "second").await;
    let mut events = home.events(&started, 0).await;
    events.is(|event| matches!(event, Event::Queued { .. })).await;
    home.stop(false).await;
    assert_eq!(home.marker.survivors(), []);
    let sent = || installed.received().iter().filter(|message| message["method"] == "turn/start").count();
    assert_eq!(sent(), 1, "what waits is not sent by an engine that ends");
    home.open().await;
    let mut events = home.events(&started, 0).await;
    assert_eq!(events.outcome().await.outcome, Outcome::Interrupted { by: Who::Stop });
    assert_eq!(returned(&home, &started).await, ["second"]);
    assert_eq!(sent(), 1);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_a_dying_codex_may_have_had_is_shown_as_undelivered() {
    let (mut home, _) = Home::scripted(asking()).await;
    home.open().await;
    let started = home.start(ApprovalPolicy::Untrusted, "go").await;
    let mut events = home.events(&started, 0).await;
    let ticket = events.request().await;
    home.answer(&ticket, "accept").await.unwrap();
    let second = home.answer(&ticket, "decline").await.unwrap_err();
    assert!(second.message.contains("already answered"), "{}", second.message);
    let is = async |state| home.engine().request(ticket.as_str()).await.unwrap().state == state;
    eventually("the answer is on its way", async || is(RequestState::Delivering).await.then_some(())).await;
    home.kill_codex(&home.hosts().await).await;
    assert!(matches!(events.outcome().await.outcome, Outcome::Lost { .. }));
    assert!(is(RequestState::Undelivered).await);
    assert_eq!(completed_once(&home.all(&started).await), 0);
    home.close().await;
}

/// The input that was returned to its sender.
async fn returned(home: &Home, started: &talaria_core::api::SessionStarted) -> Vec<String> {
    let events = home.all(started).await;
    let inputs = events.iter().filter_map(|event| match &event.event {
        Event::Unqueued { inputs, .. } => Some(inputs),
        _ => None,
    });
    inputs.flatten().map(|input| input.text.clone()).collect()
}
