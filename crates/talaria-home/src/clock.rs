//! The time of day, for stored timestamps, and the jitter of retries. Waits use the monotonic clock, which cannot be set.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX).saturating_add(jump())
}

/// A number between 0 and 1, another one each time and in each process. Not for secrets.
pub fn chance() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(random >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

#[cfg(not(feature = "faults"))]
fn jump() -> i64 {
    0
}

/// The clock offset of a test: the file that `TALARIA_CLOCK` names contains milliseconds.
#[cfg(feature = "faults")]
fn jump() -> i64 {
    let file = std::env::var_os("TALARIA_CLOCK");
    file.and_then(|file| std::fs::read_to_string(file).ok()?.trim().parse().ok()).unwrap_or(0)
}
