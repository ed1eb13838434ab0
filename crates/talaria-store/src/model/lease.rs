//! Leases: the right of one engine to act on a session.

use talaria_core::ids::SessionId;

/// The right of one engine to act on a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub session: SessionId,
    /// The engine, by the number it got from `next_epoch`.
    pub epoch: i64,
    /// The engine, for people.
    pub owner: String,
    pub expires_at: i64,
}

/// When a lease may be taken from another engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takeover {
    /// When it has expired at this time.
    Expired {
        /// Now.
        at: i64,
    },
    /// Taken from an older epoch unconditionally: no other engine lives, because the caller holds the lock of the
    /// home.
    Older,
}
