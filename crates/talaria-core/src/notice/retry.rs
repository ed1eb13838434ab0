//! When a failed attempt is repeated, and when no more.
//!
//! Pure: time and randomness are arguments. Waits (`backoff`) grow fourfold from 15 seconds to at most six hours, so that
//! the ten attempts of the default take about a day. Permanent failures are not retried. Called by the engine's
//! deliverer.

use std::time::Duration;

use crate::backoff::Backoff;

const BACKOFF: Backoff = Backoff::new(Duration::from_secs(15), Duration::from_hours(6)).growing(4);
/// A wait is up to this part of it shorter or longer.
const SPREAD: f64 = 0.2;
/// A receiver that asks for more patience than this gets this much.
const PATIENCE: Duration = Duration::from_hours(24);
/// How many attempts are made unless the configuration says otherwise.
const ATTEMPTS: u32 = 10;

/// Why an attempt failed, as far as it decides about a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It will fail again in the same way.
    Permanent,
    /// It may go better later.
    Passing {
        /// The receiver's `Retry-After`.
        retry_after: Option<Duration>,
    },
}

impl Fault {
    /// A fault that may pass, with nothing said about when.
    pub const PASSING: Self = Self::Passing { retry_after: None };

    /// Classifies an HTTP status; `None` is success.
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
pub struct RetryPolicy {
    attempts: u32,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: ATTEMPTS }
    }
}

impl RetryPolicy {
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
    /// `chance` is between 0 and 1 and spreads the wait.
    pub fn next(self, fault: Fault, attempt: u32, now: i64, chance: f64) -> Next {
        let retry_after = match fault {
            Fault::Permanent => return Next::Abandon,
            Fault::Passing { .. } if attempt >= self.attempts => return Next::Abandon,
            Fault::Passing { retry_after } => retry_after.unwrap_or_default().min(PATIENCE),
        };
        let wait = BACKOFF.spread_pause(attempt.saturating_sub(1), SPREAD, chance).max(retry_after);
        Next::Retry { due_at: now.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)) }
    }
}
