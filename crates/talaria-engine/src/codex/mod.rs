//! Everything about the Codex program: finding and installing it, running it as a host, talking to it.

pub mod client;
pub(crate) mod complaints;
mod connection;
pub mod current;
mod descendants;
mod directory;
mod environment;
pub mod host;
pub mod install;
pub mod live_turns;
pub mod locate;
mod process;
pub(crate) mod queue;
mod router;
pub mod schema;
mod sweep;
pub mod terminals;
pub mod threads;
mod transport;
mod trust;

pub use transport::Transport;
