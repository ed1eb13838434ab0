//! Commands below real keepers, in the real sandbox of both versions of Codex.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a scene that cannot be played fails its test")]

mod keeper_process;
mod keepers;
mod sandboxes;
