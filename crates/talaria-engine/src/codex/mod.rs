//! Everything about the Codex program: finding and installing it, running it as a host, talking to it.

pub mod client;
mod connection;
mod descendants;
mod directory;
mod environment;
pub mod host;
pub mod install;
pub mod locate;
mod process;
pub(crate) mod queue;
mod router;
pub mod schema;
mod sweep;
mod transport;
mod trust;

pub use transport::Transport;
