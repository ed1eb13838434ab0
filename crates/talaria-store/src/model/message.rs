//! Messages: what is kept of the steps of a turn, and searched.

/// A message to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// Unique in the session: made of turn, item, kind and role, because item ids alone are not unique.
    pub key: String,
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
    /// Which event of the batch brought it, counted from 0; `None` is the last one, or the next one if the batch has none.
    pub event: Option<usize>,
    pub role: String,
    /// What is searched: prompts, answers, commands, patches.
    pub text: String,
    /// The message as JSON.
    pub json: String,
}

/// A message that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRow {
    /// Its place in the store, for paging.
    pub id: i64,
    /// Unique in the session.
    pub key: String,
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
    /// The number of the event that brought it first.
    pub seq: i64,
    pub role: String,
    /// What is searched.
    pub text: String,
    /// The message as JSON.
    pub json: String,
    /// When it was last written.
    pub at: i64,
}
