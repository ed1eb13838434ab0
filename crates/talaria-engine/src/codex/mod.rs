//! Everything about the Codex program: finding and installing it, running it as a host, talking to it.

pub mod attach;
pub(crate) mod boot;
pub mod client;
pub mod commands;
pub(crate) mod complaints;
mod connection;
pub mod current;
pub(crate) mod descendants;
pub(crate) mod directory;
pub(crate) mod environment;
pub mod host;
pub mod install;
pub mod keeping;
pub mod key;
pub mod live_turns;
pub mod locate;
mod memory;
pub(crate) mod ownership;
pub mod pool;
pub(crate) mod process;
pub(crate) mod queue;
mod router;
pub mod schema;
mod seats;
pub(crate) mod secrets;
pub mod source;
pub mod spec;
pub(crate) mod stranger;
mod sweep;
pub mod terminals;
pub mod threads;
mod transport;
pub(crate) mod trust;
pub(crate) mod users_servers;

pub use transport::Transport;
