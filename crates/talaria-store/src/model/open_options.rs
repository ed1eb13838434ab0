//! How to open a store.

use std::time::Duration;

/// What survives the loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Everything that was acknowledged.
    PowerLoss,
    /// Everything, if only the program dies. The loss of power may undo the last writes, never half of one.
    Crash,
}

/// How to open.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// What survives the loss of power.
    pub durability: Durability,
    /// How long to wait for another program that has the database locked.
    pub busy_timeout: Duration,
    /// The most pages of 4 KiB that the file may have, to see what a full disk does.
    pub max_page_count: Option<u32>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            durability: Durability::PowerLoss,
            busy_timeout: Duration::from_secs(10),
            max_page_count: None,
        }
    }
}
