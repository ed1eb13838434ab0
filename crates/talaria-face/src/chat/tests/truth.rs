//! What the screen says about time, tokens and authorship is about what it stands beside.

use jiff::{SignedDuration, Timestamp};
use talaria_core::api::When;
use talaria_core::event::{Abandonment, Event, QueuedInput, Stage, Usage};
use talaria_core::ids::{ItemId, TurnId};
use talaria_core::item::{Author, ItemBody, Status};

use super::{Play, play};
use crate::render::sample;

/// Tells the chat the time of day, which in these plays is the time of its clock.
fn with_clock(play: &mut Play) -> &mut Play {
    let wall = Timestamp::UNIX_EPOCH + SignedDuration::try_from(play.now).unwrap();
    play.chat.set_clock(play.now, wall);
    play
}

fn used(total: u64) -> Event {
    let turn = Usage { input: total, total, ..Usage::default() };
    Event::UsageUpdated { turn, context: total, window: Some(100_000) }
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
    assert_eq!(row, "told the model: This request was declined: rm -rf / The reason: the hard floor\n");
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
