//! Input shown as queued is queued.

use talaria_core::event::QueuedInput;
use talaria_core::item::{Author, ItemBody};

use super::*;
use talaria_render::sample;

const LOOK: Look = Look { color: false, width: None, live: true, unicode: true };
const WAITS: &str = "queued";

fn queued(text: &str) -> Event {
    Event::Queued { waiting: 1, input: QueuedInput::text(text) }
}

fn queued_with(text: &str, image: &str) -> Event {
    let input = QueuedInput { text: text.into(), images: vec![image.into()] };
    Event::Queued { waiting: 1, input }
}

fn said(item: &str, text: &str) -> Event {
    let body = ItemBody::UserMessage {
        text: text.into(),
        attachments: Vec::new(),
        client_id: None,
        author: Author::Person,
    };
    sample::began(item, body)
}

fn unqueued(text: &str) -> Event {
    Event::Unqueued { inputs: vec![QueuedInput { text: text.into(), images: Vec::new() }], was_sent: false }
}

/// How many are said to wait after each event.
fn counts(events: &[Numbered]) -> Vec<usize> {
    let mut transcript = Transcript::new(LOOK);
    let mut count = |event: &Numbered| {
        feed(&mut transcript, std::slice::from_ref(event));
        screen(&mut transcript, 60, 30).matches(WAITS).count()
    };
    events.iter().map(&mut count).collect()
}

#[test]
fn a_message_waits_until_it_is_said() {
    let events = vec![
        sample::turn_started(),
        said("u", "twice"),
        queued("twice"),
        queued("twice"),
        queued_with("look", "/tmp/a.png"),
        sample::completed("done"),
        sample::turn_started(),
        said("u", "twice"),
        said("v", "other"),
        sample::completed("done"),
        sample::turn_started(),
        said("u", "twice"),
        said("v", "look"),
    ];
    assert_eq!(counts(&numbered(1, events)), [0, 0, 1, 2, 3, 3, 3, 2, 2, 2, 2, 1, 0]);
}

#[test]
fn a_message_with_an_image_is_not_taken_for_one_without() {
    // As it is written now, and as older builds wrote it.
    let now = queued_with("look [image a.png]", "/tmp/a.png");
    let before = r#"{"type":"queued","waiting":1,"text":"look [image a.png]\n[image /tmp/a.png]"}"#;
    for with_image in [now, serde_json::from_str(before).unwrap()] {
        let said = [said("u", "look"), said("v", "look [image a.png]")];
        let events: Vec<Event> = [sample::turn_started(), with_image].into_iter().chain(said).collect();
        assert_eq!(counts(&numbered(1, events.clone())), [0, 1, 1, 0]);
        let mut transcript = Transcript::new(LOOK);
        feed(&mut transcript, &numbered(1, events[..2].to_vec()));
        let shown = screen(&mut transcript, 80, 10);
        assert!(shown.contains("look [image a.png]") && !shown.contains("/tmp"), "{shown}");
    }
}

#[test]
fn what_is_taken_back_waits_no_longer() {
    let events = vec![sample::turn_started(), queued("one"), queued("two"), unqueued("one")];
    assert_eq!(counts(&numbered(1, events)), [0, 1, 2, 1]);
}

#[test]
fn in_whatever_pages_the_events_come_the_end_is_the_same() {
    let events = numbered(
        1,
        vec![
            sample::turn_started(),
            queued("one"),
            queued("two"),
            queued("three"),
            sample::completed("done"),
            sample::turn_started(),
            said("u", "one"),
            unqueued("two"),
        ],
    );
    for cut in 1..events.len() {
        let mut transcript = fed(LOOK, &events[cut..]);
        transcript.prepend(events[cut].seq, events[..cut].to_vec());
        assert_eq!(screen(&mut transcript, 60, 30).matches(WAITS).count(), 1, "cut at {cut}");
    }
}
