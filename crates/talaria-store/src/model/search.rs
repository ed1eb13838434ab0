//! Search: the words of a query (`words`), a message in which they occur, and the part of it to show (`snippet`).

mod snippet;
mod words;

use talaria_core::ids::SessionId;

pub use snippet::Snippet;
pub(crate) use words::{Word, parse};

/// Where words are searched. The default is everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchFilter {
    /// Only in this session.
    pub session: Option<SessionId>,
    /// Only in sessions that work in this directory or below it, and in tasks with a worktree of the repository there.
    pub directory: Option<String>,
    /// Only in messages of this kind.
    pub kind: Option<SearchedKind>,
}

/// A kind of message, by what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchedKind {
    /// Messages and calls, without tool output and without calls of Talaria's own tools, which repeat it.
    SaidAndDone,
    /// Messages of a person or the model.
    Words,
    /// Messages of the model.
    Answers,
    /// Commands that were run.
    Commands,
    /// Files that were patched.
    Patches,
    /// What tools printed.
    Outputs,
}

/// Where a message is in which all words occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessagePlace {
    pub(crate) message: i64,
    pub session: SessionId,
    /// The number of its event.
    pub seq: i64,
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
}

/// A message in which all words occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageMatch {
    pub session: SessionId,
    /// The number of its event.
    pub seq: i64,
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
    pub role: String,
    /// When it was last written.
    pub at: i64,
    /// The place where the words occur.
    pub snippet: Snippet,
}
