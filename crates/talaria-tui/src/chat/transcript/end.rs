//! How a turn ended: the words of `render`, with time and tokens.
//!
//! The error is foreign text of any length: folded its first lines, unfolded all of the kept text.

use std::borrow::Cow;

use talaria_core::outcome::{Outcome, Report};

use super::cell::{Folding, Page};
use super::kept::{Kept, Limits};
use super::message::{Message, Voice};
use super::printed::{KEY, more_lines};
use super::wrap::{Break, rows};
use crate::chat::next_step;
use talaria_render::{StyledLine, cut, notice, plain_line};

/// A window in which the tokens of a turn take more than one row.
const NARROW: usize = 60;
/// Maximum length of a cause.
const CAUSE: Limits = Limits { head: 16 * 1024, tail: 4 * 1024 };
/// Lines of a cause that are shown in short.
const FEW: usize = 5;

/// The end of a turn.
#[derive(Debug)]
pub(super) struct End {
    report: Report,
    took: Option<u64>,
    /// The answer as it was reported, as long as it is not known whether it is above.
    answer: Option<Box<Message>>,
}

impl End {
    /// Takes what was reported, and how long it took in milliseconds, where that is known.
    pub(super) fn new(report: &Report, took: Option<u64>) -> Self {
        let answer = report.text.as_deref().filter(|text| !text.is_empty()).map(|text| {
            let mut message = Message::new(Voice::Answer);
            message.complete(text);
            Box::new(message)
        });
        let outcome = with_cause(&report.outcome, |cause| Kept::of(cause, CAUSE).shown());
        let (code, by, retry_at) = (report.code, report.by, report.retry_at);
        let (usage, children_running) = (report.usage, report.children_running);
        // Who declined which request is shown above, each with its reason.
        let declined = 0;
        let hint = report.next_step.as_ref().map(next_step::in_chat).or_else(|| report.hint.clone());
        let next_step = None;
        // The answer is shown by itself, and the outcome has the cause.
        let (text, message) = (None, None);
        let report = Report {
            outcome,
            code,
            by,
            message,
            text,
            usage,
            declined,
            children_running,
            hint,
            next_step,
            retry_at,
        };
        Self { report, took, answer }
    }

    /// Whether it is unknown if the answer is above.
    pub(super) fn has_answer(&self) -> bool {
        self.answer.is_some()
    }

    /// Removes that answer and returns it.
    pub(super) fn take_answer(&mut self) -> Option<Box<Message>> {
        self.answer.take()
    }

    /// Its memory use.
    pub(super) fn weight(&self) -> usize {
        let answer = self.answer.as_ref().map_or(0, |answer| answer.weight());
        size_of::<Self>() + cause(&self.report.outcome).map_or(0, str::len) + answer
    }

    /// Its rows. In a narrow window a completed turn has none: its token usage would take space from its answer,
    /// and is in the status line.
    pub(super) fn rows(&self, page: &Page<'_>) -> Vec<StyledLine> {
        let is_news = !matches!(self.report.outcome, Outcome::Completed);
        if page.width < NARROW && !is_news {
            return Vec::new();
        }
        let text = match page.fold {
            Folding::Folded if self.has_cause() => {
                let outcome = with_cause(&self.report.outcome, |cause| in_short(cause, page));
                notice::outcome(&Report { outcome, ..self.report.clone() }, self.took, None, page.paint)
            }
            _ => notice::outcome(&self.report, self.took, None, page.paint),
        };
        if text.is_empty() { Vec::new() } else { rows(text, page.width, 2, Break::Words) }
    }

    /// Whether it shows an error.
    pub(super) fn has_cause(&self) -> bool {
        cause(&self.report.outcome).is_some()
    }
}

fn cause(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Failed { message, .. } => Some(message),
        Outcome::Lost { why } => Some(why),
        Outcome::Completed | Outcome::Interrupted { .. } => None,
    }
}

/// The same outcome, with its cause in other words.
fn with_cause(outcome: &Outcome, words: impl FnOnce(&str) -> String) -> Outcome {
    match outcome {
        Outcome::Failed { code, message } => Outcome::Failed { code: *code, message: words(message) },
        Outcome::Lost { why } => Outcome::Lost { why: words(why) },
        Outcome::Completed | Outcome::Interrupted { .. } => outcome.clone(),
    }
}

/// The first lines of a text, and what shows the others.
fn in_short(text: &str, page: &Page<'_>) -> String {
    let lines: Vec<Cow<'_, str>> = text.trim_end().split('\n').map(plain_line).collect();
    let first = lines[..lines.len().min(FEW)].join("\n");
    // One line alone may be a long text.
    let short = cut(&first, FEW * page.width, page.paint);
    match lines.len() - short.split('\n').count() {
        0 if short == first => short,
        0 => format!("{short} ({KEY})"),
        more => format!("{short}\n{}", more_lines(more, page)),
    }
}
