//! Installs the MCP clients that the tests need, so that the test run itself needs no network.
//!
//! `cargo run -p talaria-testkit --bin install-mcp-clients` says what it does, line by line.

#![allow(clippy::print_stdout, reason = "a program for people and scripts")]

use anyhow::Result;
use talaria_testkit::mcp_clients;

fn main() -> Result<()> {
    mcp_clients::install(|line| println!("{line}"))
}
