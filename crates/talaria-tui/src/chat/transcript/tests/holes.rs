//! Holes: missing events are requested when the view is near, and loaded without moving the visible rows.

use super::paging::{all_rows, turns};
use super::*;

const LOOK: Look = Look { color: false, width: None, live: true, unicode: true };
const FETCHED: &str = "being fetched";

pub(super) fn holes(transcript: &Transcript) -> Vec<Hole> {
    let entries = (0..transcript.roll.len()).filter_map(|at| transcript.roll.get(at));
    let hole = |entry: &roll::Entry| match entry {
        roll::Entry::Hole(hole) => Some(*hole),
        roll::Entry::Cell(_) => None,
    };
    entries.filter_map(hole).collect()
}

#[test]
fn an_answer_to_an_earlier_wish_fills_no_more_than_it_brought() {
    let events = turns(1000, "out");
    let mut transcript = fed(LOOK, &events[4500..]);
    view(&mut transcript, 60, 10);
    transcript.scroll(Scroll::Top);
    assert_eq!(view(&mut transcript, 60, 10).needs_older, Some(1001));
    transcript.scroll(Scroll::Down(3));
    assert_eq!(view(&mut transcript, 60, 10).needs_older, Some(4501));
    transcript.prepend(1001, events[..1000].to_vec());
    assert_eq!(holes(&transcript), [Hole { first: 1001, last: 4500 }]);
    transcript.prepend(4501, events[3500..4500].to_vec());
    assert_eq!(holes(&transcript), [Hole { first: 1001, last: 3500 }]);
    // A page requested twice is loaded once.
    transcript.prepend(1001, events[..1000].to_vec());
    assert_eq!(holes(&transcript), [Hole { first: 1001, last: 3500 }]);
    let rows = all_rows(&mut transcript, &events, 1000);
    let answers: Vec<usize> =
        rows.iter().filter_map(|row| row.strip_prefix("answer ")?.trim().parse().ok()).collect();
    assert!(answers.iter().copied().eq(1..=1000), "{answers:?}");
}

/// A turn, a hole from 6 to 5000, and twenty turns after it.
fn with_a_hole() -> Transcript {
    let mut transcript = fed(LOOK, &turns(1, "out"));
    feed(&mut transcript, &far_turns());
    transcript.roll.dig(Hole { first: 6, last: 5000 });
    transcript
}

fn far_turns() -> Vec<Numbered> {
    let far = |event: Numbered| Numbered {
        seq: event.seq + 5000,
        turn: event.turn.map(|turn| turn + 1000),
        ..event
    };
    turns(20, "out").into_iter().map(far).collect()
}

#[test]
fn with_a_hole_below_the_end_in_view_is_not_the_end() {
    let events = turns(3, "out");
    let mut transcript = fed(LOOK, &events[..5]);
    feed(&mut transcript, &events[10..]);
    transcript.roll.dig(Hole { first: 6, last: 10 });
    view(&mut transcript, 60, 40);
    transcript.scroll(Scroll::Top);
    view(&mut transcript, 60, 40);
    assert!(!transcript.is_at_bottom());
    transcript.prepend(11, events[5..10].to_vec());
    view(&mut transcript, 60, 40);
    assert!(transcript.is_at_bottom());
}

#[test]
fn a_hole_above_does_not_keep_the_window_from_the_end() {
    let mut transcript = fed(LOOK, &turns(3, "out")[5..]);
    view(&mut transcript, 60, 6);
    transcript.scroll(Scroll::Up(1));
    view(&mut transcript, 60, 6);
    assert!(!transcript.is_at_bottom());
    transcript.scroll(Scroll::Down(1));
    view(&mut transcript, 60, 6);
    assert!(transcript.is_at_bottom());
}

#[test]
fn a_hole_that_is_entered_from_above_is_filled_from_its_beginning() {
    let mut transcript = with_a_hole();
    view(&mut transcript, 60, 10);
    transcript.scroll(Scroll::Top);
    let seen = view(&mut transcript, 60, 10);
    assert!(text(&seen).contains(FETCHED));
    assert_eq!(seen.needs_older, Some(1006));
    // Also before it is seen.
    let near = view(&mut transcript, 60, 2);
    assert!(!text(&near).contains(FETCHED));
    assert_eq!(near.needs_older, Some(1006));
    transcript.scroll(Scroll::Down(1));
    assert_eq!(view(&mut transcript, 60, 10).needs_older, Some(1006));
    // No more is asked for than is missing.
    transcript.prepend(5001, vec![Numbered { seq: 10, ..far_turns().remove(0) }]);
    assert_eq!(view(&mut transcript, 60, 10).needs_older, Some(10));
}

#[test]
fn going_to_the_beginning_loads_the_first_page_first() {
    let mut transcript = fed(LOOK, &far_turns());
    view(&mut transcript, 60, 10);
    transcript.scroll(Scroll::Top);
    assert_eq!(view(&mut transcript, 60, 10).needs_older, Some(1001));
}

#[test]
fn a_hole_that_comes_near_from_below_is_filled_from_its_end_before_it_is_seen() {
    let mut transcript = with_a_hole();
    let mut now = view(&mut transcript, 60, 10);
    assert_eq!(now.needs_older, None);
    while now.needs_older.is_none() {
        transcript.scroll(Scroll::Up(1));
        now = view(&mut transcript, 60, 10);
    }
    assert_eq!(now.needs_older, Some(5001));
    assert!(!text(&now).contains(FETCHED));
    while !now.lines[0].text().contains(FETCHED) {
        transcript.scroll(Scroll::Up(1));
        now = view(&mut transcript, 60, 10);
    }
    assert_eq!(now.needs_older, Some(5001));
}

#[test]
fn of_two_holes_the_nearer_one_is_filled_first() {
    let events = far_turns();
    let mut transcript = fed(LOOK, &events[..5]);
    feed(&mut transcript, &events[10..]);
    transcript.roll.dig(Hole { first: 5006, last: 5010 });
    view(&mut transcript, 60, 2);
    transcript.scroll(Scroll::Top);
    transcript.scroll(Scroll::Down(12));
    let mut now = view(&mut transcript, 60, 2);
    assert!(!text(&now).contains(FETCHED));
    assert_eq!(now.needs_older, Some(5011));
    // A window that hangs on one does not move when another one is filled.
    while !now.lines[0].text().contains(FETCHED) {
        transcript.scroll(Scroll::Up(1));
        now = view(&mut transcript, 60, 2);
    }
    transcript.prepend(1001, turns(1, "out"));
    assert_eq!(view(&mut transcript, 60, 2).lines, now.lines);
}

#[test]
fn what_stands_below_a_hole_keeps_its_place_when_the_hole_is_filled() {
    let events = turns(30, "out");
    for first in [50, 0] {
        let mut transcript = fed(LOOK, &events[100..]);
        let mut now = view(&mut transcript, 60, 10);
        while !now.lines[0].text().contains(FETCHED) {
            transcript.scroll(Scroll::Up(1));
            now = view(&mut transcript, 60, 10);
        }
        let below = now.lines[1].clone();
        transcript.prepend(101, events[first..100].to_vec());
        let now = view(&mut transcript, 60, 10);
        assert!(now.lines[..2].contains(&below), "from {first}: {}", text(&now));
    }
}
