//! What the tools of the built-in model loop do on this machine. Not the loop, not the ledger, not the person's consent.
//!
//! Map: `keeper` runs commands under a small detached process, so that a new engine finds them again; `sandbox` writes
//! the command line that runs a command in Codex's own sandbox; `environment` decides what a command gets to know.

pub mod environment;
pub mod keeper;
pub mod sandbox;
