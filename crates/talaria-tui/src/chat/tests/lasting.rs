//! How long a turn has been running, on clocks that may be set.

use talaria_core::item::Status;

use super::elsewhere::info;
use super::*;

/// A chat that is opened on a turn which began this many seconds ago, by the clocks of both.
fn opened_after(seconds: i64) -> Play {
    let mut play = play();
    let mut began = play.numbered(sample::turn_started());
    let wall = began.at;
    play.chat.set_clock(play.now, wall);
    began.at -= jiff::SignedDuration::from_secs(seconds);
    play.news(News::Opened(Some(Box::new(info())))).news(News::Event(Box::new(began)));
    play.news(News::CaughtUp);
    play
}

#[test]
fn a_turn_that_runs_already_shows_the_time_since_it_began() {
    let mut play = opened_after(3700);
    assert_eq!(play.rows_with("working"), "⠋ working 1h 01m\n");
    play.wait(3_600_000);
    assert_eq!(play.rows_with("working"), "⠋ working 2h 01m\n");
    // A later event changes nothing, whatever its time is.
    let mut later = play.numbered(sample::text("m", "x"));
    later.at += jiff::SignedDuration::from_hours(50);
    play.news(News::Event(Box::new(later)));
    assert_eq!(play.rows_with("working"), "⠋ working 2h 01m\n");
}

#[test]
fn a_clock_that_was_set_back_makes_no_time_of_a_turn_wrong() {
    let mut play = opened_after(-3700);
    assert_eq!(play.rows_with("working"), "⠋ working 0s\n", "an event from the future");
    play.wait(5000);
    let wall = Timestamp::UNIX_EPOCH;
    play.chat.set_clock(play.now, wall);
    assert_eq!(play.rows_with("working"), "⠋ working 5s\n");
    // A step that begins by the clock as it is now shows its time by that clock.
    let mut began =
        play.numbered(sample::began("c", sample::command_body("make", Status::InProgress, None, None)));
    began.at = wall;
    play.news(News::Event(Box::new(began))).wait(3000);
    assert!(play.rows_with("make").contains("make  3s"), "{}", play.screen());
}

#[test]
fn a_turn_whose_beginning_is_not_here_shows_no_time_until_it_is() {
    let mut play = play();
    let mut began = play.numbered(sample::turn_started());
    let piece = play.numbered(sample::text("m", "x"));
    play.chat.set_clock(play.now, began.at);
    began.at -= jiff::SignedDuration::from_secs(90);
    play.news(News::Opened(Some(Box::new(info())))).news(News::Event(Box::new(piece)));
    assert_eq!(play.rows_with("working"), "⠋ working\n");
    play.news(News::CaughtUp);
    let mut other = began.clone();
    other.turn = Some(0);
    play.news(News::Older { session: session(), before: 2, events: Some(vec![other]) });
    assert_eq!(play.rows_with("working"), "⠋ working\n", "of another turn");
    play.news(News::Older { session: session(), before: 2, events: Some(vec![began]) });
    assert_eq!(play.rows_with("working"), "⠋ working 1m 30s\n");
}
