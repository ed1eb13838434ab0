//! Installs the Codex versions that the tests need, so that the test run itself needs no network.
//!
//! `cargo run -p talaria-testkit --bin install-codex` says what it does, line by line.

#![allow(clippy::print_stdout, reason = "a program for people and scripts")]

use std::time::Instant;

use anyhow::Result;
use talaria_testkit::{build_dir, codex};

fn main() -> Result<()> {
    let root = build_dir::folder("codex");
    for version in codex::VERSIONS {
        let start = Instant::now();
        let codex = codex::Codex::install(version, &root, |line| println!("{line}"))?;
        println!("  {} ({:.1} s)", codex.native.display(), start.elapsed().as_secs_f64());
    }
    Ok(())
}
