//! Pages are fetched from real servers on loopback, over a network whose names and addresses the test decides.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a scenario is called by its tests, which lints do not see; where it cannot go on, it must fail them"
)]

mod hops;
mod pages;
mod secrets;
mod server;
