//! What both importers make of a turn and its messages for the store.

use talaria_core::event::Event;
use talaria_core::outcome::Report;
use talaria_core::transcript::Message;
use talaria_store::{ImportedMessage, ImportedTurn, StoreError};

/// When a turn began and ended.
#[derive(Clone, Copy)]
pub(crate) struct TurnTimes {
    pub(crate) began: i64,
    pub(crate) ended: i64,
}

/// Makes a turn out of its report.
pub(crate) fn turn(
    client_id: String,
    prompt: String,
    report: &Report,
    times: TurnTimes,
    messages: Vec<ImportedMessage>,
) -> Result<ImportedTurn, StoreError> {
    Ok(ImportedTurn {
        client_id,
        input_text: prompt,
        outcome: json(report)?,
        outcome_kind: report.outcome.word().to_owned(),
        code: report.code.map(|code| code.to_string()),
        usage: json(&report.usage)?,
        event: json(&Event::Outcome(Box::new(report.clone())))?,
        created_at: times.began,
        settled_at: times.ended,
        messages,
    })
}

/// Makes a message; `text` is what a search finds.
pub(crate) fn message(
    key: String,
    message: &Message,
    text: String,
    at: i64,
) -> Result<ImportedMessage, StoreError> {
    let role = serde_json::to_value(message.role).map_err(|error| StoreError::Refused(error.to_string()))?;
    let role = role.as_str().unwrap_or_default().to_owned();
    Ok(ImportedMessage { key, role, text, json: json(message)?, at })
}

fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Refused(error.to_string()))
}
