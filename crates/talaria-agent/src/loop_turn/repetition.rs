//! Whether a model repeats itself: equal calls in a row, or many calls that all had the same result before. Pure.
//!
//! Nothing is wrong with one repeated call; a person decides whether more of them are (models.md 4). Calls that wait for
//! something are repeated by nature and get more patience.

use std::collections::HashMap;

use crate::history::{CallId, LogEntry, LogItem, plain_text};

/// This many equal calls in a row, with equal results, are a doubt.
const EQUAL: usize = 3;
/// The same for calls that wait for a command.
const EQUAL_WAITS: usize = 30;
/// This many calls in a row are a doubt if each of them had its result before.
const KNOWN: usize = 12;
/// The tool that waits for commands.
const WAITING: &str = "process";

/// What the model repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Repetition {
    /// What people read.
    pub(super) text: String,
}

/// A call with its result, as far as it counts here.
#[derive(PartialEq, Eq, Hash)]
struct DoneCall<'a> {
    name: &'a str,
    input: &'a str,
    result: String,
}

/// Looks at what the model did since the person last said something; entries before `from` do not count.
pub(super) fn repetition(log: &[LogEntry], from: u64) -> Option<Repetition> {
    let begin = log.iter().rposition(|entry| matches!(entry.item, LogItem::User { .. })).unwrap_or(0);
    let done = done_calls(log[begin..].iter().filter(|entry| entry.seq >= from));
    let last = done.last()?;
    let equal = done.iter().rev().take_while(|call| *call == last).count();
    if equal >= if last.name == WAITING { EQUAL_WAITS } else { EQUAL } {
        let text = format!(
            "The model called {} {equal} times in a row with the same arguments and the same result.",
            last.name
        );
        return Some(Repetition { text });
    }
    let mut first_at = HashMap::new();
    let mut known = 0;
    for (at, call) in done.iter().enumerate() {
        let is_known = *first_at.entry(call).or_insert(at) != at && call.name != WAITING;
        known = if is_known { known + 1 } else { 0 };
    }
    (known >= KNOWN).then(|| Repetition {
        text: format!("The last {known} calls of the model had all been made before, with the same results."),
    })
}

fn done_calls<'a>(entries: impl Iterator<Item = &'a LogEntry>) -> Vec<DoneCall<'a>> {
    let mut open: Vec<(&CallId, &str, &str)> = Vec::new();
    let mut done = Vec::new();
    for entry in entries {
        match &entry.item {
            LogItem::Call { call, name, input } => open.push((call, name, input.as_str())),
            LogItem::Result { call, parts, .. } => {
                if let Some(at) = open.iter().position(|(known, ..)| *known == call) {
                    let (_, name, input) = open.remove(at);
                    done.push(DoneCall { name, input, result: without_fences(&plain_text(parts)) });
                }
            }
            _ => {}
        }
    }
    done
}

/// The marks around the text of strangers are random: they are no difference between two results.
fn without_fences(text: &str) -> String {
    let is_mark = |word: &str| word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.split(' ')
        .flat_map(|part| part.split('\n'))
        .filter(|word| !is_mark(word))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{CallDisposition, CallInput, LogPart};

    fn log(calls: &[(&str, &str, &str)]) -> Vec<LogEntry> {
        let mut entries = vec![LogEntry::own(0, LogItem::User { parts: vec![LogPart::text("go")] })];
        for (index, (name, input, result)) in calls.iter().enumerate() {
            let seq = u64::try_from(entries.len()).unwrap();
            let call = CallId::new(format!("c{index}"));
            let input = CallInput::Json((*input).to_owned());
            entries.push(LogEntry::own(
                seq,
                LogItem::Call { call: call.clone(), name: (*name).to_owned(), input },
            ));
            let (disposition, parts) = (CallDisposition::Done, vec![LogPart::text(*result)]);
            entries.push(LogEntry::own(seq + 1, LogItem::Result { call, disposition, parts }));
        }
        entries
    }

    fn doubt(calls: &[(&str, &str, &str)]) -> Option<String> {
        repetition(&log(calls), 0).map(|repetition| repetition.text)
    }

    #[test]
    fn three_equal_calls_in_a_row_are_a_doubt_and_a_different_result_is_none() {
        let same = ("read", r#"{"path":"a"}"#, "one");
        assert_eq!(doubt(&[same, same]), None);
        assert!(doubt(&[same, same, same]).unwrap().starts_with("The model called read 3 times in a row"));
        assert_eq!(doubt(&[same, same, ("read", r#"{"path":"a"}"#, "two")]), None);
        assert_eq!(doubt(&[same, same, ("read", r#"{"path":"b"}"#, "one"), same]), None);
        let waiting = ("process", "{}", "still running");
        assert_eq!(doubt(&[waiting; 5]), None);
        assert!(doubt(&[waiting; 30]).is_some());
    }

    #[test]
    fn what_was_confirmed_and_what_was_before_a_word_of_the_person_does_not_count() {
        let mut entries = log(&[("read", "{}", "one"); 3]);
        assert!(repetition(&entries, 0).is_some());
        assert_eq!(repetition(&entries, 7), None);
        entries.push(LogEntry::own(7, LogItem::User { parts: vec![LogPart::text("again")] }));
        assert_eq!(repetition(&entries, 0), None);
    }

    #[test]
    fn a_circle_of_calls_is_a_doubt_and_the_mark_of_a_fence_is_no_difference() {
        let (one, two) = (("read", "1", "one"), ("search", "2", "two"));
        let circle: Vec<_> = [one, two].into_iter().cycle().take(14).collect();
        assert_eq!(doubt(&circle[..13]), None);
        assert!(doubt(&circle).unwrap().starts_with("The last 12 calls"));
        let fenced = |mark: &str| format!("--- begin {mark} ---\ntext\n--- end {mark} ---");
        let results = ["0000000000000001", "00000000000000aa", "0123456789abcdef"].map(fenced);
        let calls: Vec<_> = results.iter().map(|result| ("mcp__a__b", "{}", result.as_str())).collect();
        assert!(doubt(&calls).is_some());
    }
}
