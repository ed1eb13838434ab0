//! Actions while the past of a conversation is loaded are independent of it.

use talaria_core::api::SessionInfo;
use talaria_core::event::QueuedInput;

use super::elsewhere::info;
use super::*;

/// A conversation that is opened; its past has not been reported.
fn opened(info: SessionInfo) -> Play {
    let mut play = play();
    play.news(News::Opened(Some(Box::new(info))));
    play
}

/// One in which nothing runs.
fn quiet() -> SessionInfo {
    SessionInfo { running: false, ..info() }
}

/// An event of this turn.
fn of_turn(play: &mut Play, turn: i64, event: Event) {
    let numbered = play.numbered(event);
    play.news(News::Event(Box::new(Numbered { turn: Some(turn), ..numbered })));
}

#[test]
fn an_old_turn_neither_takes_back_nor_ends_what_was_sent_since() {
    for end in [sample::interrupted(), sample::failed(), sample::completed("old")] {
        for events in [vec![end.clone()], vec![sample::turn_started(), end]] {
            let mut play = opened(quiet());
            play.write("go").press("Enter");
            assert!(play.wishes().starts_with("Send"));
            events.into_iter().for_each(|event| of_turn(&mut play, 1, event));
            play.news(News::CaughtUp);
            let screen = play.screen();
            assert!(screen.contains("sending") && screen.contains("▌ go"), "{screen}");
            assert!(!screen.contains("› go"), "{screen}");
            play.news(News::Started { session: session(), turn: 2 });
            of_turn(&mut play, 2, sample::failed());
            assert!(play.screen().contains("› go"), "Codex has not begun with it");
        }
    }
}

#[test]
fn an_old_turn_does_not_end_one_that_was_written_down_since() {
    let mut play = opened(quiet());
    play.write("go").press("Enter").news(News::Started { session: session(), turn: 2 });
    of_turn(&mut play, 1, sample::turn_started());
    of_turn(&mut play, 1, sample::interrupted());
    play.news(News::CaughtUp);
    assert!(play.screen().contains("working"));
    of_turn(&mut play, 1, sample::interrupted());
    let screen = play.screen();
    assert!(screen.contains("working") && !screen.contains("› go"), "nor does a late word of it\n{screen}");
}

#[test]
fn a_wish_to_stop_is_for_the_turn_that_was_asked_for() {
    let mut play = opened(quiet());
    play.write("go").press("Enter Esc");
    of_turn(&mut play, 1, sample::turn_started());
    assert!(!play.wishes().contains("Interrupt"), "the old one is over");
    of_turn(&mut play, 1, sample::completed("old"));
    play.news(News::CaughtUp).news(News::Started { session: session(), turn: 2 });
    assert_eq!(play.wishes(), "Interrupt\n");
}

#[test]
fn an_old_turn_is_not_shown_as_running_and_the_one_that_runs_is() {
    let mut play = opened(quiet());
    of_turn(&mut play, 1, sample::turn_started());
    let screen = play.screen();
    assert!(screen.contains("Enter sends") && !screen.contains("working"), "{screen}");
    of_turn(&mut play, 1, sample::completed("old"));
    play.news(News::CaughtUp);
    assert!(play.screen().contains("Enter sends"));

    let mut play = opened(info());
    of_turn(&mut play, 1, sample::completed("old"));
    assert!(play.screen().contains("Enter steers"));
    of_turn(&mut play, 2, sample::turn_started());
    play.press("Esc").news(News::CaughtUp);
    assert_eq!(play.wishes(), "Interrupt\n");
    assert!(play.screen().contains("stopping"));
}

#[test]
fn input_that_was_taken_back_long_ago_is_not_what_was_said_since() {
    let mut play = opened(info());
    play.write("go on").press("Enter");
    let input = QueuedInput { text: "go on".into(), images: Vec::new() };
    of_turn(&mut play, 1, Event::Unqueued { inputs: vec![input], was_sent: false });
    of_turn(&mut play, 1, sample::completed("old"));
    assert_eq!(play.rows_with("steering"), "↳ steering: go on\n");
}
