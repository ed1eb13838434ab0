//! The harness itself: the real Codex accepts the scripted model, and the stand-in behaves like Codex.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![allow(clippy::panic, reason = "helpers of tests fail as tests do")]

mod architecture;
mod dependencies;
mod documents;
mod escapes;
mod ignored;
mod install;
mod messages;
mod prose;
mod real_codex;
mod reference;
mod scripted_app_server;
mod terminal;
mod timing;
mod traceability;
mod type_names;
mod unused;
mod wire;
