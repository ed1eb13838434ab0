//! Conversations of the built-in model loop: entries that are only ever appended. Their content is sealed by the caller; no
//! clear text is stored.

/// An entry to be appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewHistoryEntry {
    /// Its place, from 0 without a gap.
    pub seq: i64,
    /// Our own turn, by ordinal.
    pub ordinal: i64,
    /// Counts the prefixes of the conversation: within one, requests only grow.
    pub prefix_epoch: i64,
    pub sealed: Vec<u8>,
}

/// A stored entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntryRow {
    pub seq: i64,
    /// Our own turn, by ordinal.
    pub ordinal: i64,
    /// The attempt of that turn that made it, if a model did.
    pub attempt: Option<i64>,
    pub prefix_epoch: i64,
    pub sealed: Vec<u8>,
    pub at: i64,
}
