//! Questions that Codex puts to a person, and the answers.
//!
//! `Ask` is what people are shown; the wire form of an answer is made in `reply`. A question this build cannot put to
//! a person is declined visibly, never left hanging.

use std::fmt;

use serde::Serialize;

use crate::ids::{ItemId, ThreadId};
use crate::item::FileChange;

/// A question, as shown to people.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ask {
    /// May this command run?
    Command {
        /// The thread that asks; a sub-agent's may differ from the session's.
        thread: ThreadId,
        /// The step it belongs to.
        item: ItemId,
        /// The command line.
        command: String,
        /// Where it would run.
        cwd: Option<String>,
        /// Why, in Codex's or the model's words.
        reason: Option<String>,
    },
    /// May these files be changed?
    Patch {
        /// The thread that asks.
        thread: ThreadId,
        /// The step it belongs to.
        item: ItemId,
        /// The changes, from the step that announced them; `None` when Codex never told us what they are.
        changes: Option<Vec<FileChange>>,
        /// Why.
        reason: Option<String>,
        /// A directory that accepting would make writable for the rest of the session.
        grant_root: Option<String>,
    },
    /// May this tool of an MCP server run?
    Tool {
        /// The thread that asks.
        thread: Option<ThreadId>,
        /// The server.
        server: String,
        /// What Codex says about it.
        message: String,
        /// What the tool does, in the server's words.
        description: Option<String>,
        /// The arguments of the call, as JSON; `None` when Codex does not tell them.
        arguments: Option<String>,
    },
    /// A form of an MCP server, further permissions, or questions of the model: declined by this version.
    Unsupported {
        /// The thread that asks.
        thread: Option<ThreadId>,
        /// The wire's name for it.
        method: String,
        /// One line about it.
        summary: String,
    },
}

impl Ask {
    /// Can a person be asked this?
    pub fn is_answerable(&self) -> bool {
        !matches!(self, Self::Unsupported { .. })
    }

    /// Can it be accepted once and for all of this session?
    pub fn has_session_choice(&self) -> bool {
        matches!(self, Self::Command { .. } | Self::Patch { .. })
    }
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Yes, once.
    Accept,
    /// Yes, and the same thing is not asked again on this thread.
    AcceptForSession,
    /// No; the turn goes on.
    Decline,
    /// No, and the turn ends.
    Cancel,
    /// Nobody decided: the turn or Codex ended first.
    Void,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accept => "accepted",
            Self::AcceptForSession => "accepted for this session",
            Self::Decline => "declined",
            Self::Cancel => "cancelled",
            Self::Void => "no longer open",
        })
    }
}

/// Who did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// The person at the terminal.
    User,
    /// Nobody could be asked.
    Nobody,
    /// The demo, which says so.
    Demo,
    /// The caller's deadline.
    Deadline,
    /// Codex itself, or another client of it.
    Codex,
    /// This build, because it cannot put the question to a person.
    Talaria,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "you",
            Self::Nobody => "nobody to ask",
            Self::Demo => "the demo",
            Self::Deadline => "the deadline",
            Self::Codex => "Codex",
            Self::Talaria => "Talaria",
        })
    }
}
