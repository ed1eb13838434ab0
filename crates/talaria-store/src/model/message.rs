//! Messages: the stored and searchable form of a turn's steps.

/// A new message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// Unique in the session: made of turn, item, kind and role, because item ids alone are not unique.
    pub key: String,
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
    /// Index of its event in the batch, from 0; `None` is the last one, or the next one if the batch has none.
    pub event: Option<usize>,
    pub role: String,
    /// The indexed text: prompts, answers, commands, patches.
    pub text: String,
    /// The message as JSON.
    pub json: String,
}

/// A stored message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRow {
    /// Its place in the store, for paging.
    pub id: i64,
    /// Unique in the session.
    pub key: String,
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
    /// The number of its first event.
    pub seq: i64,
    pub role: String,
    /// The indexed text.
    pub text: String,
    /// The message as JSON.
    pub json: String,
    /// When it was last written.
    pub at: i64,
}
