//! The answer of a turn is shown once, also if only its end reports it, and however its events come.

use super::*;
use talaria_render::sample;

const LOOK: Look = Look { color: false, width: None, live: true, unicode: true };
const ANSWER: &str = "It is done.";

fn remarks<const N: usize>(ids: [&str; N]) -> [Event; N] {
    ids.map(|id| sample::ended(id, sample::message_body("on the way", Some("commentary"))))
}

/// Two turns with an answer; a message reports the second one, and only the end the first one.
fn events() -> Vec<Numbered> {
    let mut events = vec![sample::turn_started()];
    events.extend(remarks(["a", "b", "c"]));
    events.extend([sample::completed(ANSWER), sample::turn_started()]);
    events.extend(remarks(["a", "b"]));
    events.push(sample::ended("m", sample::message_body(ANSWER, None)));
    events.extend(remarks(["c", "d"]));
    events.push(sample::completed(ANSWER));
    numbered(1, events)
}

fn rows(transcript: &mut Transcript) -> Vec<String> {
    let screen = screen(transcript, 60, 60);
    let rows = screen.lines().map(|row| row.split(", 12 out").next().unwrap_or(row).to_owned());
    rows.collect()
}

#[test]
fn in_whatever_pages_the_events_come_an_answer_is_there_once() {
    let events = events();
    let whole = rows(&mut fed(LOOK, &events));
    assert_eq!(whole.iter().filter(|row| *row == ANSWER).count(), 2, "{whole:?}");
    for first in 1..events.len() {
        for second in first + 1..events.len() {
            let mut transcript = fed(LOOK, &events[second..]);
            transcript.prepend(events[second].seq, events[first..second].to_vec());
            transcript.prepend(events[first].seq, events[..first].to_vec());
            assert_eq!(rows(&mut transcript), whole, "pages from {first} and {second}");
        }
    }
}

#[test]
fn an_answer_that_only_the_end_told_comes_back_when_it_was_let_go_of() {
    let output = "many words that take room\n".repeat(800);
    let mut events = vec![sample::turn_started(), sample::completed(ANSWER), sample::turn_started()];
    events.extend((0..1500).map(|n| {
        let status = talaria_core::item::Status::Completed;
        sample::ended(&format!("c-{n}"), sample::command_body("make", status, Some(0), Some(&output)))
    }));
    let events = numbered(1, events);
    let mut transcript = fed(LOOK, &events);
    let hole = holes::holes(&transcript)[0];
    assert!(hole.first <= 2, "{hole:?}");
    transcript.scroll(Scroll::Top);
    let before = view(&mut transcript, 60, 10).needs_older.unwrap();
    transcript.prepend(before, events[..before as usize - 1].to_vec());
    let told = screen(&mut transcript, 60, 10);
    assert!(told.starts_with(&format!("{ANSWER}\n\ntokens:")), "{told}");
    // The end of its turn may still be loaded.
    transcript.roll.remove((2, 0));
    transcript.roll.dig(Hole { first: 2, last: 2 });
    transcript.prepend(3, events[1..2].to_vec());
    assert_eq!(screen(&mut transcript, 60, 10), told);
}

#[test]
fn what_lies_before_its_turn_does_not_keep_an_answer_back() {
    let has_answer = |events: &[Numbered]| {
        let mut transcript = fed(LOOK, events);
        assert_ne!(holes::holes(&transcript), []);
        screen(&mut transcript, 60, 30).contains(ANSWER)
    };
    assert!(has_answer(&numbered(5, vec![sample::turn_started(), sample::completed(ANSWER)])));
    // Its beginning was never reported, but what is before it is of another turn.
    let [remark] = remarks(["a"]);
    let mut events = numbered(5, vec![remark, sample::completed(ANSWER)]);
    assert!(!has_answer(&events), "it may lie in the hole");
    events[1].turn = Some(1);
    assert!(has_answer(&events));
}
