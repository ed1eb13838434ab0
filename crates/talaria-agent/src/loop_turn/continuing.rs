//! Answers that a server cut at the output limit and called complete: the model is asked to continue, visibly and at most twice.
//!
//! The evidence is the server's own count of tokens, and only where its profile says that it does this; the words of an answer
//! decide nothing. The request to continue is an entry of the history, so that the next engine counts it as well.

use crate::history::{LogEntry, LogItem, plain_text};

/// How often the model is asked to continue one answer.
pub(super) const MOST_CONTINUATIONS: usize = 2;
/// What the model reads.
pub(super) const CONTINUE: &str = "Your last answer was cut at the output limit. Continue it exactly where it stopped. Repeat nothing of it, \
     and do not comment on this.";

fn is_continuation(entry: &LogEntry) -> bool {
    matches!(&entry.item, LogItem::Operator { text } if text == CONTINUE)
}

/// How often the model was asked since the last words of the person or results of calls.
pub(super) fn continuations(log: &[LogEntry]) -> usize {
    let is_over = |entry: &&LogEntry| {
        !matches!(entry.item, LogItem::User { .. } | LogItem::Result { .. } | LogItem::Summary { .. })
    };
    log.iter().rev().take_while(is_over).filter(|entry| is_continuation(entry)).count()
}

/// The text of the last answer, with what it continues.
pub(super) fn whole_text(log: &[LogEntry]) -> Option<String> {
    let answer = log.iter().rposition(|entry| entry.attempt.is_none()).map_or(0, |last| last + 1);
    let (before, answer) = log.split_at(answer);
    let text = answer.iter().rev().find_map(|entry| match &entry.item {
        LogItem::Assistant { parts, .. } => Some(plain_text(parts)).filter(|text| !text.trim().is_empty()),
        _ => None,
    });
    match before.split_last() {
        Some((last, earlier)) if is_continuation(last) => match (whole_text(earlier), text) {
            (Some(begun), Some(text)) => Some(begun + &text),
            (begun, text) => text.or(begun),
        },
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::LogPart;

    fn said(seq: u64, text: &str) -> LogEntry {
        let item = LogItem::Assistant { parts: vec![LogPart::text(text)], phase: None };
        LogEntry { attempt: Some(seq), ..LogEntry::own(seq, item) }
    }

    #[test]
    fn only_what_continues_an_answer_is_joined_with_it() {
        let person = |seq| LogEntry::own(seq, LogItem::User { parts: vec![LogPart::text("go")] });
        let more = |seq| LogEntry::own(seq, LogItem::Operator { text: CONTINUE.to_owned() });
        let log = [person(0), said(1, "one "), more(2), said(3, "two "), more(4), said(5, "three")];
        assert_eq!(whole_text(&log).as_deref(), Some("one two three"));
        assert_eq!((continuations(&log), continuations(&log[..4])), (2, 1));
        let next = [&log[..], &[person(6), said(7, "four")]].concat();
        assert_eq!((whole_text(&next).as_deref(), continuations(&next)), (Some("four"), 0));
        let two = [person(0), said(1, "first"), said(1, "second")];
        assert_eq!(whole_text(&two).as_deref(), Some("second"));
    }
}
