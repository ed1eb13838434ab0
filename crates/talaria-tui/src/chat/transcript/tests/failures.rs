//! What others say about a failure is of any length: in short it takes little room, unfolded it is all there, and it counts.

use expect_test::expect;
use talaria_core::event::Usage;
use talaria_core::outcome::{FailureCode, Outcome, Report};

use super::*;
use talaria_render::sample;

const LOOK: Look = Look { color: false, width: None, live: true, unicode: true };

fn failed_tool(error: &str) -> Transcript {
    fed(LOOK, &numbered(1, vec![sample::turn_started(), sample::ended("t", sample::tool_body(Some(error)))]))
}

fn failed_turn(message: &str) -> Transcript {
    let outcome = Outcome::Failed { code: FailureCode::Other, message: message.to_owned() };
    let report = Report::new(outcome, None, Usage::default(), 0);
    fed(LOOK, &numbered(1, vec![sample::turn_started(), Event::Outcome(Box::new(report))]))
}

fn weight(transcript: &mut Transcript) -> usize {
    transcript.roll.cells().map(|cell| cell.weight()).sum()
}

/// In short, and unfolded by the key.
fn both(transcript: &mut Transcript, height: u16) -> (String, String) {
    let short = screen(transcript, 60, height);
    transcript.toggle_fold(Fold::Next);
    (short, screen(transcript, 60, height))
}

#[test]
fn the_error_of_a_tool_takes_one_row_until_it_is_unfolded() {
    let error = "no such page: the index was not found\n  at search\n  at main";
    let (short, whole) = both(&mut failed_tool(error), 20);
    expect![[r#"
        ✗ docs.search  no such page: the index was not f… (1m 01s)
        --
        ✗ docs.search  failed (1m 01s)
          no such page: the index was not found
            at search
            at main
    "#]]
    .assert_eq(&format!("{short}--\n{whole}"));
    // What fits has nothing more to show.
    let (short, whole) = both(&mut failed_tool("no such page"), 20);
    assert_eq!((short.as_str(), &whole), ("✗ docs.search  no such page (1m 01s)\n", &short));
    for width in [8, 20, 40] {
        let rows = view(&mut failed_tool(error), width, 20).lines.len();
        assert!(rows <= 5, "{rows} rows at {width}");
    }
}

#[test]
fn an_error_of_any_length_is_weighed_and_bounded() {
    let error = format!("{}the end", "word ".repeat(10_000));
    let mut transcript = failed_tool(&error);
    let (short, whole) = both(&mut transcript, 2000);
    assert_eq!(short.lines().count(), 1, "{short}");
    assert!(whole.lines().count() > 800 && whole.ends_with("the end\n"));
    assert!(weight(&mut transcript) > error.len());
    assert!(weight(&mut failed_tool(&error.repeat(100))) < 200_000);
}

#[test]
fn the_cause_of_a_failed_turn_is_told_in_short_until_it_is_unfolded() {
    let cause: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    let mut transcript = failed_turn(&cause);
    let (short, whole) = both(&mut transcript, 100);
    for word in ["line 5", "35 more lines", "(Ctrl-O)", "hint:"] {
        assert!(short.contains(word), "{word}: {short}");
    }
    assert!(!short.contains("line 6") && whole.contains("line 40") && !whole.contains("Ctrl-O"), "{whole}");
    let one_line = "word ".repeat(4000);
    let (short, _) = both(&mut failed_turn(&one_line), 100);
    assert!(short.lines().count() < 12 && short.contains("(Ctrl-O)"), "{short}");
    let (short, whole) = both(&mut failed_turn("no more money"), 100);
    assert!(short == whole && short.contains("cause: no more money\n"), "{short}");
}

#[test]
fn a_cause_of_any_length_is_weighed_and_bounded() {
    let cause = "word ".repeat(2000);
    assert!(weight(&mut failed_turn(&cause)) > cause.len());
    assert!(weight(&mut failed_turn(&cause.repeat(100))) < 50_000);
}

#[test]
fn what_to_do_next_is_said_in_the_words_of_the_chat_and_of_an_older_build_as_it_wrote_it() {
    let outcome = Outcome::Failed { code: FailureCode::ContextWindow, message: "too long".to_owned() };
    let event = Event::Outcome(Box::new(Report::new(outcome, None, Usage::default(), 0)));
    let mut stored = serde_json::to_value(&event).unwrap();
    assert!(stored["hint"].as_str().unwrap().contains("/compact in the chat"), "{stored}");
    stored.as_object_mut().unwrap().remove("next_step");
    stored["hint"] = "shorten it somehow".into();
    let older: Event = serde_json::from_value(stored).unwrap();
    for (event, hint) in [(event, "hint: shorten it with /compact"), (older, "hint: shorten it somehow")] {
        let mut transcript = fed(LOOK, &numbered(1, vec![sample::turn_started(), event]));
        let shown = screen(&mut transcript, 80, 20);
        assert!(shown.contains(hint) && !shown.contains("in the chat"), "{shown}");
    }
}
