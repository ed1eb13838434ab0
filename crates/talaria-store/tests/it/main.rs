//! The store from outside: the contract on SQLite, and what only a file can do.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod contract;
