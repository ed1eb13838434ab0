//! How fast the built-in loop is: `cargo bench -p talaria --bench own_loop`. Prints; fails nothing.
//!
//! `cargo bench -p talaria --bench own_loop -- deltas` runs one part: `deltas`, `turns`, `stop`, `waiting` or `prompt`. The
//! engine is the real program with its real store. The provider of this bench is a plain socket in this process (`provider`), so that
//! its clock is the bench's. The limit is a hyper client that does the least with the same answer, as a process of its own
//! (`limit`). The figures of others were measured earlier with the same answers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench stops at the first surprise and prints"
)]

mod cpu;
mod deltas;
mod limit;
mod prompt;
mod provider;
mod scene;
mod stop;
mod turns;
mod waiting;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, address] = arguments.as_slice()
        && first == limit::NAME
    {
        return limit::run(address);
    }
    let named: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |part: &str| named.is_empty() || named.iter().any(|name| *name == part);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    row("figure", "measured", "aim");
    if is_wanted("deltas") {
        runtime.block_on(deltas::measure());
    }
    if is_wanted("turns") {
        runtime.block_on(turns::measure());
    }
    if is_wanted("stop") {
        runtime.block_on(stop::measure());
    }
    if is_wanted("waiting") {
        runtime.block_on(waiting::measure());
    }
    if is_wanted("prompt") {
        runtime.block_on(prompt::measure());
    }
}

fn row(figure: &str, measured: &str, aim: &str) {
    println!("{figure:<76} {measured:>14} {aim:>10}");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn best(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}
