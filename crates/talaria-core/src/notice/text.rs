//! A notice as text that a person reads: a subject, and a body in a fixed order.
//!
//! First task and state, then what was asked for, then the summary (answer, else error, else the question), then what
//! changed, and last what to type. Everything of others is redacted, harmless and short. Called by the senders that
//! send text, and by the code that shows what would be sent.

use super::neutral::{block, line};
use super::{Notice, NoticeKind};
use talaria_guard::redact::redact;
use talaria_guard::shorten::shorten;

/// The longest summary, in characters.
const SUMMARY: usize = 700;
/// The longest prompt line.
const PROMPT: usize = 200;
/// The longest subject after task and state.
const SUBJECT: usize = 80;

impl Notice {
    /// Says which task and its state: the first line.
    pub fn headline(&self) -> String {
        let repeat = if self.repeat { " (may be a repeat)" } else { "" };
        format!("{} {}{repeat}", line(&self.task), line(&self.status.replace('_', " ")))
    }

    /// Returns the one line for places that have room for one: a subject, a title, a terminal.
    pub fn subject(&self) -> String {
        match one_line(&self.title, SUBJECT) {
            title if title.is_empty() => self.headline(),
            title => format!("{}: {title}", self.headline()),
        }
    }

    /// Returns the text below the headline.
    pub fn body(&self) -> String {
        let mut parts = Vec::new();
        let prompt = one_line(&self.title, PROMPT);
        if !prompt.is_empty() {
            parts.push(prompt);
        }
        parts.extend(self.summary());
        let mut last = Vec::new();
        last.extend(self.changes());
        if let Some(asked) = &self.request
            && !asked.choices.is_empty()
        {
            last.push(format!("Answers: {}", one_line(&asked.choices.join(", "), PROMPT)));
        }
        last.push(format!("Look: {}", line(&self.look)));
        last.extend(self.respond.as_deref().map(|command| format!("Answer: {}", line(command))));
        parts.push(last.join("\n"));
        parts.join("\n\n")
    }

    /// Returns all of it: the headline, then the body.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.headline(), self.body())
    }

    fn summary(&self) -> Option<String> {
        let asked = self.request.as_ref().map(|asked| asked.summary.as_str());
        let told = [self.answer.as_deref(), self.error.as_deref()];
        let order = match self.kind {
            NoticeKind::Request => [asked, told[0], told[1]],
            NoticeKind::Outcome => [told[0], told[1], asked],
        };
        let first = order.into_iter().flatten().find(|text| !text.trim().is_empty())?;
        Some(shorten(&block(&redact(first)), SUMMARY).into_owned())
    }

    fn changes(&self) -> Option<String> {
        let branch = self.branch.as_deref().map(|branch| one_line(branch, SUBJECT));
        match (self.diff_stat.as_deref().map(line), branch) {
            (Some(stat), Some(branch)) => Some(format!("{stat}, on {branch}")),
            (Some(stat), None) => Some(stat),
            (None, Some(branch)) => Some(format!("on {branch}")),
            (None, None) => None,
        }
    }
}

/// Joins untrusted text into one line of at most `most` characters, redacted and harmless.
pub fn one_line(text: &str, most: usize) -> String {
    shorten(&line(&redact(text)), most).into_owned()
}
