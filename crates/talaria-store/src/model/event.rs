//! Events: what happened in a session, numbered without a gap, never changed.

/// A new event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
    /// Kind of event.
    pub kind: String,
    /// The event as JSON.
    pub json: String,
}

/// A stored event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// Its number in the session, from 1.
    pub seq: i64,
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
    /// When it was stored.
    pub at: i64,
    /// Kind of event.
    pub kind: String,
    /// The event as JSON.
    pub json: String,
}
