//! Notes about missed parts are true: such a note is removed when its reason disappears.

use expect_test::expect;
use talaria_core::gap::{Gap, Missing};
use talaria_core::ids::ItemId;
use talaria_core::item::Status;

use super::*;
use talaria_render::sample;

const LOOK: Look = Look { color: false, width: None, live: true, unicode: true };

fn gap(missing: &[Missing], open: &[&str]) -> Event {
    let open: Vec<ItemId> = open.iter().map(|id| ItemId::new(*id)).collect();
    let message = talaria_core::gap::words(0, missing, open.len());
    Event::Gap(Gap { since: None, found: 0, open, missing: missing.to_vec(), message })
}

fn command(status: Status, output: Option<&str>) -> talaria_core::item::ItemBody {
    sample::command_body("make", status, output.map(|_| 0), output)
}

/// The note after each event from the gap on, one line each.
fn notes(before: Vec<Event>, after: Vec<Event>) -> String {
    let from = before.len();
    let events = numbered(1, before.into_iter().chain(after).collect());
    let mut transcript = fed(LOOK, &events[..from]);
    let mut told = String::new();
    for event in &events[from..] {
        feed(&mut transcript, std::slice::from_ref(event));
        let screen = screen(&mut transcript, 300, 30);
        told += screen.lines().find(|line| line.contains("was down")).unwrap_or("-");
        told += "\n";
    }
    told
}

#[test]
fn pieces_are_missing_until_the_message_is_whole() {
    let before = vec![sample::turn_started(), sample::text("m", "half ")];
    let after = vec![
        gap(&[Missing::Pieces], &[]),
        sample::text("m", "le."),
        sample::ended("m", sample::message_body("half and whole.", None)),
        sample::completed("half and whole."),
    ];
    expect![[r#"
        The engine was down for a while. No further step was found afterwards; pieces of text and output from that time may be missing
        The engine was down for a while. No further step was found afterwards; pieces of text and output from that time may be missing
        -
        -
    "#]]
    .assert_eq(&notes(before, after));
}

#[test]
fn what_is_never_told_whole_stays_missing() {
    let before = || {
        vec![
            sample::turn_started(),
            sample::began("c", command(Status::InProgress, None)),
            sample::output("c", "one\n"),
            sample::text("m", "half "),
        ]
    };
    // The message is left when the turn ends.
    let left = vec![
        gap(&[Missing::Pieces], &[]),
        sample::ended("c", command(Status::Completed, Some("one\ntwo\n"))),
        sample::interrupted(),
    ];
    expect![[r#"
        The engine was down for a while. No further step was found afterwards; pieces of text and output from that time may be missing
        The engine was down for a while. No further step was found afterwards; pieces of text and output from that time may be missing
        The engine was down for a while. No further step was found afterwards; pieces of text and output from that time may be missing
    "#]]
    .assert_eq(&notes(before(), left));
    // The command ends, and its end does not contain its output.
    let untold = vec![
        gap(&[Missing::Pieces], &[]),
        sample::ended("m", sample::message_body("half and whole.", None)),
        sample::ended("c", command(Status::Completed, None)),
        sample::completed("done"),
    ];
    expect![[r#"
        The engine was down for a while. No further step was found afterwards; pieces of text and output from that time may be missing
        The engine was down for a while. No further step was found afterwards; pieces of text and output from that time may be missing
        The engine was down for a while. No further step was found afterwards; pieces of text and output from that time may be missing
        The engine was down for a while. No further step was found afterwards; pieces of text and output from that time may be missing
    "#]]
    .assert_eq(&notes(before(), untold));
}

#[test]
fn each_part_of_the_note_goes_by_itself() {
    let before = vec![
        sample::turn_started(),
        sample::began("c", command(Status::InProgress, None)),
        sample::text("m", "half "),
    ];
    let after = vec![
        gap(&[Missing::Pieces, Missing::Steps, Missing::Ends], &["c"]),
        sample::ended("c", command(Status::Completed, Some("x"))),
        sample::ended("m", sample::message_body("half and whole.", None)),
        sample::completed("half and whole."),
    ];
    expect![[r#"
        The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output; a step had begun before, and whether it has ended is not known
        The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output
        The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing
        The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing
    "#]]
    .assert_eq(&notes(before, after));
}

#[test]
fn what_may_lie_in_a_hole_is_missing_until_it_was_looked_at() {
    let events = numbered(
        1,
        vec![
            sample::turn_started(),
            sample::text("lost", "never told whole"),
            sample::text("m", "half "),
            gap(&[Missing::Pieces], &[]),
            sample::ended("m", sample::message_body("half and whole.", None)),
            sample::interrupted(),
        ],
    );
    let is_said = |transcript: &mut Transcript| screen(transcript, 60, 30).contains("was down");
    for page in [3, 4, 5, 6] {
        let (older, here) = events.split_at(page - 1);
        let mut transcript = fed(LOOK, here);
        transcript.prepend(page as i64, older.to_vec());
        assert!(is_said(&mut transcript), "page of {page}");
    }
    let whole = events.iter().filter(|event| event.seq != 2).map(|event| event.event.clone());
    let whole = numbered(1, whole.collect());
    for page in [2, 3, 4, 5] {
        let (older, here) = whole.split_at(page - 1);
        let mut transcript = fed(LOOK, here);
        transcript.prepend(page as i64, older.to_vec());
        assert!(!is_said(&mut transcript), "page of {page}: {}", screen(&mut transcript, 60, 30));
    }
}

#[test]
fn where_something_is_missing_is_seen_until_it_is_here() {
    let events = vec![
        sample::turn_started(),
        sample::text("m", "wor"),
        sample::began("c", command(Status::InProgress, None)),
        sample::output("c", "one\n"),
        gap(&[Missing::Pieces], &[]),
        gap(&[Missing::Pieces], &[]),
        sample::text("m", "ful."),
        sample::output("c", "three\n"),
        sample::ended("m", sample::message_body("wonderful.", None)),
        sample::ended("c", command(Status::Completed, Some("one\ntwo\nthree\n"))),
    ];
    let events = numbered(1, events);
    let mut transcript = fed(LOOK, &events[..8]);
    let told = screen(&mut transcript, 60, 30);
    assert!(told.contains("wor … ful.") && told.contains("… three"), "{told}");
    feed(&mut transcript, &events[8..]);
    let told = screen(&mut transcript, 60, 30);
    assert!(told.contains("wonderful.") && !told.contains('…'), "{told}");
}
