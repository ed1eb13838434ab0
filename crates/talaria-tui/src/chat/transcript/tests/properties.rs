//! Invariants for any events, in any window, in any chunking.

use proptest::prelude::*;
use talaria_core::event::{AgentPhase, PlanStatus};
use talaria_core::ids::{ItemId, ThreadId, TicketId};
use talaria_core::item::{Author, FileAction, FileChange, ItemBody, Status};
use talaria_core::request::{Decision, Who};

use super::*;
use talaria_render::sample;

const LOOKS: [Look; 2] = [sample::TERMINAL, Look { color: false, width: None, live: true, unicode: false }];

/// Text that could do harm: to the terminal, to the order of what is read, to widths.
fn words() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("word "),
        Just("\n"),
        Just("```rust\n"),
        Just("```\n"),
        Just("| a | b |\n"),
        Just("|---|\n"),
        Just("**"),
        Just("`"),
        Just("- "),
        Just("> "),
        Just("# "),
        Just("世界"),
        Just("e\u{301}\u{302}"),
        Just("👩\u{200d}🚀"),
        Just("🇩🇪"),
        Just("✔\u{fe0f}"),
        Just("שלום"),
        Just("السلام لا"),
        Just("\u{202e}"),
        Just("\u{200b}"),
        Just("\u{1b}[2J"),
        Just("\r"),
        Just("\t"),
        Just("&#27;"),
        Just("averyveryverylongwordwithoutanyspaces"),
        Just("क्षि"),
        Just("각"),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn body() -> impl Strategy<Value = ItemBody> {
    let status = || {
        prop::sample::select(vec![Status::InProgress, Status::Completed, Status::Failed, Status::Declined])
    };
    let changes = |diff: String| {
        let change = |action| FileChange { path: diff.clone(), action, move_to: None, diff: diff.clone() };
        vec![change(FileAction::Update), change(FileAction::Add)]
    };
    (words(), status()).prop_flat_map(move |(text, status)| {
        prop::sample::select(vec![
            ItemBody::UserMessage {
                text: text.clone(),
                attachments: Vec::new(),
                client_id: None,
                author: Author::Person,
            },
            sample::message_body(&text, None),
            sample::message_body(&text, Some("commentary")),
            ItemBody::Reasoning { summary: vec![text.clone()], content: Vec::new() },
            ItemBody::Plan { text: text.clone() },
            sample::command_body(&text, status, Some(1), Some(&text)),
            ItemBody::Patch { status, changes: changes(text.clone()) },
            sample::tool_body(Some(&text)),
            ItemBody::HookPrompt { text: text.clone() },
            ItemBody::ImageView { path: text.clone() },
        ])
    })
}

fn event() -> impl Strategy<Value = Event> {
    let item = || prop::sample::select(vec!["a", "b", "c"]);
    prop_oneof![
        (item(), words()).prop_map(|(item, text)| sample::text(item, &text)),
        (item(), words()).prop_map(|(item, text)| sample::reasoning(item, &text)),
        (item(), words()).prop_map(|(item, text)| sample::output(item, &text)),
        (item(), body()).prop_map(|(item, body)| sample::began(item, body)),
        (item(), body()).prop_map(|(item, body)| sample::ended(item, body)),
        item().prop_map(|item| Event::ItemAbandoned { item: ItemId::new(item), why: None }),
        (item(), words())
            .prop_map(|(item, message)| Event::ToolProgress { item: ItemId::new(item), message }),
        words().prop_map(|message| Event::Warning { message }),
        words().prop_map(|text| Event::RequestOpened {
            id: TicketId::new("r"),
            ask: Box::new(sample::ask_command(&text)),
            digest: None,
            place: None,
        }),
        Just(Event::RequestClosed {
            id: TicketId::new("r"),
            decision: Decision::Accept,
            by: Who::User,
            why: None
        }),
        words().prop_map(|thread| Event::AgentUpdated {
            thread: ThreadId::new(thread),
            phase: AgentPhase::Running
        }),
        Just(sample::plan(PlanStatus::Completed)),
        Just(sample::turn_started()),
        Just(sample::session_started()),
        words().prop_map(|text| sample::completed(&text)),
        Just(sample::unknown(r#"{"method":"x"}"#)),
        Just(Event::Compacted),
    ]
}

fn movement() -> impl Strategy<Value = Option<Scroll>> {
    prop::sample::select(vec![
        None,
        Some(Scroll::Up(1)),
        Some(Scroll::Down(2)),
        Some(Scroll::PageUp),
        Some(Scroll::PageDown),
        Some(Scroll::Top),
        Some(Scroll::Bottom),
    ])
}

fn check(view: &View, width: u16, height: u16) {
    assert!(view.lines.len() <= usize::from(height), "{} rows in {height}", view.lines.len());
    for line in &view.lines {
        assert!(line.width() <= usize::from(width), "{} in {width}: {line:?}", line.width());
        let text = line.text();
        assert!(!text.contains(|c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{200b}')), "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_event_in_any_window_breaks_the_screen(
        events in prop::collection::vec((event(), movement()), 1..24),
        width in 1_u16..200,
        height in 0_u16..40,
        first in 1_i64..40,
        cut in 0_usize..24,
        look in prop::sample::select(LOOKS.to_vec()),
    ) {
        let (events, moves): (Vec<Event>, Vec<Option<Scroll>>) = events.into_iter().unzip();
        let events = numbered(first, events);
        let cut = cut.min(events.len());
        let mut transcript = Transcript::new(look);
        transcript.said("typed", &[]);
        for (event, movement) in events[cut..].iter().zip(&moves) {
            transcript.take(Duration::from_secs(event.seq as u64), event);
            movement.iter().for_each(|movement| transcript.scroll(*movement));
            check(&transcript.view(width, height, Duration::from_secs(100)), width, height);
        }
        transcript.toggle_fold(Fold::All);
        check(&view(&mut transcript, width, height), width, height);
        transcript.prepend(first + cut as i64, events[..cut].to_vec());
        transcript.scroll(Scroll::Top);
        check(&view(&mut transcript, width, height), width, height);
        check(&view(&mut transcript, 200 - width, height), 200 - width, height);
    }

    #[test]
    fn any_chunking_gives_the_same_rows(
        text in words(),
        output in words(),
        cuts in prop::collection::vec(0_usize..400, 0..6),
        width in 1_u16..120,
        is_looked_at in any::<bool>(),
    ) {
        let pieces = |text: &str| -> Vec<String> {
            let mut cuts: Vec<usize> =
                cuts.iter().map(|cut| text.floor_char_boundary((*cut).min(text.len()))).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            cuts.windows(2).map(|pair| text[pair[0]..pair[1]].to_owned()).collect()
        };
        let show = |texts: Vec<String>, outputs: Vec<String>| {
            let mut transcript = Transcript::new(sample::TERMINAL);
            let mut events = vec![sample::turn_started()];
            let running = sample::command_body("x", Status::InProgress, None, None);
            events.push(sample::began("c", running));
            events.extend(outputs.iter().map(|piece| sample::output("c", piece)));
            events.extend(texts.iter().map(|piece| sample::text("m", piece)));
            for event in numbered(1, events) {
                transcript.take(Duration::ZERO, &event);
                if is_looked_at {
                    transcript.view(width, 30, Duration::ZERO);
                }
            }
            transcript.set_clock(Duration::ZERO, Timestamp::from_second(1_700_000_100).unwrap());
            transcript.view(width, 200, Duration::ZERO)
        };
        let whole = show(vec![text.clone()], vec![output.clone()]);
        prop_assert_eq!(show(pieces(&text), pieces(&output)).lines, whole.lines);
    }
}
