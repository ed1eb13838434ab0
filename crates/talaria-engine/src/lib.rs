//! What one home's engine does: sessions, tasks, requests, notifications, recovery.
//!
//! Map: `engine` owns the store, the hosts and the sessions of a home. `notify` delivers notifications, `worktree` gives a
//! task a checkout of its own, `program` runs a program for a moment, `peer_process` examines the process of a caller, `leftovers` finds and ends what a killed
//! engine left.

pub mod engine;
pub mod notify;
pub mod peer_process;
mod program;
pub mod worktree;
