//! A turn that can no longer be followed: nothing is claimed about it.

use talaria_core::item::Status;

use super::super::contract::PromptDraft;
use super::*;

/// The screen says nothing of a turn that runs, and Enter begins one.
fn assert_nothing_claimed(play: &mut Play) {
    let screen = play.screen();
    assert!(!screen.contains("working") && screen.contains("Enter sends"), "{screen}");
    play.write("on").press("Enter");
    assert!(play.wishes().contains("Send("), "it claims no turn that could be steered");
}

#[test]
fn a_turn_that_can_no_longer_be_followed_is_not_said_to_run() {
    let mut play = play();
    play.running();
    assert!(play.screen().contains("working"));
    play.news(News::Lost("the conversation can no longer be followed".into()));
    assert!(play.screen().contains("can no longer be followed"));
    assert_nothing_claimed(&mut play);
}

#[test]
fn a_turn_whose_engine_was_stopped_before_its_end_is_not_said_to_run() {
    let mut play = play();
    play.running();
    play.news(News::Stopped);
    assert!(play.screen().contains("the turn may still be running"), "{}", play.screen());
    assert_nothing_claimed(&mut play);
}

#[test]
fn a_turn_that_is_heard_of_again_runs_until_its_end() {
    let mut play = play();
    play.running();
    play.news(News::CaughtUp).news(News::Stopped).news(News::Back);
    assert!(!play.screen().contains("working"), "nobody has told it yet");
    play.event(sample::text("m", "more"));
    let row = play.rows_with("working");
    assert!(row.starts_with("⠋ working ·"), "when it began is not known any more: {row}");
    play.event(sample::completed("done"));
    assert!(!play.screen().contains("working"));
    play.event(sample::text("m", "late"));
    assert!(!play.screen().contains("working"), "it has ended");
}

#[test]
fn a_step_of_a_turn_of_which_nobody_tells_is_not_said_to_run() {
    let lost = || News::Lost("the conversation can no longer be followed".into());
    for silence in [News::Away, News::Stopped, lost()] {
        let mut play = play();
        play.running().news(News::CaughtUp);
        play.event(sample::began("c", sample::command_body("make", Status::InProgress, None, None)));
        play.wait(3000);
        assert_eq!(play.rows_with("make"), "⠋ make  3s\n");
        let is_lost = matches!(silence, News::Lost(_));
        play.news(silence).wait(3000);
        assert_eq!(play.rows_with("make"), "◌ make  it may still be running\n");
        if !is_lost {
            play.news(News::Back).event(sample::output("c", "on\n"));
            assert_eq!(play.rows_with("make"), "⠋ make  6s\n");
        }
    }
}

#[test]
fn no_turn_is_said_to_be_idle_that_was_not_seen_to_end() {
    let lost = || News::Lost("the conversation can no longer be followed".into());
    for silence in [News::Stopped, lost()] {
        let mut play = play();
        play.running().news(News::CaughtUp);
        play.wishes();
        play.news(silence);
        assert!(play.screen().contains("turn state unknown"), "{}", play.screen());
        play.write("/stop").press("Enter");
        assert!(play.wishes().contains("Interrupt"), "the engine knows it");
        assert_eq!(
            play.rows_with("not known whether"),
            "it is not known whether a turn is running here; asking the engine to stop it\n"
        );
        play.write("/steer faster").press("Enter");
        let words =
            "it is not known whether a turn is running here: Enter sends the text from the input line\n";
        let shown = play.screen().lines().map(str::trim).collect::<Vec<_>>().join(" ");
        assert!(shown.contains(words.trim()), "{shown}");
        assert_eq!(play.rows_with("› faster"), "› faster\n");
        play.press("Ctrl-U").press("Ctrl-C");
        assert!(play.screen().contains("turn state unknown: /stop asks the engine"), "{}", play.screen());
        assert_eq!(play.rows_with("no turn is running") + &play.rows_with("nothing is running"), "");
        play.news(News::Opened(None));
        let told = play.rows_with("previous conversation");
        assert!(told.starts_with("the previous conversation may still be running"), "{told}");
        play.write("/stop").press("Enter");
        assert_eq!(play.rows_with("no turn is running"), "no turn is running here\n", "a new one has none");
    }
}

#[test]
fn a_turn_that_was_refused_after_another_was_lost_leaves_that_one_unknown() {
    let mut play = play();
    play.running().news(News::CaughtUp).news(News::Stopped);
    play.write("on").press("Enter");
    let prompt = Some(PromptDraft { text: "on".into(), images: Vec::new() });
    play.news(News::Refused { what: "not sent".into(), prompt, ticket: None });
    assert!(play.screen().contains("turn state unknown"), "{}", play.screen());
    play.event(sample::completed("done"));
    assert!(!play.screen().contains("turn state unknown"), "it was seen to end");
    play.press("Ctrl-U").write("/stop").press("Enter");
    assert_eq!(play.rows_with("no turn is running"), "no turn is running here\n");
}

#[test]
fn while_the_engine_is_away_an_idle_conversation_is_not_known_to_be_idle() {
    let mut play = play();
    play.running().news(News::CaughtUp).event(sample::completed("done")).news(News::Away);
    play.wishes();
    play.write("/stop").press("Enter");
    assert!(play.wishes().contains("Interrupt"));
    assert_eq!(play.rows_with("no turn is running"), "");
    play.news(News::Back).write("/stop").press("Enter");
    assert_eq!(play.rows_with("no turn is running"), "no turn is running here\n");
}
