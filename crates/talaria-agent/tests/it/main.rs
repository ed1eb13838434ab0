//! The parts of the crate that talk to peers, on loopback.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod chaos;
mod long_conversation;
mod peers;
mod transport;
