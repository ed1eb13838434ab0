//! Notices to a person who is not looking: that a task has ended, or that a request waits.
//!
//! Owns the payload, where it can go (`Target`), how it reads as text, which addresses it may be sent to and when a
//! failed attempt is repeated. Sends nothing: the engine's `notify` does. The creator of a notice has redacted it; it
//! passes [`Notice::covered`] or a rendering again before it is sent, because that is cheap and a leak is not.

mod address;
mod neutral;
mod retry;
mod target;
mod text;
mod words;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::SessionId;
pub use address::{Reach, reach};
pub use retry::{Fault, Next, RetryPolicy};
use talaria_guard::redact::redact;
pub use target::{BadTarget, Mailbox, Target, Topic};
pub use text::one_line;

/// Subject of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// A turn of a task has ended.
    Outcome,
    /// A request waits for a person.
    Request,
}

/// One notice: the JSON that programs and webhooks get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notice {
    /// Its subject.
    pub kind: NoticeKind,
    /// The task.
    pub task: String,
    /// The conversation of the task.
    pub session: SessionId,
    /// The prompt, shortened.
    pub title: String,
    /// The state of the task, as everywhere: `completed`, `waiting_for_approval`, ….
    pub status: String,
    /// Codex's last message.
    #[serde(default)]
    pub answer: Option<String>,
    /// Why it failed.
    #[serde(default)]
    pub error: Option<String>,
    /// The files that changed.
    #[serde(default)]
    pub files: Vec<String>,
    /// How much changed: `3 files changed, +10 -2`.
    #[serde(default)]
    pub diff_stat: Option<String>,
    /// The branch that the work is on.
    #[serde(default)]
    pub branch: Option<String>,
    /// What waits for an answer.
    #[serde(default)]
    pub request: Option<RequestNotice>,
    /// The command that shows more.
    pub look: String,
    /// The command that answers.
    #[serde(default)]
    pub respond: Option<String>,
    /// When the task was started.
    pub created_at: Timestamp,
    /// When the turn ended.
    #[serde(default)]
    pub completed_at: Option<Timestamp>,
    /// May this have been reported before? A sender that dies in the act cannot know.
    #[serde(default)]
    pub repeat: bool,
    /// Which attempt this is, from 1.
    #[serde(default)]
    pub attempt: u32,
}

/// A request that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestNotice {
    /// Its name, `req-…`.
    pub id: String,
    /// Kind of question.
    pub kind: String,
    /// The question in a line or a few.
    pub summary: String,
    /// The words that answer it.
    #[serde(default)]
    pub choices: Vec<String>,
}

/// A notice as stored until it is sent, with data for senders on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedNotice {
    /// The notice.
    #[serde(flatten)]
    pub notice: Notice,
    /// The terminal of the person who started the task, such as `/dev/pts/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tty: Option<String>,
}

impl Notice {
    /// Returns the notice with every secret in its free texts masked.
    #[must_use]
    pub fn covered(mut self) -> Self {
        let cover = |text: &mut String| {
            if let std::borrow::Cow::Owned(masked) = redact(text) {
                *text = masked;
            }
        };
        cover(&mut self.title);
        self.answer.as_mut().map(cover);
        self.error.as_mut().map(cover);
        self.branch.as_mut().map(cover);
        self.files.iter_mut().for_each(cover);
        if let Some(asked) = &mut self.request {
            cover(&mut asked.summary);
            asked.choices.iter_mut().for_each(cover);
        }
        self
    }
}

#[cfg(test)]
mod tests;
