//! The time of day, for stored timestamps. Waits use the monotonic clock, which cannot be set.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX).saturating_add(jump())
}

#[cfg(not(feature = "faults"))]
fn jump() -> i64 {
    0
}

/// By how much a test has set the clock: the file that `TALARIA_CLOCK` names holds milliseconds.
#[cfg(feature = "faults")]
fn jump() -> i64 {
    let file = std::env::var_os("TALARIA_CLOCK");
    file.and_then(|file| std::fs::read_to_string(file).ok()?.trim().parse().ok()).unwrap_or(0)
}
