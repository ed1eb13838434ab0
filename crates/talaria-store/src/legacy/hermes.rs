//! Conversations of Hermes: what its database `state.db` says (`read`), how they become finished sessions of ours
//! (`take`, `write`), and how an import is taken back (`undo`).
//!
//! They come page by page, so that a person sees how far it is and nobody waits long for the writer. An import that was
//! broken off goes on where it was: a session knows the last message that came. Nothing is kept that was not redacted.

mod read;
mod take;
mod undo;
mod write;

use talaria_core::hermes::PastTurn;
use talaria_core::ids::SessionId;

pub use read::KNOWN_SCHEMA;
pub use take::{ImportError, Run, preview_all};
pub use undo::Undone;

/// What a conversation of ours was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The program that kept it.
    pub program: String,
    /// Its name there.
    pub name: String,
    /// The conversation that it went on from, by its name there.
    pub parent: Option<String>,
    /// The same, if it is here.
    pub parent_session: Option<SessionId>,
}

/// A part of what Hermes has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// All conversations of the file.
    pub total: u64,
    /// How many of them this page was about.
    pub seen: usize,
    /// Those that are, or would be, new here.
    pub new: usize,
    /// Those that were here and went on.
    pub grown: usize,
    /// Those that were here as they are.
    pub known: usize,
    /// Those in which nobody said anything.
    pub empty: usize,
    /// Messages that came.
    pub messages: usize,
    /// Messages that did not: prompts of the program, and what is too long to be read.
    pub left_out: usize,
    /// The version of the file, if it is newer than any that is known here.
    pub newer: Option<i64>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// A conversation as its row says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Conversation {
    id: String,
    title: Option<String>,
    model: Option<String>,
    cwd: Option<String>,
    parent: Option<String>,
    started_at: Option<i64>,
    ended_at: Option<i64>,
    input: u64,
    cached: u64,
    output: u64,
    reasoning: u64,
}

/// A piece of a conversation that is written at once.
struct Piece {
    conversation: Conversation,
    turns: Vec<PastTurn>,
    /// The last row that was looked at.
    last: i64,
}
