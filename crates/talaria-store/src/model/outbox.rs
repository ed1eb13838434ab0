//! The outbox: what is owed to somebody, one entry for each thing and each target.

use talaria_core::ids::SessionId;

use crate::model::words::OutboxState;

/// Something that is owed to somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOutbox {
    /// Its id; must be new.
    pub id: String,
    /// What kind of thing.
    pub kind: String,
    /// What is to be told, as JSON.
    pub payload: String,
    /// Whom to tell; `None` is nobody, and it is never claimed.
    pub target: Option<String>,
    /// When it is due.
    pub due_at: i64,
}

/// An entry that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxRow {
    /// Its id.
    pub id: String,
    /// Its session.
    pub session: SessionId,
    /// What kind of thing.
    pub kind: String,
    /// What is to be told, as JSON.
    pub payload: String,
    /// Whom to tell; `None` is nobody.
    pub target: Option<String>,
    /// How far it is.
    pub state: OutboxState,
    /// When it is due, or was.
    pub due_at: i64,
    /// How often it was claimed, with this time.
    pub attempts: i64,
    /// May it have been delivered before? Somebody had claimed it and was not heard of again.
    pub repeat: bool,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// When it was delivered.
    pub sent_at: Option<i64>,
    /// When it was over, in whatever way.
    pub done_at: Option<i64>,
}
