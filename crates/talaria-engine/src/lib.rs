//! What acts: Codex hosts, sessions, files and processes. Decisions are `talaria-core`'s.
//!
//! Map: `home` is Talaria's own directory and configuration file, `codex` finds, installs and runs Codex, `session` runs
//! turns on it.

pub mod codex;
pub mod home;
pub mod session;
