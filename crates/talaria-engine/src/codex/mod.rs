//! Everything about the Codex program: finding and installing it, running it as a host, talking to it.

pub mod attach;
mod boot;
pub mod client;
pub mod commands;
pub(crate) mod complaints;
mod connection;
pub mod current;
mod descendants;
mod directory;
mod environment;
pub mod host;
pub mod install;
pub mod keeping;
pub mod key;
pub mod live_turns;
pub mod locate;
mod memory;
pub mod pool;
mod process;
pub(crate) mod queue;
mod router;
pub mod schema;
mod seats;
pub mod source;
pub mod spec;
mod stranger;
mod sweep;
pub mod terminals;
pub mod threads;
mod transport;
pub(crate) mod trust;
pub(crate) mod users_servers;

pub use transport::Transport;
