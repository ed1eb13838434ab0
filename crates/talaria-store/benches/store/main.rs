//! How fast the store is, as ratios in one run: `cargo bench -p talaria-store --bench store`.
//!
//! Writing is compared with raw SQLite on the same disk in the same run (`bench/sqlite-baseline`, a program of its own).
//! Reading is timed in a database of 10,000 sessions and 1,000,000 events, the list of tasks in one of 10,000 tasks.
//! Arguments after `--` select the parts `writing`, `reading`, `snapshot` and `tasks`; the default is all.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench stops at the first surprise and prints"
)]

mod baseline;
mod reading;
mod snapshot;
mod tasks;
mod writing;

use std::path::{Path, PathBuf};

fn main() {
    let place = place();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // Cargo adds its own options.
    let parts: Vec<String> = std::env::args().skip(1).filter(|part| !part.starts_with('-')).collect();
    let is_wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    if is_wanted("writing") {
        row("figure", "measured", "aim");
        writing::measure(&runtime, &place);
    }
    if is_wanted("reading") {
        row("\n10,000 sessions, 1,000,000 events, warm", "measured", "aim");
        runtime.block_on(reading::measure(&place));
    }
    if is_wanted("snapshot") {
        row("\n500 entries of the memory, 200 skills, warm", "measured", "aim");
        runtime.block_on(snapshot::measure(&place));
    }
    if is_wanted("tasks") {
        row("\n10,000 tasks with answers of 4 KB, warm", "measured", "aim");
        runtime.block_on(tasks::measure(&place));
    }
}

fn row(figure: &str, measured: &str, aim: &str) {
    println!("{figure:<76} {measured:>14} {aim:>10}");
}

/// A directory below the build directory: on a real disk, not in memory.
fn place() -> PathBuf {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench-store");
    std::fs::create_dir_all(&place).unwrap();
    place
}

/// An empty directory of this name.
fn fresh(place: &Path, name: &str) -> PathBuf {
    let directory = place.join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}
