//! How much a process has run, user and kernel together.

use std::fs;

/// What the kernel calls a tick, in milliseconds.
const TICK: f64 = 10.0;

/// Milliseconds that a process has run, with all its threads, those that ended included.
pub(crate) fn of(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The name of the program, in parentheses, may contain anything.
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 2..].split(' ').collect();
    let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) * TICK
}

/// Nanoseconds that this thread has run.
pub(crate) fn own() -> u64 {
    // Reading this one makes the kernel bring the other one up to date, which otherwise lags by a tick.
    let _ = fs::read("/proc/self/stat");
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}
