//! How long to wait before something is tried again: ever longer, up to a limit.
//!
//! Pure: the caller counts the retries and provides the random number. Used for a Codex that is overloaded or has not
//! written its file yet, for a store that is busy, for an engine that is being replaced, and for notifications.

use std::time::Duration;

/// Waits that grow from retry to retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    factor: u32,
}

impl Backoff {
    /// The wait before the first retry; it doubles each time until it is the longest.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, factor: 2 }
    }

    /// Grows by this factor instead.
    pub const fn growing(self, factor: u32) -> Self {
        Self { factor, ..self }
    }

    /// How long to wait before this retry, the first being 0.
    pub fn pause(self, retry: u32) -> Duration {
        let factor = self.factor.checked_pow(retry).unwrap_or(u32::MAX);
        self.first.checked_mul(factor).map_or(self.longest, |pause| pause.min(self.longest))
    }

    /// The same, up to this part of it shorter or longer, so that many who wait do not come back at once. `chance` is between
    /// 0 and 1.
    pub fn spread_pause(self, retry: u32, part: f64, chance: f64) -> Duration {
        let chance = if chance.is_finite() { chance.clamp(0.0, 1.0) } else { 0.5 };
        self.pause(retry).mul_f64(1.0 - part + 2.0 * part * chance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));

    fn milliseconds(backoff: Backoff, retries: impl IntoIterator<Item = u32>) -> Vec<u128> {
        retries.into_iter().map(|retry| backoff.pause(retry).as_millis()).collect()
    }

    #[test]
    fn waits_grow_up_to_the_longest() {
        assert_eq!(
            milliseconds(BACKOFF, [0, 1, 2, 4, 5, 31, 32, u32::MAX]),
            [50, 100, 200, 800, 1000, 1000, 1000, 1000]
        );
        assert_eq!(milliseconds(BACKOFF.growing(4), 0..4), [50, 200, 800, 1000]);
    }

    #[test]
    fn chance_spreads_a_wait_in_both_directions() {
        let spread = |chance: f64| BACKOFF.spread_pause(1, 0.25, chance).as_millis();
        assert_eq!([0.0, 0.5, 1.0, -7.0, 7.0, f64::NAN].map(spread), [75, 100, 125, 75, 125, 100]);
    }
}
