//! The turn machine: a line of the input is a frame of Codex, or a word for what else can happen.

use std::time::Duration;

use serde_json::json;
use talaria_codex_proto::frame::{Decoded, Frame, decode};
use talaria_codex_proto::settle::{Deed, Settlement};
use talaria_codex_proto::thread_bounds::ThreadBounds;
use talaria_codex_proto::thread_gate::ThreadGate;
use talaria_codex_proto::turn::{Choosing, Input, Order, Output, Turn};
use talaria_core::escrow::EscrowedAnswers;
use talaria_core::event::{Escalation, Usage};
use talaria_core::ids::{ThreadId, TicketId, TurnId};
use talaria_core::policy::Answers;
use talaria_core::request::Who;
use talaria_core::version::Version;
use talaria_guard::rules::Rules;

/// Nothing panics, and nothing follows the end of the turn.
pub fn check(bytes: &[u8]) {
    let order = Order {
        thread: ThreadId::new("t"),
        client_id: None,
        after: None,
        baseline: Usage::default(),
        limit: Some(Duration::from_secs(3600)),
        quiet_after: Some(Duration::from_secs(60)),
        escrow: EscrowedAnswers::default(),
        choosing: Choosing::default(),
        asks_hook: false,
        deed: Deed::default(),
        cwd: "/w".to_owned(),
        has_file: false,
        gate: ThreadGate::new(
            ThreadBounds::new(&json!({ "type": "readOnly" }), &json!("on-request"), "/w", version()),
            Rules::default(),
            Answers::Everything,
            Some("/home/me".to_owned()),
        ),
    };
    let mut now = Duration::ZERO;
    let mut turn = Turn::new(now, order);
    turn.handle(now, Input::Send);
    turn.handle(now, Input::Accepted(TurnId::new("u")));
    let mut is_over = false;
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let Some(input) = input(number, line) else {
            now += Duration::from_secs(30);
            continue;
        };
        turn.handle(now, input);
        while let Some(output) = turn.poll() {
            assert!(!is_over, "after the end: {output:?}");
            is_over = matches!(output, Output::Finish(..));
        }
    }
}

fn version() -> Version {
    "0.166.0".parse().expect("a version")
}

fn input(number: usize, line: &[u8]) -> Option<Input> {
    Some(match line {
        b"" => return None,
        b"interrupt" => Input::Interrupt { by: Who::User },
        b"gone" => Input::Gone("killed".to_owned()),
        b"tick" => Input::Tick,
        b"absent" => Input::Settled(Settlement::NotThere),
        b"running" => {
            Input::Settled(Settlement::Running { turn: TurnId::new("u"), found: Default::default() })
        }
        b"ended" => Input::Escalated(Escalation::HostEnded),
        b"terminals" => Input::TerminalsEnded(None),
        _ => match decode(line) {
            Decoded::Known(Frame::Notification(notification)) => {
                Input::Notification(notification.into_owned())
            }
            Decoded::Known(Frame::Request { id, request }) => {
                Input::Request { ticket: TicketId::new(format!("req-{number}")), id, request }
            }
            Decoded::Known(Frame::Response { .. }) => return None,
            Decoded::Unknown(unknown) => Input::Unknown(unknown),
            Decoded::Corrupt(corrupt) => Input::Corrupt(corrupt),
        },
    })
}
