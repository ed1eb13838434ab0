//! When a failed attempt is repeated, and when no more.
//!
//! Pure: the time and the chance come in as numbers. Waits grow fourfold from 15 seconds to at most six hours, so that
//! the ten attempts of the default take about a day. What will not get better is given up at once. Called by the
//! engine's deliverer.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(15);
const LONGEST: Duration = Duration::from_hours(6);
/// A receiver that asks for more patience than this gets this much.
const PATIENCE: Duration = Duration::from_hours(24);
/// How many attempts are made unless the configuration says otherwise.
const ATTEMPTS: u32 = 10;

/// Why an attempt failed, as far as it decides what comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It will fail again in the same way.
    Permanent,
    /// It may go better later.
    Passing {
        /// How long the receiver wants to be left alone.
        retry_after: Option<Duration>,
    },
}

impl Fault {
    /// A fault that may pass, with nothing said about when.
    pub const PASSING: Self = Self::Passing { retry_after: None };

    /// What the status of an HTTP answer means; `None` is success.
    pub fn of_status(status: u16, retry_after: Option<Duration>) -> Option<Self> {
        match status {
            200..=299 => None,
            408 | 425 | 429 => Some(Self::Passing { retry_after }),
            // A redirect is not followed: it would lead past the check of the address.
            300..=499 => Some(Self::Permanent),
            _ => Some(Self::Passing { retry_after }),
        }
    }
}

/// What happens after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It is tried again at this time, in milliseconds since 1970.
    Retry {
        /// When.
        due_at: i64,
    },
    /// It is given up.
    Abandon,
}

/// How often and how patiently something is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    attempts: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { attempts: ATTEMPTS }
    }
}

impl Backoff {
    /// Sets how many attempts are made, at least one.
    pub fn new(attempts: u32) -> Self {
        Self { attempts: attempts.max(1) }
    }

    /// Says how many attempts are made.
    pub fn attempts(self) -> u32 {
        self.attempts
    }

    /// Decides after the failure of attempt number `attempt` (from 1) at `now`, in milliseconds since 1970.
    ///
    /// `chance` lies between 0 and 1 and spreads the wait by a fifth in both directions.
    pub fn next(self, fault: Fault, attempt: u32, now: i64, chance: f64) -> Next {
        let retry_after = match fault {
            Fault::Permanent => return Next::Abandon,
            Fault::Passing { .. } if attempt >= self.attempts => return Next::Abandon,
            Fault::Passing { retry_after } => retry_after.unwrap_or_default().min(PATIENCE),
        };
        let factor = 4_u32.checked_pow(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
        let wait = FIRST.checked_mul(factor).map_or(LONGEST, |wait| wait.min(LONGEST));
        let chance = if chance.is_finite() { chance.clamp(0.0, 1.0) } else { 0.5 };
        let wait = wait.mul_f64(0.8 + 0.4 * chance).max(retry_after);
        Next::Retry { due_at: now.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)) }
    }
}
