//! Events for the tests of this folder.

use serde_json::value::RawValue;
use talaria_core::event::{Event, PlanStatus, PlanStep, Started, Usage};
use talaria_core::ids::{ItemId, ThreadId, TicketId, TurnId};
use talaria_core::item::{FileAction, FileChange, Item, ItemBody, Status};
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::request::{Ask, Decision, Who};

use super::Look;

/// Neither colour nor terminal.
pub(crate) const PIPE: Look = Look { color: false, width: None, live: false, unicode: true };
/// A terminal of 80 columns.
pub(crate) const TERMINAL: Look = Look { color: true, width: Some(80), live: true, unicode: true };

const USAGE: Usage = Usage { input: 9600, cached: 4800, output: 12, reasoning: 0, total: 9612 };

pub(crate) fn session_started() -> Event {
    Event::SessionStarted(Started {
        thread: ThreadId::new("th-1"),
        cwd: "/home/me/project".into(),
        model: "gpt-5.5".into(),
        provider: "openai".into(),
        effort: Some("high".into()),
        sandbox: "workspace-write".into(),
        approval: "on-request".into(),
        codex: "0.166.0".into(),
        path: None,
    })
}

pub(crate) fn turn_started() -> Event {
    Event::TurnStarted { turn: TurnId::new("t-1") }
}

pub(crate) fn text(item: &str, delta: &str) -> Event {
    Event::TextDelta { item: ItemId::new(item), delta: delta.into() }
}

pub(crate) fn reasoning(item: &str, delta: &str) -> Event {
    Event::ReasoningDelta { item: ItemId::new(item), delta: delta.into() }
}

pub(crate) fn output(item: &str, delta: &str) -> Event {
    Event::OutputDelta { item: ItemId::new(item), delta: delta.into() }
}

pub(crate) fn began(item: &str, body: ItemBody) -> Event {
    Event::ItemStarted { item: Item { id: ItemId::new(item), body } }
}

pub(crate) fn ended(item: &str, body: ItemBody) -> Event {
    Event::ItemCompleted { item: Item { id: ItemId::new(item), body } }
}

pub(crate) fn message_body(text: &str, phase: Option<&str>) -> ItemBody {
    ItemBody::AgentMessage { text: text.into(), phase: phase.map(str::to_owned) }
}

pub(crate) fn command_body(
    command: &str,
    status: Status,
    exit_code: Option<i32>,
    output: Option<&str>,
) -> ItemBody {
    ItemBody::Command {
        command: command.into(),
        cwd: "/home/me/project".into(),
        status,
        exit_code,
        duration_ms: exit_code.map(|_| 430),
        output: output.map(str::to_owned),
    }
}

pub(crate) fn tool_body(error: Option<&str>) -> ItemBody {
    ItemBody::Tool {
        server: "docs".into(),
        tool: "search".into(),
        status: if error.is_some() { Status::Failed } else { Status::Completed },
        duration_ms: Some(61_000),
        error: error.map(str::to_owned),
    }
}

pub(crate) fn patch_body(status: Status) -> ItemBody {
    ItemBody::Patch { status, changes: changes() }
}

pub(crate) fn changes() -> Vec<FileChange> {
    let change = |path: &str, action, diff: &str| FileChange {
        path: path.into(),
        action,
        move_to: None,
        diff: diff.into(),
    };
    vec![
        change(
            "src/a.rs",
            FileAction::Update,
            "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,4 @@\n fn a() {\n-    old();\n+    new();\n+    newer();\n }\n",
        ),
        change("notes.md", FileAction::Add, "# Notes\n\ttabbed\n"),
        change("gone.txt", FileAction::Delete, "bye\n"),
    ]
}

pub(crate) fn ask_command(command: &str) -> Ask {
    Ask::Command {
        thread: ThreadId::new("th-1"),
        item: ItemId::new("c-1"),
        command: command.into(),
        cwd: Some("/home/me/project".into()),
        reason: Some("may I?\nsure".into()),
    }
}

pub(crate) fn ask_patch(changes: Option<Vec<FileChange>>) -> Ask {
    Ask::Patch {
        thread: ThreadId::new("th-1"),
        item: ItemId::new("p-1"),
        changes,
        reason: None,
        grant_root: Some("/etc".into()),
    }
}

pub(crate) fn ask_tool(description: Option<&str>, arguments: Option<&str>) -> Ask {
    Ask::Tool {
        thread: Some(ThreadId::new("th-1")),
        server: "docs\nx".into(),
        message: "Allow the docs MCP server to run tool \"write\"?".into(),
        description: description.map(str::to_owned),
        arguments: arguments.map(str::to_owned),
    }
}

pub(crate) fn ticket() -> TicketId {
    TicketId::new("req-0123456789ab")
}

pub(crate) fn opened(ask: Ask) -> Event {
    Event::RequestOpened { id: ticket(), ask }
}

pub(crate) fn closed(decision: Decision, by: Who) -> Event {
    Event::RequestClosed { id: ticket(), decision, by }
}

pub(crate) fn plan(first: PlanStatus) -> Event {
    let step = |step: &str, status| PlanStep { step: step.into(), status };
    Event::PlanUpdated {
        explanation: Some("two things".into()),
        steps: vec![step("look", first), step("leap", PlanStatus::Pending)],
    }
}

pub(crate) fn unknown(raw: &str) -> Event {
    let raw = RawValue::from_string(raw.to_owned()).unwrap();
    Event::Unknown { method: "item/new/thing".into(), raw }
}

pub(crate) fn completed(text: &str) -> Event {
    Event::Outcome(Report::new(Outcome::Completed, Some(text.into()), USAGE, 0))
}

pub(crate) fn declined(count: u32) -> Event {
    Event::Outcome(Report::new(Outcome::Completed, None, USAGE, count))
}

pub(crate) fn failed() -> Event {
    let outcome = Outcome::Failed { code: FailureCode::RateLimit, message: "429 Too Many Requests".into() };
    Event::Outcome(Report::new(outcome, Some("half".into()), USAGE, 0))
}

pub(crate) fn lost() -> Event {
    Event::Outcome(Report::new(Outcome::Lost { why: "codex was killed".into() }, None, USAGE, 0))
}

pub(crate) fn interrupted() -> Event {
    Event::Outcome(Report::new(Outcome::Interrupted { by: Who::User }, None, USAGE, 0))
}

pub(crate) fn one_of_each() -> Vec<Event> {
    let other = ItemBody::Other {
        name: "newKind".into(),
        raw: RawValue::from_string(r#"{"type":"newKind","n":1}"#.into()).unwrap(),
    };
    vec![
        session_started(),
        turn_started(),
        reasoning("r-1", "thinking"),
        text("m-1", "hello"),
        plan(PlanStatus::InProgress),
        began("c-1", command_body("touch x", Status::InProgress, None, None)),
        opened(ask_command("touch x")),
        closed(Decision::Accept, Who::User),
        output("c-1", "out\n"),
        ended("c-1", command_body("touch x", Status::Completed, Some(0), Some("out\n"))),
        opened(ask_patch(Some(changes()))),
        closed(Decision::Decline, Who::Nobody),
        ended("p-1", patch_body(Status::Declined)),
        ended("w-1", tool_body(None)),
        ended("o-1", other),
        ended("k-1", ItemBody::Compaction),
        Event::ItemAbandoned { item: ItemId::new("c-2") },
        Event::DiffUpdated { diff: "+x".into() },
        Event::UsageUpdated { turn: USAGE, context: 5, window: Some(10) },
        Event::Retrying { message: "Reconnecting… 1/5".into() },
        Event::Warning { message: "careful".into() },
        Event::Interrupting { by: Who::User },
        Event::Steered { turn: TurnId::new("t-1") },
        unknown(r#"{"id":1,"method":"item/new/thing"}"#),
        Event::Corrupt { reason: "not UTF-8".into(), bytes: 7 },
        interrupted(),
    ]
}
