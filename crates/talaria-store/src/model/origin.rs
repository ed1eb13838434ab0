//! Who made or proposed a change, and in which call.

use talaria_core::ids::SessionId;

/// Who made or proposed a change, and in which call; each kind of change has its own authors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeOrigin<A> {
    pub author: A,
    pub session: Option<SessionId>,
    /// The runtime's turn.
    pub turn: Option<String>,
    /// The call of the tool, or the review.
    pub call: Option<String>,
}

impl<A> ChangeOrigin<A> {
    /// An author outside of any conversation.
    pub fn of(author: A) -> Self {
        Self { author, session: None, turn: None, call: None }
    }
}
