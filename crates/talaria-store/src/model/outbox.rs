//! The outbox: notifications to deliver, one entry per event and target.

use talaria_core::ids::SessionId;

use crate::model::words::OutboxState;

/// A new outbox entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOutbox {
    /// Its id; must be new.
    pub id: String,
    /// Kind of thing.
    pub kind: String,
    /// The notice, as JSON.
    pub payload: String,
    /// The target; an entry without one is never claimed.
    pub target: Option<String>,
    /// When it is due.
    pub due_at: i64,
}

/// A stored entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxRow {
    pub id: String,
    pub session: SessionId,
    /// Kind of thing.
    pub kind: String,
    /// The notice, as JSON.
    pub payload: String,
    /// The target, if there is one.
    pub target: Option<String>,
    /// How far it is.
    pub state: OutboxState,
    /// When it is due, or was.
    pub due_at: i64,
    /// How often it was claimed, with this time.
    pub attempts: i64,
    /// True if it may have been delivered before: an earlier claimer disappeared.
    pub repeat: bool,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// When it was delivered.
    pub sent_at: Option<i64>,
    /// When it was over, in whatever way.
    pub done_at: Option<i64>,
}
