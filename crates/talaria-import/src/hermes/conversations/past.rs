//! Rows of the table of messages as turns that are over: redacted, bounded, in order.
//!
//! A user message begins a turn. A turn that ends with a message of the model is completed; the outcome of any other
//! is unknown, and it is lost.

use serde_json::Value;
use serde_json::value::RawValue;

use talaria_core::event::Usage;
use talaria_core::outcome::{Outcome, Report};
use talaria_core::transcript::{Message, ProjectionLimits, Role, ToolCall, cap};
use talaria_guard::redact::{redact, redact_json};

/// Maximum number of bytes of a message.
pub(super) const LONGEST_TEXT: usize = 1024 * 1024;
/// Maximum number of bytes of a call's arguments; longer ones are only counted.
const LONGEST_ARGUMENTS: usize = 64 * 1024;
/// How many messages a turn has at most: more become another one, because the messages of one are read at once.
const MOST_MESSAGES: usize = 200;
/// With what content begins that is not text but JSON.
const AS_JSON: &str = "\0json:";

/// A row of the table of messages. Times are milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// Its number; later ones are greater.
    pub(super) id: i64,
    /// Who speaks.
    pub(super) role: String,
    /// The text.
    pub(super) content: Option<String>,
    /// The calls of an assistant, as JSON.
    pub(super) calls: Option<String>,
    /// The call that a tool answers.
    pub(super) call: Option<String>,
    /// Reasoning before the message.
    pub(super) reasoning: Option<String>,
    pub(super) at: i64,
}

/// A message to import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PastMessage {
    /// The number of its row.
    pub(super) id: i64,
    /// When it was said.
    pub(super) at: i64,
    /// The text.
    pub(super) message: Message,
}

/// A turn that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PastTurn {
    /// The messages, in order; at least one.
    pub(super) messages: Vec<PastMessage>,
    /// Its outcome.
    pub(super) report: Report,
}

impl PastTurn {
    pub(super) fn prompt(&self) -> &str {
        let asked = self.messages.iter().find(|kept| kept.message.role == Role::User);
        asked.and_then(|kept| kept.message.content.as_deref()).unwrap_or_default()
    }

    /// When it began and ended.
    pub(super) fn times(&self) -> (i64, i64) {
        let times = self.messages.iter().map(|kept| kept.at);
        (times.clone().min().unwrap_or_default(), times.max().unwrap_or_default())
    }
}

/// Reads a row. `None` for one that is not part of the conversation: a system prompt, a note of the program, an empty
/// answer.
pub(super) fn message(row: &Row) -> Option<PastMessage> {
    let content = row.content.as_deref().map(words).filter(|text| !text.trim().is_empty());
    let clean = |text: &str, limit: usize| cap(&redact(text), limit).into_owned();
    let text = |limit: usize| content.as_deref().map(|text| clean(text, limit));
    let message = match row.role.as_str() {
        "user" => Message::user(text(LONGEST_TEXT)?),
        "assistant" => {
            let calls = row.calls.as_deref().map(calls).unwrap_or_default();
            let reasoning = row.reasoning.as_deref().filter(|text| !text.trim().is_empty());
            let message = Message {
                content: text(LONGEST_TEXT),
                tool_calls: calls,
                reasoning: reasoning.map(|text| clean(text, ProjectionLimits::default().output)),
                ..Message::assistant("")
            };
            let is_empty = message.content.is_none() && message.tool_calls.is_empty();
            (!is_empty || message.reasoning.is_some()).then_some(message)?
        }
        "tool" => {
            let call = redact(row.call.as_deref().unwrap_or_default()).into_owned();
            Message::tool(call, text(ProjectionLimits::default().output).unwrap_or_default())
        }
        _ => return None,
    };
    Some(PastMessage { id: row.id, at: row.at, message })
}

/// Groups messages into turns, in order.
pub(super) fn turns(messages: Vec<PastMessage>) -> Vec<PastTurn> {
    let mut turns: Vec<Vec<PastMessage>> = Vec::new();
    for kept in messages {
        let begins = kept.message.role == Role::User
            && turns.last().is_some_and(|turn| turn.iter().any(|kept| kept.message.role != Role::User));
        match turns.last_mut() {
            Some(turn) if !begins && turn.len() < MOST_MESSAGES => turn.push(kept),
            _ => turns.push(vec![kept]),
        }
    }
    let count = turns.len();
    let reports: Vec<Report> = (0..count).map(|n| report(&turns[n], turns.get(n + 1))).collect();
    let turn = |(messages, report)| PastTurn { messages, report };
    turns.into_iter().zip(reports).map(turn).collect()
}

fn report(turn: &[PastMessage], next: Option<&Vec<PastMessage>>) -> Report {
    // A turn that was divided because of its length.
    let goes_on = next.and_then(|next| next.first()).is_some_and(|first| first.message.role != Role::User);
    let answer = turn.last().map(|kept| &kept.message);
    let answer = answer.filter(|last| last.role == Role::Assistant && last.tool_calls.is_empty());
    let text = answer.and_then(|last| last.content.clone());
    let outcome = match &text {
        None if !goes_on => Outcome::Lost { why: "Hermes kept no answer to this".to_owned() },
        _ => Outcome::Completed,
    };
    Report::new(outcome, text, Usage::default(), 0)
}

/// The words of a content: text as it is, the texts out of a list of parts, a note for everything else.
fn words(content: &str) -> String {
    let Some(json) = content.strip_prefix(AS_JSON) else { return content.to_owned() };
    match serde_json::from_str::<Value>(json) {
        Ok(Value::Array(parts)) => parts.iter().map(part).collect::<Vec<_>>().join("\n"),
        Ok(other) => part(&other),
        Err(_) => json.to_owned(),
    }
}

fn part(part: &Value) -> String {
    let field = |name: &str| part.get(name).and_then(Value::as_str);
    match (part, field("text"), field("type")) {
        (Value::String(text), ..) => text.clone(),
        (_, Some(text), _) => text.to_owned(),
        // An image is a megabyte of data that cannot be read.
        (_, None, Some(kind)) => format!("[{kind}]"),
        (other, None, None) => other.to_string(),
    }
}

fn calls(json: &str) -> Vec<ToolCall> {
    let Ok(Value::Array(calls)) = serde_json::from_str::<Value>(json) else { return Vec::new() };
    calls.iter().filter_map(call).collect()
}

fn call(call: &Value) -> Option<ToolCall> {
    let function = call.get("function").unwrap_or(call);
    let name = function.get("name").and_then(Value::as_str)?;
    let id = call.get("id").or_else(|| call.get("call_id")).and_then(Value::as_str).unwrap_or_default();
    let arguments = match function.get("arguments") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "{}".to_owned(),
    };
    let arguments = match RawValue::from_string(arguments) {
        Ok(raw) => redact_json(&raw).get().to_owned(),
        // Not JSON, whatever it is; a text is.
        Err(_) => {
            Value::String(redact(function["arguments"].as_str().unwrap_or_default()).into_owned()).to_string()
        }
    };
    let arguments = match arguments.len() {
        0..=LONGEST_ARGUMENTS => arguments,
        length => format!(r#"{{"bytes_left_out":{length}}}"#),
    };
    Some(ToolCall::new(redact(id).into_owned(), redact(name).into_owned(), arguments))
}
