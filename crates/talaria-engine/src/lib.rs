//! The engine of one home: sessions, tasks, requests, notifications, recovery.
//!
//! Map: `engine` owns the store, the hosts and the sessions of a home. `notify` delivers notifications, `worktree` creates a
//! separate checkout for a task, `program` runs a short-lived program, `peer_process` examines the process of a caller.

pub mod engine;
pub mod notify;
pub mod peer_process;
mod program;
pub mod worktree;
