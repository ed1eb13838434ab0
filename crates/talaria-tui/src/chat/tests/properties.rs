//! Invariants for any inputs and news in windows of any size.

use proptest::prelude::*;
use talaria_core::api::TaskCounts;
use talaria_core::request::{Decision, Who};

use super::super::contract::PromptDraft;
use super::*;

#[derive(Clone, Debug)]
enum Step {
    Key(KeyPress),
    Write(String),
    Paste(String),
    Ask(u8, u8),
    Close(u8),
    Event(u8),
    Told(u8),
    Wait(u16),
    Resize(u16, u16),
    Draw,
}

fn step() -> impl Strategy<Value = Step> {
    let names = [
        "Enter",
        "Esc",
        "Tab",
        "Backspace",
        "Up",
        "Down",
        "Home",
        "End",
        "PageUp",
        "PageDown",
        "F1",
        "F2",
        "F3",
        "Ctrl-g",
        "Ctrl-c",
        "Ctrl-o",
        "Alt-o",
        "Ctrl-r",
        "Shift-Up",
        "Ctrl-Home",
        "Ctrl-End",
        "y",
        "s",
        "a",
        "n",
        "r",
        "x",
        "1",
        "?",
        "/",
        "@",
        "!",
        "Space",
    ];
    prop_oneof![
        8 => proptest::sample::select(names.to_vec()).prop_map(|name| Step::Key(key(name))),
        2 => "[a-z世🇩🇪\u{202e}\n /@!]{0,12}".prop_map(Step::Write),
        1 => "\\PC{0,40}".prop_map(Step::Paste),
        3 => (0u8..4, 0u8..8).prop_map(|(id, kind)| Step::Ask(id, kind)),
        1 => (0u8..4).prop_map(Step::Close),
        2 => (0u8..8).prop_map(Step::Event),
        2 => (0u8..11).prop_map(Step::Told),
        2 => (0u16..3000).prop_map(Step::Wait),
        1 => (0u16..100, 0u16..40).prop_map(|(columns, rows)| Step::Resize(columns, rows)),
        4 => Just(Step::Draw),
    ]
}

fn ask(kind: u8) -> Ask {
    match kind {
        0 => sample::ask_command("ls"),
        1 => sample::ask_command(&"long \u{202e}line\n".repeat(50)),
        2 => sample::ask_wide_command("/etc/世"),
        3 => sample::ask_patch(Some(sample::changes())),
        4 => sample::ask_form(""),
        5 => sample::ask_url(""),
        6 => sample::ask_network(""),
        _ => sample::ask_input(vec![
            sample::question("q", "Which?", &["A", "B"]),
            sample::question("t", "What?", &[]),
        ]),
    }
}

fn event(kind: u8) -> Event {
    match kind {
        0 => sample::session_started(),
        1 => sample::turn_started(),
        2 => sample::text("m", "some *text*\n"),
        3 => sample::began(
            "c",
            sample::command_body("make", talaria_core::item::Status::InProgress, None, None),
        ),
        4 => sample::output("c", "line\n"),
        5 => Event::Queued { waiting: 1, input: talaria_core::event::QueuedInput::text("x") },
        6 => Event::Unqueued { inputs: Vec::new(), was_sent: false },
        _ => sample::completed("done"),
    }
}

fn told(kind: u8) -> News {
    let refused = |ticket: Option<&str>, prompt| News::Refused {
        what: "no\nway".into(),
        prompt,
        ticket: ticket.map(TicketId::new),
    };
    let prompt = PromptDraft { text: "back".into(), images: vec!["/a.png".into()] };
    match kind {
        0 => News::Started { session: session(), turn: 1 },
        1 => News::Opened(None),
        2 => News::Away,
        3 => News::Offers(offers()),
        4 => refused(None, Some(prompt)),
        5 => refused(Some("r-1"), None),
        6 => News::Waiting {
            requests: vec![of_task("r-9", "世")],
            tasks: TaskCounts::default(),
            background: 0,
        },
        7 => News::Waiting { requests: Vec::new(), tasks: TaskCounts::default(), background: 0 },
        8 => News::ShellOutput("out\n".into()),
        9 => News::Names { sessions: Vec::new(), tasks: Vec::new() },
        _ => News::Pick { title: "t".into(), rows: Vec::new() },
    }
}

/// Does one step; returns whether an answer was wished for.
fn take(play: &mut Play, step: &Step) -> bool {
    match step {
        Step::Key(key) => drop(play.key(*key)),
        Step::Write(text) => drop(play.write(text)),
        Step::Paste(text) => drop(play.paste(text)),
        Step::Ask(id, kind) => drop(play.asked(&format!("r-{id}"), ask(*kind))),
        Step::Close(id) => {
            let id = TicketId::new(format!("r-{id}"));
            play.event(Event::RequestClosed { id, decision: Decision::Decline, by: Who::User, why: None });
        }
        Step::Event(kind) => drop(play.event(event(*kind))),
        Step::Told(kind) => drop(play.news(told(*kind))),
        Step::Wait(milliseconds) => drop(play.wait(u64::from(*milliseconds))),
        Step::Resize(columns, rows) => play.size = (*columns, *rows),
        Step::Draw => drop(play.screen()),
    }
    play.chat.wishes().iter().any(|wish| matches!(wish, ChatEffect::Answer { .. }))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_frame_always_fits_its_window(steps in proptest::collection::vec(step(), 0..60)) {
        let mut play = play();
        for step in &steps {
            take(&mut play, step);
            let (columns, rows) = play.size;
            let frame = play.chat.frame(columns, rows, play.now);
            prop_assert_eq!(frame.lines.len(), usize::from(rows));
            for line in &frame.lines {
                prop_assert!(line.width() <= usize::from(columns), "{:?}", line.text());
                prop_assert!(!line.text().contains(char::is_control), "{:?}", line.text());
            }
            if let Some((column, row)) = frame.cursor {
                prop_assert!(column < columns && row < rows);
            }
        }
    }

    #[test]
    fn no_letter_answers_while_something_is_typed_or_before_the_request_was_seen(
        steps in proptest::collection::vec(step(), 0..60),
    ) {
        let mut play = play();
        play.running();
        // The content of the last drawn screen.
        let mut drawn: Option<(Duration, String)> = None;
        for step in &steps {
            let is_line = play.chat.composer.is_busy()
                && !play.chat.panel.as_ref().is_some_and(super::super::Panel::has_keyboard);
            let shown = play.chat.panel.as_ref().map(|panel| panel.ticket().to_string());
            let now = play.now;
            let was_answered = take(&mut play, step);
            if was_answered {
                let is_command = matches!(step, Step::Key(KeyPress { code: Code::Enter, .. }));
                prop_assert!(!is_line || is_command, "typed: {step:?}");
                prop_assert!(!matches!(step, Step::Paste(_)), "pasted");
                let (since, ticket) = drawn.clone().expect("it was never on the screen");
                prop_assert_eq!(Some(&ticket), shown.as_ref(), "another request was on the screen");
                prop_assert!(is_command || now >= since + Duration::from_millis(500), "too early");
            }
            if matches!(step, Step::Draw) {
                let shown = play.chat.panel.as_ref().map(|panel| panel.ticket().to_string());
                drawn = match (drawn, shown) {
                    (Some((since, old)), Some(new)) if old == new => Some((since, old)),
                    (_, Some(new)) => Some((play.now, new)),
                    (_, None) => None,
                };
            }
        }
    }
}
