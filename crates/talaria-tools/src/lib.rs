//! What the tools of the built-in model loop do on this machine. Not the loop, not the ledger, not the person's consent.
//!
//! Map: `keeper` runs commands under a small detached process, so that a new engine finds them again; `sandbox` writes
//! the command line that runs a command in Codex's own sandbox; `environment` decides what a command gets to know. `files`
//! reads, edits and searches. `call` has the tools as a model sees them, `consent` and `batch` decide what may happen and
//! what may happen together. `runner` is the interface to the engine.

pub mod batch;
pub mod call;
pub mod consent;
pub mod environment;
pub mod files;
pub mod keeper;
pub mod runner;
pub mod sandbox;
