//! How many hosts there are, how much each may hold, and when one is ended.

use std::time::Duration;

/// The limits of a pool. Each is the user's to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// How many hosts run at most. Those that are being drained do not count.
    pub max_hosts: usize,
    /// How many conversations a host takes. It takes more only when no other host may be started.
    pub threads_per_host: usize,
    /// How long a host may be without a conversation before it is ended.
    pub idle: Duration,
    /// How much memory a host may take, with everything below it, in KiB; `None` any. One that takes more is drained.
    pub memory_kib: Option<u64>,
    /// How often hosts are checked.
    pub look_every: Duration,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self {
            max_hosts: 8,
            threads_per_host: 16,
            idle: Duration::from_secs(15 * 60),
            memory_kib: Some(2 * 1024 * 1024),
            look_every: Duration::from_secs(30),
        }
    }
}
