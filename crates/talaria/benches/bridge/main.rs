//! How fast the bridge is: `cargo bench -p talaria --bench bridge`. Prints; fails nothing.
//!
//! `cargo bench -p talaria --bench bridge -- start` runs one part. The Codex of this bench is this very program (`codex`):
//! it notes when each message arrives, by the clock that this side uses as well. The reference's own figures, and a replay
//! of its writes, are printed next to it (`reference`).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench stops at the first surprise and prints"
)]

mod answer;
mod arrivals;
mod bare;
mod codex;
mod flood;
mod list;
mod reference;
mod samples;
mod scene;
mod start;
mod tools;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if std::env::var_os(codex::LOG).is_some() {
        // This process is the Codex of the bench. What it does not know must not start the bench once more.
        return codex::run(&arguments);
    }
    let named: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |part: &str| named.is_empty() || named.iter().any(|name| *name == part);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    row("figure", "measured", "aim");
    if is_wanted("start") {
        runtime.block_on(start::measure());
    }
    if is_wanted("answer") {
        runtime.block_on(answer::measure());
    }
    if is_wanted("tools") {
        runtime.block_on(tools::measure());
    }
    if is_wanted("list") {
        runtime.block_on(list::measure());
    }
    if is_wanted("flood") {
        runtime.block_on(flood::measure());
    }
    if is_wanted("reference") {
        runtime.block_on(reference::measure());
    }
}

fn row(figure: &str, measured: &str, aim: &str) {
    println!("{figure:<84} {measured:>10} {aim:>10}");
}
