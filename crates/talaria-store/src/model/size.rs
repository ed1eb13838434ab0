//! How much a store has, and how much room that takes.

/// How much there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCounts {
    pub sessions: i64,
    /// Turns that are not settled.
    pub unsettled_turns: i64,
    /// Requests that wait for a person.
    pub open_requests: i64,
    /// Hosts that have not ended.
    pub living_hosts: i64,
}

/// How much room it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreSize {
    /// The file, without what waits in its log.
    pub file_bytes: i64,
    /// The write-ahead log.
    pub log_bytes: i64,
    /// Used space in the file.
    pub used_bytes: i64,
}
