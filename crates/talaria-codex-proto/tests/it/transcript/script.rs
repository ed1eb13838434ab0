//! Items as Codex writes them, and messages as JSON, one a line.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use talaria_codex_proto::project;
use talaria_codex_proto::wire::item::WireItem;
use talaria_core::input::InputPart;
use talaria_core::item::Item;
use talaria_core::outcome::Outcome;
use talaria_core::transcript::{Message, ProjectionLimits, Projector, SentInput};

/// Reads an item.
pub(super) fn item(wire: &Value) -> Item {
    let raw = RawValue::from_string(wire.to_string()).unwrap();
    project::item(WireItem::read(&raw).unwrap())
}

pub(super) fn command(id: &str, output: &str) -> Value {
    json!({ "type": "commandExecution", "id": id, "command": format!("run {id}"), "cwd": "/w",
            "status": "completed", "exitCode": 0, "aggregatedOutput": output })
}

pub(super) fn says(id: &str, text: &str) -> Value {
    json!({ "type": "agentMessage", "id": id, "text": text })
}

pub(super) fn user(id: &str, text: &str) -> Value {
    json!({ "type": "userMessage", "id": id, "content": [{ "type": "text", "text": text }] })
}

pub(super) fn thinks(id: &str, text: &str) -> Value {
    json!({ "type": "reasoning", "id": id, "summary": [text], "content": [] })
}

/// An input that the caller sent.
pub(super) fn sent(text: &str) -> SentInput {
    SentInput::new(None, &[InputPart::Text { text: text.to_owned() }])
}

/// A turn that the caller opened with `go`.
pub(super) fn turn() -> Projector {
    let mut projector = Projector::new(ProjectionLimits::default());
    projector.sent(sent("go"));
    projector
}

/// Drains the messages.
pub(super) fn drain(projector: &mut Projector) -> Vec<Message> {
    std::iter::from_fn(|| projector.poll()).collect()
}

/// One message a line, without its sources.
pub(super) fn lines(messages: &[Message]) -> String {
    let line = |message: &Message| serde_json::to_string(message).unwrap() + "\n";
    messages.iter().map(line).collect()
}

/// The transcript of a successful turn with these items.
pub(super) fn projected(items: &[Value]) -> String {
    let mut projector = turn();
    items.iter().for_each(|wire| projector.complete(&item(wire)));
    projector.finish(&Outcome::Completed);
    lines(&drain(&mut projector))
}
