//! Removal of events of retained sessions.

/// Which events to forget. `None` forgets nothing for that reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrimPolicy {
    /// Those before this time.
    pub older_than: Option<i64>,
    /// Keeps this many of the newest events of each session.
    pub keep: Option<i64>,
}

/// Removed rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrimResult {
    pub events: i64,
}
