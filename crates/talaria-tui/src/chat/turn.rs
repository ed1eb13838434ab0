//! Whether a turn runs, since when, and whether it was asked to stop. Learned from events alone, once there are some.
//!
//! Time is counted by the driver's clock, which does not jump. The time of day is only used for how long a turn had
//! been running when it was first seen. If its beginning is unknown, no time is shown.

use std::time::Duration;

use jiff::Timestamp;
use talaria_core::api::Numbered;
use talaria_core::event::{Event, Stage};

/// State of the turn of this conversation.
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
        /// Its number, once an event reported it.
        number: Option<i64>,
        lap: Option<Lap>,
        /// Was it asked to stop?
        is_stopping: bool,
    },
}

/// Whether the conversation is followed, so that the state of its turn is current.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sight {
    /// It is, as long as the engine is available.
    #[default]
    Kept,
    /// It is not. No turn ran when it was followed last.
    Lost,
    /// It is not. A turn ran when it was followed last, and was not seen to end.
    LostTurn,
}

/// When a turn was first seen, and how long it had been running by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lap {
    heard: Duration,
    before: Duration,
}

impl Lap {
    /// It begins now.
    pub(super) fn new(now: Duration) -> Self {
        Self { heard: now, before: Duration::ZERO }
    }

    /// It began at this time of day. A time in the future counts as now.
    fn since(began: Timestamp, now: Duration, wall: Option<Timestamp>) -> Self {
        let before = wall.and_then(|wall| Duration::try_from(wall.duration_since(began)).ok());
        Self { heard: now, before: before.unwrap_or_default() }
    }
}

impl Turn {
    pub(super) fn is_running(self) -> bool {
        matches!(self, Self::Running { .. })
    }

    pub(super) fn is_idle(self) -> bool {
        self == Self::Idle
    }

    /// How long it has been running, where its beginning is known.
    pub(super) fn elapsed(self, now: Duration) -> Option<Duration> {
        match self {
            Self::Idle => None,
            Self::Asked { since, .. } => Some(now.saturating_sub(since)),
            Self::Running { lap, .. } => lap.map(|lap| now.saturating_sub(lap.heard) + lap.before),
        }
    }

    /// Whether only its existence is known.
    pub(super) fn is_unheard(self) -> bool {
        matches!(self, Self::Running { number: None, lap: None, .. })
    }

    /// Is it to stop as soon as it has begun?
    pub(super) fn is_unwanted(self) -> bool {
        matches!(self, Self::Asked { is_stopping: true, .. })
    }

    /// It runs, and when it began is not known.
    pub(super) fn found() -> Self {
        Self::Running { number: None, lap: None, is_stopping: false }
    }

    /// The engine has written it down. If it was asked for here, it counts from then.
    pub(super) fn started(&mut self, told: Option<i64>, lap: Lap) {
        *self = match *self {
            Self::Idle => Self::Running { number: told, lap: Some(lap), is_stopping: false },
            Self::Asked { since, is_stopping } => {
                Self::Running { number: told, lap: Some(Lap::new(since)), is_stopping }
            }
            Self::Running { number, lap: known, is_stopping } => {
                Self::Running { number: number.or(told), lap: known.or(Some(lap)), is_stopping }
            }
        };
    }

    /// Does the event belong to a turn before the one that runs?
    pub(super) fn is_after(self, numbered: &Numbered) -> bool {
        let Self::Running { number: Some(number), .. } = self else { return false };
        numbered.turn.is_some_and(|turn| turn < number)
    }

    /// Was it asked to stop?
    pub(super) fn is_stopping(self) -> bool {
        matches!(self, Self::Asked { is_stopping: true, .. } | Self::Running { is_stopping: true, .. })
    }

    /// A person asked to stop it.
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

    /// Learns from an event; `wall` is the time of day now.
    pub(super) fn event(&mut self, now: Duration, wall: Option<Timestamp>, numbered: &Numbered) {
        match &numbered.event {
            Event::Outcome(_) => *self = Self::Idle,
            Event::Interrupting { .. } => self.stop(),
            event if is_beginning(event) => self.started(numbered.turn, Lap::since(numbered.at, now, wall)),
            _ => {}
        }
        if let Self::Running { number, .. } = self {
            *number = number.or(numbered.turn);
        }
    }

    /// Learns from an event that was fetched later: it may contain the start of the running turn.
    pub(super) fn older(&mut self, now: Duration, wall: Option<Timestamp>, numbered: &Numbered) {
        if let Self::Running { number: Some(number), lap: lap @ None, .. } = self
            && numbered.turn == Some(*number)
            && is_beginning(&numbered.event)
        {
            *lap = Some(Lap::since(numbered.at, now, wall));
        }
    }
}

fn is_beginning(event: &Event) -> bool {
    matches!(event, Event::Ledger { stage: Stage::Prepared, .. } | Event::TurnStarted { .. })
}
