//! Silence. It is reported at growing intervals and looked into by reading the thread; it never ends anything.

use std::time::Duration;

use super::{Moment, Output, Phase, Turn};
use talaria_core::event::Event;

/// The longest pause between two words about the same silence.
const LONGEST: Duration = Duration::from_secs(3600);

/// Knows when to speak of a silence.
#[derive(Debug)]
pub(super) struct Quiet {
    /// After how long first; `None` never.
    first: Option<Duration>,
    /// The last sign of life.
    since: Moment,
    /// The pause until the next word.
    pause: Duration,
    next: Moment,
}

impl Quiet {
    pub(super) fn new(now: Moment, first: Option<Duration>) -> Self {
        let pause = first.unwrap_or(LONGEST);
        Self { first, since: now, pause, next: now + pause }
    }

    /// Something was received.
    pub(super) fn sign(&mut self, now: Moment) {
        self.since = now;
        self.pause = self.first.unwrap_or(LONGEST);
        self.next = now + self.pause;
    }

    fn at(&self) -> Option<Moment> {
        self.first.map(|_| self.next)
    }

    /// Speaks, and waits twice as long for the next time. Says how long the silence is.
    fn speak(&mut self, now: Moment) -> Duration {
        self.pause = (self.pause * 2).min(LONGEST);
        self.next = now + self.pause;
        now.saturating_sub(self.since)
    }
}

impl Turn {
    /// When to speak of the silence. While a person is asked, silence is what one expects.
    pub(super) fn quiet_at(&self) -> Option<Moment> {
        if self.is_person_asked() { None } else { self.quiet.at() }
    }

    pub(super) fn watch_silence(&mut self, now: Moment) {
        let is_due = self.quiet_at().is_some_and(|at| at <= now);
        if !matches!(self.phase, Phase::Running) || !is_due {
            return;
        }
        let seconds = self.quiet.speak(now).as_secs();
        let mut open_items: Vec<_> = self.open_items.keys().cloned().collect();
        open_items.sort();
        self.emit(Event::Quiet { seconds, open_items });
        self.outputs.push_back(Output::Read);
    }
}
