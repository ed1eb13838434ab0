//! Reads an event of the engine: known, unknown, or corrupt.
//!
//! A newer engine that speaks the same API may send events that this build does not know. They keep their place in the
//! conversation and are shown as unknown, with all of their text; only what has no place is an error.

use serde::Deserialize;
use serde_json::value::RawValue;
use talaria_core::api::Numbered;
use talaria_core::event::Event;

/// The place of an event, whatever it is.
#[derive(Deserialize)]
struct EventPlace {
    session: talaria_core::ids::SessionId,
    seq: i64,
    at: jiff::Timestamp,
    #[serde(default)]
    turn: Option<i64>,
    r#type: String,
}

/// Reads one event.
pub(super) fn read(text: &str) -> Result<Numbered, serde_json::Error> {
    serde_json::from_str(text).or_else(|_| {
        let EventPlace { session, seq, at, turn, r#type } = serde_json::from_str(text)?;
        let raw: Box<RawValue> = serde_json::from_str(text)?;
        Ok(Numbered { session, seq, at, turn, event: Event::Unknown { method: r#type, raw } })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_a_newer_engine_keeps_its_place_and_its_text() {
        let text = r#"{"session":"s","seq":7,"at":"2026-11-16T04:00:00Z","turn":2,"type":"sung","song":["la",1.50]}"#;
        let read = read(text).unwrap();
        assert_eq!((read.session.as_str(), read.seq, read.turn), ("s", 7, Some(2)));
        let Event::Unknown { method, raw } = read.event else { panic!("{read:?}") };
        assert_eq!((method.as_str(), raw.get()), ("sung", text));
    }

    #[test]
    fn what_has_no_place_is_an_error() {
        for text in ["", "{", "[]", "{}", r#"{"session":"s","at":"2026-11-16T04:00:00Z","type":"warning"}"#] {
            read(text).unwrap_err();
        }
    }
}
