//! The caller's limit of a turn. The time that a person takes to answer does not count.

use std::time::Duration;

use super::Moment;

/// The caller's limit, which runs only while no one is being asked.
#[derive(Debug)]
pub(super) struct Deadline {
    left: Option<Duration>,
    /// Since when the clock runs; `None` while a person is being asked.
    running_since: Option<Moment>,
}

impl Deadline {
    /// Starts the clock.
    pub(super) fn new(now: Moment, limit: Option<Duration>) -> Self {
        Self { left: limit, running_since: Some(now) }
    }

    /// When it is over; `None` while it does not run.
    pub(super) fn at(&self) -> Option<Moment> {
        Some(self.running_since? + self.left?)
    }

    /// Stops the clock.
    pub(super) fn pause(&mut self, now: Moment) {
        if let (Some(since), Some(left)) = (self.running_since.take(), self.left) {
            self.left = Some(left.saturating_sub(now.saturating_sub(since)));
        }
    }

    /// Lets the clock run on.
    pub(super) fn resume(&mut self, now: Moment) {
        self.running_since.get_or_insert(now);
    }
}
