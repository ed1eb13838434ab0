//! A turn of which nobody tells any more: nothing is claimed about it.

use talaria_core::item::Status;

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
    assert!(play.screen().contains("whether the turn goes on is not known"), "{}", play.screen());
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
        assert_eq!(play.rows_with("make"), "◌ make  whether it goes on is not known\n");
        if !is_lost {
            play.news(News::Back).event(sample::output("c", "on\n"));
            assert_eq!(play.rows_with("make"), "⠋ make  6s\n");
        }
    }
}
