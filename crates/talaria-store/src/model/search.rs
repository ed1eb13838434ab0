//! Search: what a person typed as words (`words`), a message in which they occur, and the part of it to show (`snippet`).

mod snippet;
mod words;

use talaria_core::ids::SessionId;

pub use snippet::Snippet;
pub(crate) use words::{Word, parse};

/// A message in which all words occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageMatch {
    pub session: SessionId,
    /// The number of the event that brought it.
    pub seq: i64,
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
    pub role: String,
    /// When it was last written.
    pub at: i64,
    /// The place where the words occur.
    pub snippet: Snippet,
}
