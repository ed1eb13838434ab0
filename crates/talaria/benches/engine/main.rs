//! Memory and restart time of the engine: `cargo bench -p talaria --bench engine`. Prints; fails nothing.
//!
//! `cargo bench -p talaria --bench engine -- sessions` runs one part. Engines and Codexes are separate processes, each
//! scene in its own home; all processes of a scene have ended before the next one begins.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench stops at the first surprise and prints"
)]

mod commands;
mod finished;
mod flood;
mod memory;
mod play;
mod scene;
mod sessions;
mod threads;

fn main() {
    let named: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted = |part: &str| named.is_empty() || named.iter().any(|name| name == part);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    row("figure", "measured", "aim");
    if is_wanted("sessions") {
        runtime.block_on(sessions::measure());
    }
    if is_wanted("finished") {
        runtime.block_on(finished::measure());
    }
    if is_wanted("threads") {
        runtime.block_on(threads::measure());
    }
    if is_wanted("commands") {
        runtime.block_on(commands::measure());
    }
    if is_wanted("flood") {
        runtime.block_on(flood::measure());
    }
}

fn row(figure: &str, measured: &str, aim: &str) {
    println!("{figure:<66} {measured:>10} {aim:>10}");
}
