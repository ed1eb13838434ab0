//! What acts: Codex hosts, sessions, files and processes. Decisions are `talaria-core`'s.
//!
//! Map: `home` is Talaria's own directory and configuration file, `codex` finds, installs and runs Codex, `session` runs
//! turns on it, `revival` brings a conversation back when its Codex is gone, `engine` keeps all of it for one home.
//! `identity` tells a home from a copy of it, `leftovers` finds and ends what an engine left that is gone.
//! `peer_process` examines the process of a caller.
//! `socket_path` is where the engine of a home listens.
//! `user_file` replaces a file of the user whole or not at all; `migrate` does so with Codex's configuration; `permit` makes
//! sure that the input of a turn is written to Codex once.
//! turns on it, `hermes` brings along what a person had there, `user_file` replaces a file of the user whole or not at all, `revival` brings a conversation back when its Codex is gone, `engine` keeps all of it for one home.

mod clock;
pub mod codex;
pub mod engine;
mod faults;
pub mod hermes;
pub mod home;
pub mod identity;
pub mod leftovers;
pub mod migrate;
pub mod notify;
pub mod peer_process;
pub mod permit;
pub mod revival;
pub mod session;
pub mod socket_path;
pub mod user_file;
pub mod worktree;

pub use faults::is_panic_wanted;
