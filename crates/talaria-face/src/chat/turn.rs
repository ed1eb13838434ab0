//! Whether a turn runs, since when, and whether it was asked to stop. Learned from events alone, once there are some.

use std::time::Duration;

use jiff::Timestamp;
use talaria_core::api::Numbered;
use talaria_core::event::{Event, Stage};

/// How the turn of this conversation stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Turn {
    /// None runs.
    #[default]
    Idle,
    /// One was asked for; the engine has not said that it has it.
    Asked {
        since: Duration,
        /// Is it to stop as soon as it has begun?
        is_stopping: bool,
    },
    /// One runs.
    Running {
        since: Duration,
        /// When it began, by the engine's clock.
        began: Option<Timestamp>,
        /// Was it asked to stop?
        is_stopping: bool,
    },
}

impl Turn {
    pub(super) fn is_running(self) -> bool {
        matches!(self, Self::Running { .. })
    }

    pub(super) fn is_idle(self) -> bool {
        self == Self::Idle
    }

    /// How long it has been going on.
    pub(super) fn elapsed(self, now: Duration) -> Option<Duration> {
        match self {
            Self::Idle => None,
            Self::Asked { since, .. } | Self::Running { since, .. } => Some(now.saturating_sub(since)),
        }
    }

    /// Is it to stop as soon as it has begun?
    pub(super) fn is_unwanted(self) -> bool {
        matches!(self, Self::Asked { is_stopping: true, .. })
    }

    /// The engine has written it down.
    pub(super) fn started(&mut self, now: Duration) {
        *self = match *self {
            Self::Idle => Self::Running { since: now, began: None, is_stopping: false },
            Self::Asked { since, is_stopping } => Self::Running { since, began: None, is_stopping },
            running => running,
        };
    }

    /// A person wants it to stop.
    pub(super) fn stop(&mut self) {
        if let Self::Asked { is_stopping, .. } | Self::Running { is_stopping, .. } = self {
            *is_stopping = true;
        }
    }

    /// It was not stopped.
    pub(super) fn go_on(&mut self) {
        if let Self::Running { is_stopping, .. } = self {
            *is_stopping = false;
        }
    }

    /// Learns from an event. What comes from the past counts from when it was written down.
    pub(super) fn event(&mut self, now: Duration, numbered: &Numbered) {
        match &numbered.event {
            Event::Outcome(_) => *self = Self::Idle,
            Event::Ledger { stage: Stage::Prepared, .. } | Event::TurnStarted { .. } => self.started(now),
            Event::Interrupting { .. } => self.stop(),
            _ => {}
        }
        if let Self::Running { since, began, .. } = self {
            let began = *began.get_or_insert(numbered.at);
            let past = Duration::try_from(numbered.at.duration_since(began)).unwrap_or_default();
            *since = (*since).min(now.saturating_sub(past));
        }
    }
}
