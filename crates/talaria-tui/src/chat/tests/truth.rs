//! Times, tokens and authorship on the screen belong to the entry next to them.

use jiff::{SignedDuration, Timestamp};
use talaria_core::api::{SessionInfo, When};
use talaria_core::event::{Abandonment, Event, QueuedInput, Stage, Usage};
use talaria_core::ids::{ItemId, TurnId};
use talaria_core::item::{Author, ItemBody, Status};
use talaria_core::request::Who;

use super::elsewhere::info;
use super::{News, Play, play};
use talaria_render::sample;

/// Sets the time of day of the chat, which in these plays is the time of its clock.
fn with_clock(play: &mut Play) -> &mut Play {
    let wall = Timestamp::UNIX_EPOCH + SignedDuration::try_from(play.now).unwrap();
    play.chat.set_clock(play.now, wall);
    play
}

fn used(total: u64) -> Event {
    let turn = Usage { input: total, total, ..Usage::default() };
    Event::UsageUpdated { turn, context: total, window: Some(100_000), input: None }
}

#[test]
fn waiting_for_the_person_counts_from_the_question() {
    let mut play = play();
    with_clock(&mut play);
    play.running().wait(14_000).asked("req-1", sample::ask_command("ls")).wait(2000);
    let row = play.rows_with("waiting for you");
    assert!(row.contains("waiting for you 2s"), "{row}");
}

#[test]
fn a_turn_is_not_said_to_work_while_the_engine_is_away() {
    let mut play = play();
    play.running().wait(5000);
    assert!(play.rows_with("working 5s").contains("codex"), "{}", play.screen());
    play.news(News::Away);
    assert!(play.rows_with("engine away").contains("turn state unknown"), "{}", play.screen());
    assert_eq!(play.rows_with("working"), "");
    play.news(News::Opened(None));
    let told = play.rows_with("previous conversation");
    assert!(told.starts_with("the previous conversation may still be running"), "{told}");
}

#[test]
fn a_task_that_waits_for_a_place_is_queued_until_its_first_event() {
    let mut play = play();
    let queued = SessionInfo { queued: true, last_seq: 0, ..info() };
    play.news(News::Opened(Some(Box::new(queued)))).news(News::CaughtUp);
    assert_eq!((play.rows_with("queued").lines().count(), play.rows_with("working")), (1, String::new()));
    play.event(Event::TurnStarted { turn: TurnId::new("tu-1") });
    assert_eq!(play.rows_with("queued"), "");
    assert!(play.rows_with("working").contains("working"), "{}", play.screen());
}

fn said(id: &str, text: &str) -> Event {
    let (text, attachments) = (text.to_owned(), Vec::new());
    let body = ItemBody::UserMessage { text, attachments, client_id: None, author: Author::Person };
    sample::ended(id, body)
}

/// The engine hands input to the turn.
pub(super) fn steering(text: &str) -> Event {
    Event::Steering { input: QueuedInput { text: text.to_owned(), images: Vec::new() } }
}

fn steered() -> Event {
    Event::Steered { turn: TurnId::new("tu-1") }
}

#[test]
fn input_is_called_unread_until_the_turn_shows_it() {
    let mut play = play();
    play.running();
    play.event(steering("faster")).event(steered());
    assert_eq!(play.rows_with("not read yet"), "sent to the running turn; not read yet\n");
    play.event(said("u-2", "faster"));
    assert_eq!(play.rows_with("not read yet"), "", "it was read");
    play.event(steering("slower")).event(steered()).event(sample::completed("done"));
    assert_eq!(play.rows_with("not read yet"), "", "the turn is over");
}

#[test]
fn input_that_the_turn_shows_before_codex_confirms_it_is_not_called_unread() {
    let mut play = play();
    play.running();
    play.event(steering("faster")).event(said("u-2", "faster")).event(steered());
    assert_eq!(play.rows_with("not read yet"), "", "it was shown first");
    play.event(steering("a")).event(steering("b"));
    play.event(said("u-3", "a")).event(steered());
    assert_eq!(play.rows_with("not read yet").lines().count(), 1, "b has not been shown");
    play.event(steered());
    assert_eq!(play.rows_with("not read yet").lines().count(), 1, "a has been shown");
    play.event(said("u-4", "b"));
    assert_eq!(play.rows_with("not read yet"), "");
    play.event(steering("c")).event(Event::Queued { waiting: 1, input: QueuedInput::text("c") });
    play.event(steered());
    assert_eq!(play.rows_with("not read yet"), "", "it waits for the next turn");
}

#[test]
fn typed_input_is_called_sent_only_when_its_own_confirmation_came() {
    let mut play = play();
    play.running();
    play.write("a").press("Enter").write("b").press("Enter");
    play.event(steering("a")).event(said("u-2", "a")).event(steered());
    assert_eq!(play.rows_with(" b"), "↳ steering: b\n", "that was a's confirmation");
    play.event(steering("another client's")).event(steering("b")).event(steered());
    assert_eq!(play.rows_with(" b"), "↳ steering: b\n", "that was another client's");
    play.event(steered());
    assert_eq!(play.rows_with(" b"), "↳ sent, not read yet: b\n");
}

#[test]
fn a_shell_command_that_did_not_run_has_no_time() {
    let mut play = play();
    play.write("!make").press("Enter");
    let note = Some("the command could not be run".to_owned());
    play.news(News::ShellEnded { exit: None, took_ms: None, note });
    assert_eq!(play.rows_with("did not run"), "did not run\n");
    assert_eq!(play.rows_with("no exit code"), "");
}

#[test]
fn what_is_to_be_queued_is_queued_only_when_the_engine_says_so() {
    let mut play = play();
    play.running().write("/queue then test").press("Enter");
    assert_eq!(play.rows_with("then test").lines().next_back(), Some("↳ queueing: then test"));
    play.event(Event::Queued { waiting: 1, input: QueuedInput::text("then test") });
    assert!(play.rows_with("then test").ends_with("↳ queued: then test\n"), "{}", play.screen());
}

#[test]
fn tokens_are_those_of_the_turn_that_is_shown() {
    let mut play = play().at(120, 24);
    play.running().event(used(67_900)).event(sample::completed("done"));
    assert!(play.screen().contains("last turn 67.9k tokens"), "{}", play.screen());
    play.event(Event::Ledger { stage: Stage::Prepared, client_id: None, after: None });
    play.event(Event::TurnStarted { turn: TurnId::new("tu-2") });
    assert!(!play.rows_with("working").contains("tokens"), "{}", play.screen());
    play.event(used(1_200));
    assert!(play.screen().contains("turn 1.2k tokens"), "{}", play.screen());
}

#[test]
fn restored_input_keeps_the_order_in_which_it_was_typed() {
    let mut play = play();
    play.running().write("also run the linter").press("Enter");
    play.press("F3").write("and then write a summary").press("Enter");
    assert!(play.wishes().contains(&format!("{:?}", When::Next)));
    let unqueued = |text: &str, was_sent| {
        let inputs = vec![QueuedInput { text: text.into(), images: Vec::new() }];
        Event::Unqueued { inputs, was_sent }
    };
    play.event(unqueued("also run the linter", true));
    play.event(unqueued("and then write a summary", false));
    play.event(sample::interrupted());
    let screen = play.screen();
    let lines: Vec<&str> = screen.lines().map(str::trim).collect();
    let first = lines.iter().position(|line| *line == "› also run the linter");
    let second = lines.iter().position(|line| *line == "and then write a summary");
    assert!(first.is_some() && second == first.map(|at| at + 1), "{screen}");
    assert!(screen.contains("sent, but never read by the model: also run the linter"), "{screen}");
    assert!(screen.contains("not sent: and then write a summary"), "{screen}");
}

#[test]
fn words_of_talaria_are_not_shown_as_the_persons() {
    let mut play = play();
    let text = "This request was declined: rm -rf /\nThe reason: the hard floor".to_owned();
    let note =
        ItemBody::UserMessage { text, attachments: Vec::new(), client_id: None, author: Author::Talaria };
    play.running().event(sample::ended("u-2", note));
    let row = play.rows_with("declined");
    assert_eq!(row, "sent to the model: This request was declined: rm -rf / The reason: the hard\n");
}

#[test]
fn a_step_that_never_ran_is_not_called_unfinished() {
    let mut play = play();
    let command = sample::command_body("make", Status::InProgress, None, None);
    play.running().event(sample::began("c-1", command));
    let why = Some(Abandonment::NotRun);
    play.event(Event::ItemAbandoned { item: ItemId::new("c-1"), why }).event(sample::interrupted());
    assert_eq!(play.rows_with("make"), "◌ make  did not run: not answered\n");
}

#[test]
fn ctrl_c_stops_the_shell_command_whose_row_says_so_also_while_a_turn_runs() {
    let mut play = play();
    play.running().write("!sleep 9").press("Enter");
    play.wishes();
    assert!(play.rows_with("sleep 9").contains("(Ctrl-C stops it)"), "{}", play.screen());
    play.press("Ctrl-C");
    assert_eq!(play.wishes(), "StopShell\n");
    assert!(play.screen().contains("stopping the command"), "{}", play.screen());
    play.news(News::ShellEnded { exit: None, took_ms: Some(1), note: None }).wait(3000);
    play.press("Ctrl-C");
    assert_eq!(play.wishes(), "Interrupt\n");
}

#[test]
fn a_turn_that_was_asked_to_stop_is_not_said_to_work_because_a_command_was_refused() {
    let refused = || News::Refused { what: "no such task".into(), prompt: None, ticket: None };
    let mut play = play();
    play.running().press("Esc");
    assert!(play.screen().contains("stopping"), "{}", play.screen());
    play.news(refused());
    assert!(play.screen().contains("working"), "the wish to stop may have been refused");
    play.event(Event::Interrupting { by: Who::User }).news(refused());
    assert_eq!(play.rows_with("working"), "", "the engine has said that it stops");
    play.event(sample::interrupted());
    play.event(sample::turn_started());
    assert!(play.screen().contains("working"), "the next turn was not asked to stop");
}

#[test]
fn nothing_is_said_to_wait_for_nobody_before_the_engine_has_said_so() {
    let unknown = "the open requests are not known yet";
    let mut play = play();
    play.press("F2");
    assert!(play.screen().contains(unknown), "{}", play.screen());
    play.wait(3000).write("/requests").press("Enter");
    assert!(play.wishes().contains("Run(Requests)"), "the engine is asked");
    play.news(super::nothing_waits()).press("F2");
    assert!(play.screen().contains("nothing is waiting for you"), "{}", play.screen());
    play.news(News::Away).wait(3000).press("F2");
    assert!(play.screen().contains(unknown), "{}", play.screen());
    play.write("/requests").press("Enter");
    assert!(play.wishes().contains("Run(Requests)"), "the engine is asked");
}
