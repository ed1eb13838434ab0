//! The time that the pure code is given.

use std::time::Duration;

/// A point in time: how long after the start of the program. It does not jump when the clock is set.
pub type Moment = Duration;
