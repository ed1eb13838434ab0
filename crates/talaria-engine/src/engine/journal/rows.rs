//! What changes in the rows when something happens: the event log and the rows say the same at every moment, because
//! both are written in one transaction. Pure.

use std::fmt::Write as _;
use std::path::Path;

use talaria_core::event::{Event, Stage};
use talaria_core::ids::{ItemId, SessionId};
use talaria_core::outcome::Report;
use talaria_core::request::{Ask, Decision};
use talaria_core::skill::usage::folders_read;
use talaria_core::transcript::{Message, Role};
use talaria_store::{Change, NewMessage, RequestPatch, RequestState, SessionPatch, SessionState, TurnPatch};

/// Row changes that an event causes in its turn and session. Requests are recorded elsewhere, where their
/// origin is known.
pub(crate) fn changes(ordinal: i64, event: &Event) -> Vec<Change> {
    let turn = |patch: TurnPatch| Change::Turn(TurnPatch { ordinal, ..patch });
    match event {
        // The row is written before the turn exists, and settled together with its outcome.
        Event::Ledger { stage: Stage::Prepared, after, .. } => vec![
            turn(TurnPatch { after_turn: after.clone(), ..TurnPatch::default() }),
            Change::Session(SessionPatch { state: Some(SessionState::Running), ..SessionPatch::default() }),
        ],
        Event::Ledger { stage: Stage::Settled, .. } => Vec::new(),
        Event::Ledger { stage, .. } => vec![turn(TurnPatch { stage: Some(*stage), ..TurnPatch::default() })],
        Event::TurnStarted { turn: id } => {
            vec![turn(TurnPatch { codex_turn: Some(id.clone()), ..TurnPatch::default() })]
        }
        Event::SessionStarted(started) => vec![Change::Session(SessionPatch {
            model: Some(started.model.clone()).filter(|model| !model.is_empty()),
            codex_version: started.codex_version().map(str::to_owned),
            started: serde_json::to_string(started).ok(),
            // Input that waited for its turn has one now.
            state: Some(SessionState::Running),
            ..SessionPatch::default()
        })],
        Event::SettingsConfirmed { model, .. } => vec![Change::Session(SessionPatch {
            model: Some(model.clone()).filter(|model| !model.is_empty()),
            ..SessionPatch::default()
        })],
        // Of an answer that is on its way its delivery is recorded, by who delivers it.
        Event::RequestClosed { id, decision: Decision::Void, .. } => {
            vec![Change::Request(RequestPatch::state(id.clone(), RequestState::Void))]
        }
        Event::Outcome(report) => vec![
            turn(settled(report)),
            Change::Session(SessionPatch { state: Some(SessionState::Idle), ..SessionPatch::default() }),
        ],
        _ => Vec::new(),
    }
}

/// The skills that a command read: Codex lists them, and its model opens them with a command.
pub(crate) fn skill_uses(item: &ItemId, command: &str, cwd: &str) -> Vec<Change> {
    let folders = folders_read(command).into_iter();
    let used = |folder: &str| Change::SkillUse {
        folder: Path::new(cwd).join(folder).to_string_lossy().into_owned(),
        step: item.to_string(),
    };
    folders.map(used).collect()
}

fn settled(report: &Report) -> TurnPatch {
    TurnPatch {
        stage: Some(Stage::Settled),
        outcome: serde_json::to_string(report).ok(),
        outcome_kind: Some(report.outcome.word().to_owned()),
        code: report.code.map(|code| code.to_string()),
        usage: serde_json::to_string(&report.usage).ok(),
        ..TurnPatch::default()
    }
}

/// The word that JSON has for a value that is one.
pub(crate) fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        other => format!("{other:?}"),
    }
}

/// The value that a word means.
pub(crate) fn value<T: serde::de::DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
}

/// The type of an event, from its JSON, which begins with it.
pub(crate) fn type_of(json: &str) -> String {
    let rest = json.strip_prefix(r#"{"type":""#).unwrap_or_default();
    rest.split('"').next().unwrap_or_default().to_owned()
}

/// The five kinds of question that scripts know.
pub(crate) fn kind(ask: &Ask) -> &'static str {
    match ask {
        Ask::Command { .. } | Ask::Stdin { .. } | Ask::Network { .. } => "command",
        Ask::Patch { .. } => "patch",
        Ask::Permissions { .. } | Ask::TaskPower { .. } | Ask::WebPage { .. } => "permissions",
        Ask::Input { .. } => "input",
        Ask::Elicitation { .. }
        | Ask::Tool { .. }
        | Ask::OwnTool { .. }
        | Ask::Host { .. }
        | Ask::Unsupported { .. } => "elicitation",
    }
}

/// A message of a turn. `unnamed` counts those without an item.
pub(crate) fn message(ordinal: i64, message: &Message, unnamed: &mut usize) -> NewMessage {
    let role = word(&message.role);
    let name = match message.sources.first() {
        Some(source) => format!("{}/{}", source.item, source.kind),
        None => {
            *unnamed += 1;
            format!("#{unnamed}")
        }
    };
    NewMessage {
        key: format!("{ordinal}/{role}/{name}"),
        turn: Some(ordinal),
        event: None,
        role,
        text: searched(message),
        json: serde_json::to_string(message).unwrap_or_default(),
    }
}

/// The input of a turn as a stored message.
pub(crate) fn prompt(ordinal: i64, text: &str) -> NewMessage {
    let message = Message::user(text);
    NewMessage {
        key: format!("{ordinal}/{}/said/1", word(&Role::User)),
        turn: Some(ordinal),
        event: None,
        role: word(&Role::User),
        text: searched(&message),
        json: serde_json::to_string(&message).unwrap_or_default(),
    }
}

/// Everything in a message that a search may find.
fn searched(message: &Message) -> String {
    let mut text = message.content.clone().unwrap_or_default();
    for call in &message.tool_calls {
        let _ = write!(text, "\n{} {}", call.function.name, call.function.arguments);
    }
    text.trim_start().to_owned()
}

/// One line of the event stream, decoded from its row.
pub(crate) fn line(session: &SessionId, seq: i64, at: i64, turn: Option<i64>, event: &str) -> String {
    let at = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
    let mut line = format!(r#"{{"session":"{session}","seq":{seq},"at":"{at}""#);
    if let Some(turn) = turn {
        let _ = write!(line, r#","turn_number":{turn}"#);
    }
    // An event is an object with at least its type.
    line.push(',');
    line.push_str(event.strip_prefix('{').unwrap_or(event));
    line
}

#[cfg(test)]
mod tests {
    use talaria_core::api::Numbered;
    use talaria_core::ids::ItemId;

    use super::*;

    #[test]
    fn a_line_is_the_event_with_its_place() {
        let event = Event::TextDelta { item: ItemId::new("i"), delta: "a \"b\"\n".to_owned() };
        let json = serde_json::to_string(&event).unwrap();
        let session = SessionId::new("s");
        for turn in [None, Some(3)] {
            let line = line(&session, 7, 1_700_000_000_123, turn, &json);
            let read: Numbered = serde_json::from_str(&line).unwrap();
            assert_eq!((read.session.as_str(), read.seq, read.turn), ("s", 7, turn));
            assert_eq!(read.at.as_millisecond(), 1_700_000_000_123);
            assert_eq!(type_of(&json), "text_delta");
            assert!(matches!(read.event, Event::TextDelta { delta, .. } if delta == "a \"b\"\n"));
        }
    }

    #[test]
    fn a_turn_is_settled_by_its_outcome_alone() {
        let ledger = |stage| Event::Ledger { stage, client_id: None, after: None };
        assert!(changes(1, &ledger(Stage::Settled)).is_empty());
        assert!(matches!(
            changes(1, &ledger(Stage::Sent)).as_slice(),
            [Change::Turn(TurnPatch { stage: Some(Stage::Sent), ordinal: 1, .. })]
        ));
        let report = Report::new(
            talaria_core::outcome::Outcome::Lost { why: "gone".to_owned() },
            None,
            talaria_core::event::Usage::default(),
            0,
        );
        let changed = changes(2, &Event::Outcome(Box::new(report)));
        assert!(matches!(
            changed.as_slice(),
            [
                Change::Turn(TurnPatch { stage: Some(Stage::Settled), outcome_kind: Some(kind), .. }),
                Change::Session(SessionPatch { state: Some(SessionState::Idle), .. })
            ] if kind == "lost"
        ));
    }

    #[test]
    fn messages_have_keys_of_their_own_and_calls_can_be_found() {
        let mut unnamed = 0;
        let keys: Vec<_> = (0..2).map(|_| message(4, &Message::assistant("x"), &mut unnamed).key).collect();
        assert_eq!(keys, ["4/assistant/#1", "4/assistant/#2"]);
        let mut call = Message::assistant("");
        call.tool_calls.push(talaria_core::transcript::ToolCall::new(
            "c",
            "shell",
            r#"{"command":"ls"}"#.to_owned(),
        ));
        assert_eq!(message(1, &call, &mut unnamed).text, r#"shell {"command":"ls"}"#);
        assert_eq!(prompt(2, "hello").key, "2/user/said/1");
    }
}
