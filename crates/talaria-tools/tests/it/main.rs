//! Commands below real keepers, in the real sandbox of both versions of Codex; calls from plan to result, and crashes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a scene that cannot be played fails its test")]

mod edit_crashes;
mod keeper_process;
mod keepers;
mod runner;
mod sandboxes;
