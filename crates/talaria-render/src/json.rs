//! One JSON object per line: the whole output of `--json`.
//!
//! `type`, `session` and `seq` are first, then time and turn, then the event's own fields: the same data as in the
//! engine's API. The form is a contract with scripts. A reader that went away shows as the `io::Error` of the call
//! that noticed it.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use talaria_core::api::Numbered;
use talaria_core::event::Event;
use talaria_core::ids::SessionId;
use talaria_core::json_line::escape_breaks;
use talaria_core::outcome::Report;

use super::Renderer;

const BUFFER: usize = 64 * 1024;

/// Writes every event as a line of JSON.
pub struct JsonLines<W: Write> {
    out: BufWriter<W>,
    session: SessionId,
    line: Vec<u8>,
}

impl<W: Write> JsonLines<W> {
    /// Starts a stream for a session.
    pub fn new(out: W, session: &SessionId) -> Self {
        Self { out: BufWriter::with_capacity(BUFFER, out), session: session.clone(), line: Vec::new() }
    }

    fn write(&mut self, event: &Event, stamp: &Stamp<'_>) -> io::Result<()> {
        let exit = match event {
            Event::Outcome(report) => Some(report.exit_code()),
            _ => None,
        };
        self.write_with(event, exit, stamp)
    }

    fn write_with(&mut self, event: &Event, exit: Option<u8>, stamp: &Stamp<'_>) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, event)?;
        if let Some(exit) = exit {
            add_exit(&mut self.line, exit);
        }
        escape_breaks(&mut self.line);
        // The stamp is spliced in after the tag, which serde writes first and which holds neither sign. A wrapper
        // with `serde(flatten)` would produce the same line at several times the cost.
        let tag = self.line.iter().position(|byte| matches!(byte, b',' | b'}')).unwrap_or(self.line.len());
        let (tag, fields) = self.line.split_at(tag);
        self.out.write_all(tag)?;
        let mut stamp = serde_json::to_vec(stamp)?;
        escape_breaks(&mut stamp);
        self.out.write_all(b",")?;
        self.out.write_all(&stamp[1..stamp.len() - 1])?;
        self.out.write_all(fields)?;
        self.out.write_all(b"\n")
    }
}

/// Adds the exit code as the last field of a JSON object.
fn add_exit(json: &mut Vec<u8>, exit: u8) {
    if json.pop_if(|last| *last == b'}').is_some() {
        json.extend_from_slice(format!(",\"exit\":{exit}}}").as_bytes());
    }
}

/// Adds the exit code to `outcome` fields that contain one of the reports. `json` is an object with these reports, as serde
/// writes it: the API has no exit codes, `--json` of a command line does.
pub fn with_exit<'a>(mut json: String, reports: impl IntoIterator<Item = &'a Report>) -> String {
    for report in reports {
        let Ok(bare) = serde_json::to_vec(report) else { continue };
        let mut printed = bare.clone();
        add_exit(&mut printed, report.exit_code());
        // No string contains this text: a quotation mark in a string is escaped.
        let field = |report: Vec<u8>| format!("\"outcome\":{}", String::from_utf8_lossy(&report));
        json = json.replace(&field(bare), &field(printed));
    }
    json
}

/// The fields of every line that are not the event's.
#[derive(Serialize)]
struct Stamp<'a> {
    session: &'a SessionId,
    /// `null` for what the engine did not write down.
    seq: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_number: Option<i64>,
}

impl<W: Write> Renderer for JsonLines<W> {
    fn event(&mut self, _now: Duration, event: &Event) -> io::Result<()> {
        let session = self.session.clone();
        self.write(event, &Stamp { session: &session, seq: None, at: None, turn_number: None })
    }

    fn numbered(&mut self, _now: Duration, numbered: &Numbered) -> io::Result<()> {
        let Numbered { session, seq, at, turn, event } = numbered;
        self.write(event, &Stamp { session, seq: Some(*seq), at: Some(*at), turn_number: *turn })
    }

    fn left(&mut self, report: &Report, exit: u8) -> io::Result<()> {
        let session = self.session.clone();
        let stamp = Stamp { session: &session, seq: None, at: None, turn_number: None };
        self.write_with(&Event::Outcome(Box::new(report.clone())), Some(exit), &stamp)
    }

    fn tick(&mut self, _now: Duration) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::Value;
    use talaria_core::outcome::Outcome;
    use talaria_core::usage::Usage;

    use super::super::sample;
    use super::*;

    fn numbered(seq: i64, event: &Event) -> Numbered {
        let (session, at) = (SessionId::new("s-1"), Timestamp::UNIX_EPOCH);
        Numbered { session, seq, at, turn: Some(2), event: event.clone() }
    }

    fn lines(events: &[Event]) -> String {
        let mut bytes = Vec::new();
        let mut json = JsonLines::new(&mut bytes, &SessionId::new("s-1"));
        for (seq, event) in (1..).zip(events) {
            json.numbered(Duration::ZERO, &numbered(seq, event)).unwrap();
        }
        json.flush().unwrap();
        drop(json);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_line_begins_with_type_session_and_seq() {
        expect![[r#"
            {"type":"turn_started","session":"s-1","seq":1,"at":"1970-01-01T00:00:00Z","turn_number":2,"turn":"t-1"}
            {"type":"text_delta","session":"s-1","seq":2,"at":"1970-01-01T00:00:00Z","turn_number":2,"item":"m-1","delta":"a, b}\n\u001b[2J"}
            {"type":"outcome","session":"s-1","seq":3,"at":"1970-01-01T00:00:00Z","turn_number":2,"outcome":"completed","code":null,"by":null,"message":null,"text":"done","usage":{"input":9600,"cached":4800,"output":12,"reasoning":0,"total":9612},"declined":0,"children_running":0,"hint":null,"retry_at":null,"exit":0}
        "#]]
        .assert_eq(&lines(&[
            sample::turn_started(),
            sample::text("m-1", "a, b}\n\u{1b}[2J"),
            sample::completed("done"),
        ]));
    }

    #[test]
    fn every_event_is_one_valid_line_with_one_stamp() {
        let events = sample::one_of_each();
        let text = lines(&events);
        assert_eq!(text.lines().count(), events.len());
        for (index, line) in text.lines().enumerate() {
            let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert_eq!(value["session"], "s-1", "{line}");
            assert_eq!(value["seq"], index + 1, "{line}");
            assert_eq!(line.matches(r#""session":"#).count(), 1, "{line}");
            assert!(line.starts_with(r#"{"type":""#), "{line}");
            // The output equals that of the engine's API, and can be parsed as such. Only a command line has exit codes.
            let back: Numbered = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            let mut said = value.clone();
            let exit = said.as_object_mut().unwrap().remove("exit");
            assert_eq!(exit.is_some(), value["type"] == "outcome", "{line}");
            assert_eq!(serde_json::to_value(&back).unwrap(), said, "{line}");
        }
    }

    #[test]
    fn what_the_engine_did_not_write_down_has_no_number() {
        let mut bytes = Vec::new();
        let mut json = JsonLines::new(&mut bytes, &SessionId::new("s-1"));
        let Event::Outcome(lost) = sample::lost() else { unreachable!() };
        json.left(&lost, 143).unwrap();
        drop(json);
        let line: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!((&line["type"], &line["seq"]), (&"outcome".into(), &Value::Null));
        assert_eq!(line["exit"], 143, "the command ended by a signal; the turn has no exit code yet");
    }

    #[test]
    fn every_outcome_in_a_row_has_the_exit_code_of_its_turn() {
        let report = |outcome| Report::new(outcome, Some("{}".to_owned()), Usage::default(), 0);
        let (done, lost) =
            (report(Outcome::Completed), report(Outcome::Lost { why: "\"outcome\":{}".to_owned() }));
        #[derive(Serialize)]
        struct Turn<'a> {
            outcome: Option<&'a Report>,
            title: String,
        }
        let title = serde_json::to_string(&done).unwrap();
        let turn = |outcome| Turn { outcome, title: title.clone() };
        let row =
            serde_json::to_string(&[turn(Some(&done)), turn(Some(&lost)), turn(Some(&done)), turn(None)]);
        let printed: Vec<Value> =
            serde_json::from_str(&with_exit(row.unwrap(), [&done, &lost, &done])).unwrap();
        let codes: Vec<&Value> = printed.iter().map(|turn| &turn["outcome"]["exit"]).collect();
        assert_eq!(codes, [&Value::from(0), &7.into(), &0.into(), &Value::Null]);
        assert!(printed.iter().all(|turn| turn["title"] == title.as_str()), "text is left alone");
    }
    #[test]
    fn a_raw_message_of_several_lines_stays_one_line() {
        let text = lines(&[sample::unknown("{\r\n\"method\": \"a\\nb\"\n}")]);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["raw"]["method"], "a\nb");
    }

    #[test]
    fn text_with_other_line_separators_stays_one_line_for_every_reader() {
        let said = "a\u{85}b\u{2028}c\u{2029}d";
        let text = lines(&[sample::text("m-1", said), sample::unknown("{\"x\": \"e\u{2028}f\"}")]);
        assert!(!text.contains(['\u{85}', '\u{2028}', '\u{2029}']), "{text}");
        let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(first["delta"], said);
    }

    #[test]
    fn a_session_id_cannot_break_the_line() {
        let mut bytes = Vec::new();
        let mut json = JsonLines::new(&mut bytes, &SessionId::new("a\"\nb"));
        json.event(Duration::ZERO, &sample::turn_started()).unwrap();
        drop(json);
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.lines().count(), 1);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["session"], "a\"\nb");
    }

    #[test]
    fn a_reader_that_went_away_is_an_error_of_the_caller() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut json = JsonLines::new(Gone, &SessionId::new("s"));
        json.event(Duration::ZERO, &sample::turn_started()).unwrap();
        assert_eq!(json.flush().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
