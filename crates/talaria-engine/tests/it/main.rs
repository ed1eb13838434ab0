//! The engine against the real Codex of both versions, and against a scripted one for the faults that it will not produce.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a scenario is called by its tests, which lints do not see; where it cannot go on, it must fail them"
)]

mod crowd;
mod faults;
mod hosts;
mod install;
mod schema;
mod stage;
mod turns;
mod wire;
