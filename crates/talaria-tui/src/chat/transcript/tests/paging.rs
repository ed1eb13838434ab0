//! Scrolling and memory: the window keeps its position, and dropped cells are restored unchanged.

use std::collections::BTreeSet;

use talaria_core::background::{BackgroundCommand, BackgroundEnd};
use talaria_core::ids::{BackgroundId, ItemId};
use talaria_core::item::{ItemBody, Status};

use super::holes::holes;
use super::*;
use talaria_render::sample;

const LOOK: Look = Look { color: false, width: None, live: true, unicode: true };

/// This many turns of five events each, with a command that prints this.
pub(super) fn turns(count: usize, output: &str) -> Vec<Numbered> {
    let turn = |n: usize| {
        let command = |status, exit, output| sample::command_body(&format!("cmd {n}"), status, exit, output);
        vec![
            sample::turn_started(),
            sample::began("c", command(Status::InProgress, None, None)),
            sample::ended("c", command(Status::Completed, Some(0), Some(output))),
            sample::ended("m", sample::message_body(&format!("answer {n}"), None)),
            sample::declined(0),
        ]
    };
    numbered(1, (1..=count).flat_map(turn).collect())
}

#[test]
fn a_background_command_whose_end_is_here_is_not_said_to_run_by_an_older_page() {
    let (id, item) = (BackgroundId::new("bg-1"), ItemId::new("c"));
    let command = BackgroundCommand {
        id: id.clone(),
        item: item.clone(),
        command: "serve".into(),
        cwd: "/".into(),
        process: None,
    };
    let (end, exit_code) = (BackgroundEnd::Exited, Some(3));
    let events = numbered(
        1,
        vec![
            sample::turn_started(),
            sample::began("c", sample::command_body("serve", Status::InProgress, None, None)),
            Event::BackgroundStarted(Box::new(command)),
            sample::declined(0),
            Event::BackgroundEnded { id, item, command: "serve".into(), end, exit_code },
        ],
    );
    let mut transcript = fed(LOOK, &events[4..]);
    transcript.prepend(5, events[..4].to_vec());
    let shown = screen(&mut transcript, 60, 12);
    assert!(!shown.contains("still running"), "{shown}");
    assert!(shown.contains("exit 3, in the background"), "{shown}");
}

/// Does what the chat does: fetches what is wanted, in pages.
fn fetch(transcript: &mut Transcript, events: &[Numbered], page: usize, view: &View) -> bool {
    let Some(before) = view.needs_older else { return false };
    let end = events.partition_point(|event| event.seq < before);
    transcript.prepend(before, events[end.saturating_sub(page)..end].to_vec());
    true
}

/// All rows, from the top, by scrolling down.
pub(super) fn all_rows(transcript: &mut Transcript, events: &[Numbered], page: usize) -> Vec<String> {
    transcript.scroll(Scroll::Top);
    while let now = view(transcript, 60, 10)
        && fetch(transcript, events, page, &now)
    {}
    let mut rows: Vec<String> = Vec::new();
    loop {
        let now = view(transcript, 60, 10);
        if fetch(transcript, events, page, &now) {
            continue;
        }
        rows.push(now.lines[0].text());
        if transcript.is_at_bottom() {
            rows.extend(now.lines[1..].iter().map(StyledLine::text));
            return rows;
        }
        transcript.scroll(Scroll::Down(1));
    }
}

#[test]
fn the_window_keeps_its_place_while_text_is_added_below() {
    let events = turns(40, "out");
    let mut transcript = fed(LOOK, &events[..100]);
    view(&mut transcript, 60, 10);
    transcript.scroll(Scroll::Up(7));
    let before = view(&mut transcript, 60, 10);
    assert!(before.above && before.below > 0);
    feed(&mut transcript, &events[100..]);
    let after = view(&mut transcript, 60, 10);
    assert_eq!(after.lines, before.lines);
    assert!(after.below > before.below);
    transcript.scroll(Scroll::Bottom);
    assert_eq!(view(&mut transcript, 60, 10).below, 0);
    feed(&mut transcript, &numbered(1000, vec![sample::text("n", "the very last")]));
    assert!(screen(&mut transcript, 60, 10).ends_with("the very last\n"));
}

#[test]
fn scrolling_up_and_down_again_comes_back() {
    let mut transcript = fed(LOOK, &turns(40, "out"));
    let bottom = view(&mut transcript, 60, 10);
    for scroll in [Scroll::PageUp, Scroll::Up(3), Scroll::PageUp] {
        transcript.scroll(scroll);
        view(&mut transcript, 60, 10);
    }
    for scroll in [Scroll::PageDown, Scroll::Down(3), Scroll::PageDown] {
        assert!(!transcript.is_at_bottom());
        transcript.scroll(scroll);
        view(&mut transcript, 60, 10);
    }
    assert!(transcript.is_at_bottom());
    assert_eq!(view(&mut transcript, 60, 10).lines, bottom.lines);
}

#[test]
fn pages_of_any_size_give_the_rows_of_the_whole() {
    let events = turns(30, "out");
    let mut whole = fed(LOOK, &events);
    let expected = all_rows(&mut whole, &events, 1);
    for page in [1, 2, 3, 7, 50] {
        // Times are unknown if the beginning of a turn was loaded after its end.
        let tail = events.len() - 8;
        let mut transcript = fed(LOOK, &events[tail..]);
        let rows = all_rows(&mut transcript, &events, page);
        let rows: Vec<&str> = rows.iter().map(|row| row.split(", 4.0s").next().unwrap()).collect();
        let expected: Vec<&str> = expected.iter().map(|row| row.split(", 4.0s").next().unwrap()).collect();
        assert_eq!(rows, expected, "pages of {page}");
    }
}

#[test]
fn repeated_events_change_nothing() {
    let events = turns(10, "out");
    let mut transcript = fed(LOOK, &events);
    let before = view(&mut transcript, 60, 30);
    feed(&mut transcript, &events);
    transcript.prepend(51, events);
    assert_eq!(view(&mut transcript, 60, 30), before);
}

#[test]
fn without_older_events_the_beginning_is_the_beginning() {
    let events = turns(10, "out");
    let mut transcript = fed(LOOK, &events[20..]);
    transcript.scroll(Scroll::Top);
    assert_eq!(view(&mut transcript, 60, 10).needs_older, Some(21));
    transcript.prepend(21, Vec::new());
    let now = view(&mut transcript, 60, 10);
    assert_eq!((now.needs_older, now.above), (None, false));
}

#[test]
fn pieces_of_one_message_in_two_pages_are_one_message() {
    let events: Vec<Event> =
        ["one ", "two ", "three ", "four"].map(|piece| sample::text("m", piece)).into_iter().collect();
    let events = numbered(1, events);
    let mut transcript = fed(LOOK, &events[2..]);
    assert_eq!(screen(&mut transcript, 60, 10), "… earlier events are being fetched\nthree four\n");
    transcript.prepend(3, events[..2].to_vec());
    assert_eq!(screen(&mut transcript, 60, 10), "one two three four\n");
}

#[test]
fn memory_is_bounded_and_what_went_comes_back() {
    let events = turns(1500, &"many words that take room\n".repeat(800));
    let mut transcript = fed(LOOK, &events);
    let weight = |transcript: &mut Transcript| -> usize { transcript.roll.cells().map(|c| c.weight()).sum() };
    let all: usize = events.iter().map(|event| serde_json::to_string(event).unwrap().len()).sum();
    assert!(all > 30_000_000);
    assert!(weight(&mut transcript) < 18_000_000, "{}", weight(&mut transcript));
    assert!(matches!(transcript.roll.get(0), Some(roll::Entry::Hole(hole)) if hole.last > 1000));
    // To the top: everything is fetched again, page by page, and the middle is dropped.
    transcript.scroll(Scroll::Top);
    while let now = view(&mut transcript, 60, 10)
        && fetch(&mut transcript, &events, 500, &now)
    {
        assert!(weight(&mut transcript) < 30_000_000);
    }
    assert!(screen(&mut transcript, 60, 10).starts_with("✓ cmd 1  (0.4s)\n  … 795 more lines (Ctrl-O)\n"));
    assert!(weight(&mut transcript) < 18_000_000);
    // And the end is where it was.
    transcript.scroll(Scroll::Bottom);
    assert!(screen(&mut transcript, 60, 10).ends_with("tokens: 9.6k in (4.8k cached), 12 out, 4.0s\n"));
    // On the way down nothing is missing or duplicated.
    transcript.scroll(Scroll::Top);
    let mut seen = BTreeSet::new();
    loop {
        let now = view(&mut transcript, 60, 1000);
        if fetch(&mut transcript, &events, 500, &now) {
            continue;
        }
        let rows = now.lines.iter().map(StyledLine::text);
        let answers: Vec<usize> = rows.filter_map(|row| row.strip_prefix("answer ")?.parse().ok()).collect();
        assert!(answers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{answers:?}");
        seen.extend(answers);
        if transcript.is_at_bottom() {
            break;
        }
        transcript.scroll(Scroll::Down(900));
    }
    let missing: Vec<usize> = (1..=1500).filter(|n| !seen.contains(n)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn only_what_is_near_the_view_is_laid_out() {
    let events = turns(2000, "out");
    let mut transcript = fed(LOOK, &events);
    view(&mut transcript, 60, 10);
    let laid = |transcript: &mut Transcript| transcript.roll.cells().filter(|cell| cell.is_laid()).count();
    assert!(laid(&mut transcript) < 20);
    for _ in 0..500 {
        transcript.scroll(Scroll::PageUp);
        view(&mut transcript, 60, 10);
    }
    assert!(laid(&mut transcript) < 250, "{}", laid(&mut transcript));
}

#[test]
fn words_of_the_chat_are_bounded_too() {
    // Running steps are kept, so only messages of the chat are dropped.
    let running = sample::began("c", sample::command_body("make", Status::InProgress, None, None));
    let mut transcript = fed(LOOK, &numbered(1, vec![sample::turn_started(), running]));
    for at in 0..400 {
        transcript.note(Note::new(Tone::Info, format!("{at} {}", "word ".repeat(15_000))));
    }
    let weight: usize = transcript.roll.cells().map(|cell| cell.weight()).sum();
    assert!(weight < 18_000_000, "{weight}");
    transcript.note(Note::new(Tone::Info, "the last"));
    assert!(screen(&mut transcript, 60, 10).ends_with("the last\n"));
    assert_eq!(holes(&transcript), [], "no event brings back what no event made");
}

/// The commands in their order, each with the sign of its state.
fn commands(transcript: &mut Transcript, events: &[Numbered]) -> Vec<String> {
    transcript.scroll(Scroll::Top);
    let mut rows: Vec<String> = Vec::new();
    loop {
        let now = view(transcript, 60, 1000);
        if fetch(transcript, events, 500, &now) {
            continue;
        }
        let shown: Vec<String> =
            now.lines.iter().map(StyledLine::text).filter(|row| row.contains(" cmd ")).collect();
        let known = shown.iter().position(|row| !rows.contains(row)).unwrap_or(shown.len());
        rows.extend_from_slice(&shown[known..]);
        if transcript.is_at_bottom() {
            return rows;
        }
        transcript.scroll(Scroll::Down(900));
    }
}

#[test]
fn what_was_let_go_of_comes_back_with_its_end() {
    let output = "many words that take room\n".repeat(800);
    // A command that began before the others and ends after them.
    let late = |status, exit| sample::command_body("cmd late", status, exit, None);
    let mut events = vec![sample::turn_started(), sample::began("late", late(Status::InProgress, None))];
    events.extend((0..1200).flat_map(|n| {
        let body = |status, exit, out| sample::command_body(&format!("cmd {n}"), status, exit, out);
        let id = format!("c-{n}");
        [
            sample::began(&id, body(Status::InProgress, None, None)),
            sample::output(&id, "many"),
            sample::ended(&id, body(Status::Completed, Some(0), Some(&output))),
        ]
    }));
    events.push(sample::ended("late", late(Status::Completed, Some(0))));
    events.extend((0..1000).map(|_| sample::reasoning("r", "x")));
    let events = numbered(1, events);
    let mut transcript = fed(LOOK, &events);
    assert_ne!(holes(&transcript), []);
    let commands = commands(&mut transcript, &events);
    let expected: Vec<String> = std::iter::once("✓ cmd late  (0.4s)".to_owned())
        .chain((0..1200).map(|n| format!("✓ cmd {n}  (0.4s)")))
        .collect();
    assert_eq!(commands, expected);
}

#[test]
fn what_comes_while_the_beginning_is_read_is_let_go_of_too() {
    let events = turns(1500, &"many words that take room\n".repeat(800));
    let mut transcript = fed(LOOK, &events[..100]);
    view(&mut transcript, 60, 10);
    transcript.scroll(Scroll::Top);
    let top = screen(&mut transcript, 60, 10);
    feed(&mut transcript, &events[100..]);
    let weight: usize = transcript.roll.cells().map(|cell| cell.weight()).sum();
    assert!(weight < 18_000_000, "{weight}");
    assert_eq!(screen(&mut transcript, 60, 10), top);
}

#[test]
fn a_folder_of_the_past_is_not_in_force() {
    let at = |folder: &str| match sample::session_started() {
        Event::SessionStarted(started) => {
            Event::SessionStarted(Box::new(Started { cwd: folder.into(), ..*started }))
        }
        other => other,
    };
    let patch = |id: &str, path: &str| {
        let mut changes = sample::changes();
        changes.truncate(1);
        changes[0].path = path.into();
        sample::ended(id, ItemBody::Patch { status: Status::Completed, changes })
    };
    let events = vec![
        at("/old"),
        sample::turn_started(),
        patch("p", "/old/a.rs"),
        sample::turn_started(),
        at("/new"),
        patch("q", "/new/b.rs"),
        patch("r", "/new/c.rs"),
    ];
    let events = numbered(1, events);
    let mut transcript = fed(LOOK, &events[4..6]);
    transcript.prepend(5, events[..4].to_vec());
    feed(&mut transcript, &events[6..]);
    let told = screen(&mut transcript, 60, 60);
    for name in ["✓ a.rs", "✓ b.rs", "✓ c.rs"] {
        assert!(told.contains(name), "{name}: {told}");
    }
}
