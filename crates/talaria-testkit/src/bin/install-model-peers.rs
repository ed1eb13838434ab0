//! Installs the programs that the tests of the model loop speak with, so that the test run itself needs no network.
//!
//! `cargo run -p talaria-testkit --bin install-model-peers` says what it does, line by line.

#![allow(clippy::print_stdout, reason = "a program for people and scripts")]

use anyhow::Result;
use talaria_testkit::model_peers;

fn main() -> Result<()> {
    model_peers::install(|line| println!("{line}"))
}
