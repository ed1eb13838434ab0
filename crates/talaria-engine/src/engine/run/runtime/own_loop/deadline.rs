//! The limit of a turn; the time that a person takes to answer does not count.

use std::time::Duration;

use tokio::time::Instant;

/// Counts down while no person is asked.
pub(super) struct Deadline {
    left: Option<Duration>,
    /// Since when it counts; none while a person is asked.
    since: Option<Instant>,
}

impl Deadline {
    pub(super) fn new(limit: Option<Duration>) -> Self {
        Self { left: limit, since: Some(Instant::now()) }
    }

    /// When it passes, as things are.
    pub(super) fn at(&self) -> Option<Instant> {
        Some(self.since? + self.left?)
    }

    /// A person is asked.
    pub(super) fn pause(&mut self) {
        if let (Some(since), Some(left)) = (self.since.take(), &mut self.left) {
            *left = left.saturating_sub(since.elapsed());
        }
    }

    /// No person is asked any more.
    pub(super) fn resume(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// It has passed: it does so once.
    pub(super) fn pass(&mut self) {
        self.left = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_time_in_which_a_person_is_asked_does_not_count() {
        let second = Duration::from_secs(1);
        let mut deadline = Deadline::new(Some(10 * second));
        tokio::time::advance(4 * second).await;
        deadline.pause();
        assert_eq!(deadline.at(), None, "it cannot pass while a person is asked");
        // A second request at the same time changes nothing.
        deadline.pause();
        tokio::time::advance(3_600 * second).await;
        deadline.resume();
        deadline.resume();
        assert_eq!(deadline.at(), Some(Instant::now() + 6 * second));
        deadline.pass();
        assert_eq!(deadline.at(), None, "it passes once");
    }
}
