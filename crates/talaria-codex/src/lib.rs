//! Runs Codex: finds and installs it, manages its processes, talks to its app-server, edits its configuration file.
//!
//! Map: `locate` and `install` find or fetch the program, `process` and `host` run it, `pool` keeps many hosts and
//! `host_register` records them for the next engine (`ownership` and `identity` prove which are ours). `connection`,
//! `router`, `queue` and `client` carry messages; `threads` starts, resumes and reads threads, `attach` joins one that
//! runs. `conversation` runs turns on a thread, `revival` moves it to another host when its Codex is gone, `permit`
//! makes sure that input is written once. `commands` and `terminals` are a person's own commands and those that outlive
//! a turn. `secrets` and `trust` prepare what a thread may see, `migrate` plans and applies edits of Codex's
//! configuration.

pub mod attach;
pub mod client;
mod command_output;
pub mod commands;
mod connection;
pub mod conversation;
pub mod current;
pub mod directory;
pub mod environment;
pub mod host;
pub mod host_register;
pub mod identity;
pub mod install;
pub mod key;
pub mod live_turns;
pub mod locate;
mod memory;
pub mod migrate;
pub mod ownership;
pub mod permit;
pub mod pool;
pub mod process;
pub mod queue;
pub mod revival;
mod router;
pub mod schema;
pub mod secrets;
pub mod source;
pub mod spec;
pub mod stderr;
mod sweep;
pub mod terminals;
pub mod thread_slots;
pub mod threads;
mod transport;
pub mod trust;
pub mod users_servers;

pub use transport::HostTransport;
