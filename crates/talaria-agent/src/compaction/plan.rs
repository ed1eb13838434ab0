//! What stays of a conversation as it is: its first and last messages, the request of the turn, and calls whose results the
//! model has not read. The rest is summarised.
//!
//! A message is what the person said, a whole answer of the model, or a result. Calls and results are never parted.

use super::size::entries_tokens;
use super::{CompactionSettings, is_sent};
use crate::history::{LogEntry, LogItem, in_force};

/// Entries by what becomes of them, each list in the order of the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompactionPlan {
    /// They stay, before the summary.
    pub(crate) before: Vec<u64>,
    /// They stay, after the summary.
    pub(crate) after: Vec<u64>,
    /// They are summarised.
    pub(crate) summarised: Vec<u64>,
    /// The text of the summary before this one.
    pub(crate) earlier: Option<String>,
    /// How many messages stay.
    pub(crate) messages: u64,
}

impl CompactionPlan {
    /// Decides what stays. `limit` is the size that the conversation should not exceed. `None` if everything stays.
    pub(crate) fn new(
        log: &[LogEntry],
        settings: &CompactionSettings,
        request: Option<u64>,
        limit: u64,
    ) -> Option<Self> {
        let sent = in_force(log);
        let earlier = sent.iter().find_map(|entry| match &entry.item {
            LogItem::Summary { text, .. } => Some(text.clone()),
            _ => None,
        });
        let live: Vec<&LogEntry> = sent.into_iter().filter(|entry| is_sent(entry)).collect();
        let starts = message_starts(&live);
        let tail = tail(&live, &starts, settings.protect_last, limit / 4);
        let head = head(&live, &starts, tail, settings.protect_first, limit / 8);
        let is_of_turn = |entry: &LogEntry| {
            matches!(entry.item, LogItem::User { .. }) && request.is_some_and(|request| entry.seq >= request)
        };
        let (of_turn, summarised): (Vec<&LogEntry>, Vec<&LogEntry>) =
            live[head..tail].iter().copied().partition(|entry| is_of_turn(entry));
        if summarised.is_empty() {
            return None;
        }
        let seqs = |entries: &[&LogEntry]| entries.iter().map(|entry| entry.seq).collect::<Vec<_>>();
        let stay = starts.iter().filter(|start| **start < head || **start >= tail).count() + of_turn.len();
        Some(Self {
            before: seqs(&live[..head]),
            after: [seqs(&of_turn), seqs(&live[tail..])].concat(),
            summarised: seqs(&summarised),
            earlier,
            messages: u64::try_from(stay).unwrap_or(u64::MAX),
        })
    }

    /// Does this entry stay?
    pub(crate) fn keeps(&self, seq: u64) -> bool {
        self.before.binary_search(&seq).is_ok() || self.after.binary_search(&seq).is_ok()
    }
}

/// Where messages begin.
fn message_starts(live: &[&LogEntry]) -> Vec<usize> {
    let continues = |at: usize| {
        let (Some(last), entry) = (at.checked_sub(1).map(|at| live[at]), live[at]) else { return false };
        entry.item.is_answer()
            && last.item.is_answer()
            && last.attempt == entry.attempt
            && last.seq + 1 == entry.seq
    };
    (0..live.len()).filter(|at| !continues(*at)).collect()
}

/// Where the messages begin that stay at the end: at most `count`, and at most `tokens`, but always what the model has
/// not read.
fn tail(live: &[&LogEntry], starts: &[usize], count: usize, tokens: u64) -> usize {
    let unread = unread(live, starts);
    let mut tail = unread;
    for (later, start) in starts.iter().rev().enumerate() {
        if *start >= unread {
            continue;
        }
        if later >= count || entries_tokens(live[*start..].iter().copied()) > tokens {
            break;
        }
        if !matches!(live[*start].item, LogItem::Result { .. }) {
            tail = *start;
        }
    }
    tail
}

/// Where that begins which the model has not answered: its last calls with their results, or what the person said.
fn unread(live: &[&LogEntry], starts: &[usize]) -> usize {
    let Some(last) = live.iter().rposition(|entry| entry.item.is_answer()) else { return 0 };
    let start = starts.iter().copied().rfind(|start| *start <= last).unwrap_or(0);
    let has_calls = live[start..=last].iter().any(|entry| matches!(entry.item, LogItem::Call { .. }));
    if has_calls { start } else { last + 1 }
}

/// Where the messages end that stay at the beginning.
fn head(live: &[&LogEntry], starts: &[usize], tail: usize, count: usize, tokens: u64) -> usize {
    let mut head = 0;
    for (messages, end) in starts.iter().copied().chain([live.len()]).enumerate() {
        if end > tail || messages > count || entries_tokens(live[..end].iter().copied()) > tokens {
            break;
        }
        let calls = live[..end].iter().filter(|entry| matches!(entry.item, LogItem::Call { .. })).count();
        let results = live[..end].iter().filter(|entry| matches!(entry.item, LogItem::Result { .. })).count();
        if calls == results {
            head = end;
        }
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{CallDisposition, CallId, CallInput, LogPart};

    fn entry(seq: u64, attempt: Option<u64>, item: LogItem) -> LogEntry {
        LogEntry { attempt, ..LogEntry::own(seq, item) }
    }

    /// A letter for each entry: `u` the person, `a` an answer, `c` a call in the answer before it, `r` its result.
    fn log(script: &str) -> Vec<LogEntry> {
        let mut attempt = 0;
        let mut last = ' ';
        let letters = script.chars().enumerate();
        letters
            .map(|(at, letter)| {
                let seq = at as u64;
                if matches!(letter, 'a' | 'c') && !matches!(last, 'a' | 'c') {
                    attempt += 1;
                }
                last = letter;
                let text = vec![LogPart::text(format!("{letter}{seq}"))];
                let call = |back: usize| CallId::new(format!("c{back}"));
                match letter {
                    'u' => entry(seq, None, LogItem::User { parts: text }),
                    'a' => entry(seq, Some(attempt), LogItem::Assistant { parts: text, phase: None }),
                    'c' => {
                        let input = CallInput::Json("{}".to_owned());
                        let item = LogItem::Call { call: call(at), name: "read".to_owned(), input };
                        entry(seq, Some(attempt), item)
                    }
                    _ => {
                        let disposition = CallDisposition::Done;
                        let made = script[..at].rfind('c').unwrap_or(0);
                        let item = LogItem::Result { call: call(made), disposition, parts: text };
                        entry(seq, None, item)
                    }
                }
            })
            .collect()
    }

    fn plan(script: &str, first: usize, last: usize, request: u64) -> Option<CompactionPlan> {
        let settings =
            CompactionSettings { protect_first: first, protect_last: last, ..CompactionSettings::default() };
        CompactionPlan::new(&log(script), &settings, Some(request), 100_000)
    }

    #[test]
    fn the_request_and_unread_results_stay_even_if_nothing_is_protected() {
        // The request is entry 4, far from the calls whose results were not read.
        let plan = plan("uauauacracracr", 0, 0, 4).unwrap();
        assert_eq!((plan.before.as_slice(), plan.after.as_slice()), (&[][..], &[4, 11, 12, 13][..]));
        assert_eq!(plan.summarised, [0, 1, 2, 3, 5, 6, 7, 8, 9, 10]);
    }

    #[test]
    fn first_and_last_messages_stay_and_no_result_loses_its_call() {
        let plan = plan("ucraucrauau", 3, 4, 10).unwrap();
        assert_eq!(plan.before, [0, 1, 2], "a call with its result");
        assert_eq!(plan.after, [7, 8, 9, 10], "the newest messages");
        assert_eq!(plan.messages, 7);
    }

    #[test]
    fn a_short_conversation_stays_as_it_is() {
        assert_eq!(plan("uau", 3, 6, 2), None);
        assert_eq!(plan("ua", 3, 6, 9), None);
        assert_eq!(plan("", 3, 6, 0), None);
    }

    #[test]
    fn protected_messages_that_are_too_long_do_not_stay() {
        let mut long = log("uauauau");
        long[0].item = LogItem::User { parts: vec![LogPart::text("x".repeat(100_000))] };
        long[5].item = LogItem::Assistant { parts: vec![LogPart::text("x".repeat(200_000))], phase: None };
        let plan = CompactionPlan::new(&long, &CompactionSettings::default(), Some(6), 100_000).unwrap();
        assert_eq!((plan.before.as_slice(), plan.after.as_slice()), (&[][..], &[6][..]));
    }

    #[test]
    fn the_next_compaction_summarises_the_summary_before_it() {
        let mut log = log("uauauauau");
        let text = "first summary".to_owned();
        log.push(entry(9, None, LogItem::Summary { text: text.clone(), before: vec![0], after: vec![8] }));
        for (seq, item) in [(10, "a"), (11, "u")] {
            let parts = vec![LogPart::text(item)];
            log.push(match item {
                "a" => entry(seq, Some(9), LogItem::Assistant { parts, phase: None }),
                _ => entry(seq, None, LogItem::User { parts }),
            });
        }
        let settings =
            CompactionSettings { protect_first: 1, protect_last: 1, ..CompactionSettings::default() };
        let plan = CompactionPlan::new(&log, &settings, Some(11), 100_000).unwrap();
        assert_eq!(plan.earlier.as_deref(), Some("first summary"));
        assert_eq!((plan.before, plan.summarised, plan.after), (vec![0], vec![8, 10], vec![11]));
    }
}
