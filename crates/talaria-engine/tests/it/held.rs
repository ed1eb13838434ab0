//! Promises on the real Codex, per conversation: no turn takes another's outcome, nothing that works or waits is
//! stopped, and a conversation outlives its Codex.

mod agents;
mod gated;
mod told;

use std::fs;
use std::time::Duration;

use talaria_codex::conversation::{Command, Options};
use talaria_core::event::{Event, Stage};
use talaria_core::item::{ItemBody, Status};
use talaria_core::outcome::Outcome;
use talaria_core::policy::ApprovalPolicy;
use talaria_core::request::{Decision, Who};
use talaria_scripted::{Gate, Phase, Reply};
use talaria_testkit::Codex;

use crate::revival::{kill, remove_rollouts};
use crate::stage::{Ended, Real, begin, begin_within, both_versions};
use crate::threads::runs;

both_versions!(
    newest:
    an_interrupted_turn_then_another_returns_its_own_answer,
    an_interrupt_at_the_very_beginning_of_a_command_leaves_no_process,
    a_command_that_streams_for_longer_than_the_quiet_warning_is_not_killed,
    codex_killed_during_a_command_is_replaced_and_the_next_turn_remembers,
    a_killed_codex_whose_file_is_gone_is_replaced_by_one_that_is_told_a_digest,
);

/// The turn that these events are of.
fn turn_of(events: &[Event]) -> &str {
    let started = events.iter().find_map(|event| match event {
        Event::TurnStarted { turn } => Some(turn.as_str()),
        _ => None,
    });
    started.unwrap_or_else(|| panic!("it did not start: {events:#?}"))
}

async fn an_interrupted_turn_then_another_returns_its_own_answer(codex: Codex) {
    let real = Real::start(&codex).await;
    let command = Reply::new().message(Phase::Commentary, "I wait first.").command("sleep 9011");
    real.model.push(command.call_id("call_first"));
    let session = real.session_with(real.unconfined(ApprovalPolicy::Never)).await;
    let mut turn = begin(session, "the first thing");
    let begins = |event: &Event| match event {
        Event::ItemStarted { item } => matches!(item.body, ItemBody::Command { .. }).then_some(()),
        _ => None,
    };
    turn.until(begins).await;
    runs(&real.marker, "sleep 9011", true).await;
    turn.command(Command::Interrupt { by: Who::User }).await;
    let first = turn.end().await;
    assert_eq!(first.report.outcome, Outcome::Interrupted { by: Who::User }, "{:#?}", first.events);
    let told = first.events.iter().filter_map(|event| match event {
        Event::TerminalsEnded { message } => Some(message.as_str()),
        _ => None,
    });
    let [told] = told.collect::<Vec<_>>()[..] else { panic!("told once: {:#?}", first.events) };
    assert!(told.starts_with("stopped background commands of the turn: "), "{told}");
    runs(&real.marker, "sleep 9011", false).await;

    real.model.push(Reply::say("This is the second answer."));
    let second = begin(first.session, "the second thing").end().await;
    assert_eq!((&second.report.outcome, second.text()), (&Outcome::Completed, "This is the second answer."));
    assert_eq!(second.streamed_text(), second.text());
    assert_ne!(turn_of(&second.events), turn_of(&first.events));
    assert_eq!(second.commands().len(), 0, "the command was the first one's: {:#?}", second.events);
    let request = real.model.requests().pop().unwrap();
    assert_eq!(request.prompt(), "the second thing");
    real.close().await;
}

/// The process exists before Codex reports it; one that is stopped in between is never reported.
async fn an_interrupt_at_the_very_beginning_of_a_command_leaves_no_process(codex: Codex) {
    let real = Real::start(&codex).await;
    real.model.push(Reply::new().command("sleep 9013"));
    let session = real.session_with(real.unconfined(ApprovalPolicy::Never)).await;
    let turn = begin(session, "wait");
    runs(&real.marker, "sleep 9013", true).await;
    turn.command(Command::Interrupt { by: Who::User }).await;
    let ended = turn.end().await;
    assert_eq!(ended.report.outcome, Outcome::Interrupted { by: Who::User }, "{:#?}", ended.events);
    runs(&real.marker, "sleep 9013", false).await;
    real.close().await;
}

fn quiets(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Quiet { .. })).count()
}

async fn a_command_that_streams_for_longer_than_the_quiet_warning_is_not_killed(codex: Codex) {
    const WARNING: Duration = Duration::from_millis(150);
    let real = Real::start(&codex).await;
    real.model.push(Reply::new().command("until [ -e enough ]; do echo tick; sleep 0.03; done; echo last"));
    real.model.push(Reply::new().command("until [ -e heard ]; do sleep 0.03; done"));
    real.model.push(Reply::say("Both came to their end."));
    let options = Options { quiet_after: Some(WARNING), ..Options::default() };
    let mut turn =
        begin(real.session_as(real.unconfined(ApprovalPolicy::Never), options).await, "take your time");
    let is_piece = |event: &Event| matches!(event, Event::OutputDelta { .. }).then_some(());
    // The command pauses for 30 ms before each piece: 50 of them take ten times as long as the warning.
    for _ in 0..50 {
        turn.until(is_piece).await;
    }
    fs::write(real.home.work().join("enough"), "").unwrap();
    let ends = |event: &Event| match event {
        Event::ItemCompleted { item } => matches!(item.body, ItemBody::Command { .. }).then_some(()),
        _ => None,
    };
    turn.until(ends).await;
    // The second one prints nothing at all, and is reported more than once. That the pauses between reports grow is a test
    // of the turn machine, which has its own clock.
    let is_quiet = |event: &Event| match event {
        Event::Quiet { open_items, .. } => (!open_items.is_empty()).then_some(()),
        _ => None,
    };
    for _ in 0..3 {
        turn.until(is_quiet).await;
    }
    fs::write(real.home.work().join("heard"), "").unwrap();
    let ended = turn.end().await;
    assert_eq!(
        (ended.report.exit_code(), ended.text()),
        (0, "Both came to their end."),
        "{:#?}",
        ended.events
    );
    assert!(quiets(&ended.events) >= 3);
    let is_stop = |event: &Event| matches!(event, Event::Interrupting { .. } | Event::Escalated { .. });
    assert!(!ended.events.iter().any(is_stop), "{:#?}", ended.events);
    let [first, second] = &ended.commands()[..] else { panic!("{:#?}", ended.events) };
    for item in [first, second] {
        let ItemBody::Command { status, exit_code, .. } = &item.body else { unreachable!() };
        assert_eq!((*status, *exit_code), (Status::Completed, Some(0)), "{item:?}");
    }
    assert!(ended.events.iter().all(|event| !matches!(event, Event::HostReplaced { .. })));
    real.close().await;
}

/// The clock can be moved only where one thread runs everything.
mod one_thread {
    use talaria_testkit::Codex;

    use super::a_request_answered_after_ten_minutes;

    #[tokio::test]
    async fn a_request_answered_after_ten_minutes_continues_the_turn_of_0_130() {
        a_request_answered_after_ten_minutes(Codex::v0_130()).await;
    }

    #[tokio::test]
    async fn a_request_answered_after_ten_minutes_continues_the_turn_of_0_166() {
        a_request_answered_after_ten_minutes(Codex::v0_166()).await;
    }
}

async fn a_request_answered_after_ten_minutes(codex: Codex) {
    const LIMIT: Duration = Duration::from_secs(120);
    let real = Real::start(&codex).await;
    let gate = Gate::new();
    let options = Options { quiet_after: Some(Duration::from_secs(60)), ..Options::default() };
    let session = real.session_as(real.unconfined(ApprovalPolicy::Untrusted), options).await;
    real.model.push(Reply::new().command("touch allowed"));
    real.model.push(Reply::new().text("It is ").gate(&gate).text("there."));
    let mut turn = begin_within(session, "touch it", LIMIT);
    let (ticket, _) = turn.request().await;
    pass(Duration::from_secs(601)).await;
    assert!(!real.home.work().join("allowed").exists());
    turn.command(Command::Answer { ticket, answer: Decision::Accept.into(), by: Who::User }).await;
    turn.until(|event| matches!(event, Event::TextDelta { .. }).then_some(())).await;
    assert_eq!(quiets(&turn.seen), 0, "who waits for a person is not quiet: {:#?}", turn.seen);
    gate.open();
    let ended = turn.end().await;
    assert_eq!((&ended.report.outcome, ended.text()), (&Outcome::Completed, "It is there."));
    assert!(real.home.work().join("allowed").exists());

    // The same time without a question exceeds the limit, or the test would prove nothing.
    real.model.push(Reply::new().text("It ").stall());
    let mut turn = begin_within(ended.session, "and now?", LIMIT);
    turn.until(|event| matches!(event, Event::TextDelta { .. }).then_some(())).await;
    pass(Duration::from_secs(601)).await;
    let ended = turn.end().await;
    assert_eq!(ended.report.outcome, Outcome::Interrupted { by: Who::Deadline });
    real.close().await;
}

/// Advances the virtual clock.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

fn replacements(ended: &Ended) -> Vec<&str> {
    let lines = ended.events.iter().filter_map(|event| match event {
        Event::HostReplaced { message } => Some(message.as_str()),
        _ => None,
    });
    lines.collect()
}

fn last_stage(ended: &Ended) -> Option<Stage> {
    ended.events.iter().rev().find_map(|event| match event {
        Event::Ledger { stage, .. } => Some(*stage),
        _ => None,
    })
}

/// Brings a conversation to a running command in its second turn, kills Codex and follows the turn.
async fn killed_in_a_command(real: &Real, before: impl FnOnce()) -> Ended {
    real.model.push(Reply::say("The word is heron."));
    real.model.push(Reply::new().command("sleep 9012"));
    let session = real.session_with(real.unconfined(ApprovalPolicy::Never)).await;
    let first = begin(session, "tell me a word").end().await;
    let turn = begin(first.session, "now sleep");
    runs(&real.marker, "sleep 9012", true).await;
    before();
    kill(real);
    let ended = turn.end().await;
    let Outcome::Lost { why } = &ended.report.outcome else { panic!("{:#?}", ended.events) };
    assert!(why.contains("SIGKILL"), "{why}");
    assert_eq!((ended.report.exit_code(), last_stage(&ended)), (7, Some(Stage::Unknown)));
    runs(&real.marker, "sleep 9012", false).await;
    ended
}

async fn codex_killed_during_a_command_is_replaced_and_the_next_turn_remembers(codex: Codex) {
    let real = Real::start(&codex).await;
    let lost = killed_in_a_command(&real, || ()).await;
    let mut lines: Vec<String> = replacements(&lost).into_iter().map(str::to_owned).collect();
    let thread = lost.session.started().thread.clone();

    real.model.push(Reply::say("It was heron."));
    let next = begin(lost.session, "which word was it?").end().await;
    assert_eq!((next.report.exit_code(), next.text()), (0, "It was heron."), "{:#?}", next.events);
    lines.extend(replacements(&next).into_iter().map(str::to_owned));
    assert_eq!(lines, ["Codex was restarted and resumed the conversation"], "one line");
    assert_eq!(next.session.started().thread, thread);
    assert!(next.session.host().get().pid() != real.host.pid());
    let request = real.model.requests().pop().unwrap();
    assert!(request.assistant_texts().contains(&"The word is heron."), "{:?}", request.assistant_texts());
    assert_eq!(request.prompt(), "which word was it?");
    let said = |text: &str| request.user_texts().iter().filter(|said| **said == text).count();
    assert_eq!([said("tell me a word"), said("now sleep")], [1, 1], "each was said once");
    assert_eq!(real.model.requests().len(), 3, "what was lost is not tried again");
    next.leave().await;
    real.close().await;
}

async fn a_killed_codex_whose_file_is_gone_is_replaced_by_one_that_is_told_a_digest(codex: Codex) {
    let real = Real::start(&codex).await;
    let sessions = real.home.path().join("sessions");
    let lost = killed_in_a_command(&real, || assert_eq!(remove_rollouts(&sessions), 1)).await;
    let mut lines: Vec<String> = replacements(&lost).into_iter().map(str::to_owned).collect();

    real.model.push(Reply::say("It was heron."));
    let next = begin(lost.session, "which word was it?").end().await;
    assert_eq!((next.report.exit_code(), next.text()), (0, "It was heron."), "{:#?}", next.events);
    lines.extend(replacements(&next).into_iter().map(str::to_owned));
    let [line] = &lines[..] else { panic!("one line: {lines:?}") };
    assert!(line.ends_with("a new one was started with a digest of it"), "{line}");
    let request = real.model.requests().pop().unwrap();
    assert_eq!(request.prompt(), "which word was it?");
    let digest: Vec<_> = request.user_texts().into_iter().filter(|text| text.contains("heron")).collect();
    let [digest] = digest[..] else { panic!("{:?}", request.user_texts()) };
    assert!(digest.contains("tell me a word") && digest.contains("now sleep"), "{digest}");
    assert!(!digest.contains("which word was it?"), "what is asked now is no part of it: {digest}");
    next.leave().await;
    real.close().await;
}
