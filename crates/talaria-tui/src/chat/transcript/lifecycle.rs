//! How far a step or a patch is: running, waiting for a person, ended, or abandoned with its turn.
//!
//! Pure. Owns which event may change which state, and the first row of every state that looks the same for both. `step` and
//! `patch` call it; they draw what is their own: a running one, and one that ended.

use talaria_core::event::Abandonment;
use talaria_core::item::Status;
use talaria_core::request::{Decision, Who};
use talaria_render::{StyledLine, tool_line};

use super::cell::Page;
use super::request::{answered_elsewhere, held, unanswered, unheard};

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lifecycle {
    /// It runs since this time of day.
    Running(i64),
    /// A person is asked about it: it does not run.
    Held,
    /// A person said no.
    Refused,
    /// The question was closed without an answer: it did not run.
    Unanswered,
    /// Another client of Codex may have accepted it at this time of day: it may run.
    Elsewhere(i64),
    /// It ended, with a remark and its duration where they are known.
    Ended(Status, [Option<String>; 2]),
    /// The turn ended, and this runs in the background.
    Background,
    /// The turn ended, and no end of this was reported.
    Left(Option<Abandonment>),
    /// Only sub-agents are known, not the call that made them.
    Crew,
}

impl Lifecycle {
    /// It ended without a remark.
    pub(super) fn ended(status: Status) -> Self {
        Self::Ended(status, [None, None])
    }

    /// A person is asked about it. Returns whether it waits for the answer.
    pub(super) fn hold(&mut self) -> bool {
        if self.is_running() {
            *self = Self::Held;
        }
        *self == Self::Held
    }

    /// The person has answered. With a yes its time begins now; with a no it counts as not running until an event reports
    /// its end.
    pub(super) fn release(&mut self, now: i64, decision: Decision, by: Who) {
        if *self != Self::Held {
            return;
        }
        *self = match decision {
            Decision::Void if by == Who::OtherClient => Self::Elsewhere(now),
            Decision::Void => Self::Unanswered,
            Decision::Decline | Decision::Cancel => Self::Refused,
            _ => Self::Running(now),
        };
    }

    /// Its turn ended, and no event reported its end.
    pub(super) fn leave(&mut self, why: Option<Abandonment>) {
        match self {
            // The question is in a page that is not loaded.
            Self::Running(_) if why == Some(Abandonment::NotRun) => *self = Self::Unanswered,
            Self::Running(_) | Self::Elsewhere(_) => *self = Self::Left(why),
            Self::Held => *self = Self::Unanswered,
            Self::Refused => *self = Self::ended(Status::Declined),
            _ => {}
        }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self, Self::Running(_))
    }

    /// May an event still change it?
    pub(super) fn is_open(&self) -> bool {
        !matches!(self, Self::Unanswered | Self::Ended(..) | Self::Left(_) | Self::Crew)
    }

    /// Has an event said that it ended?
    pub(super) fn has_ended(&self) -> bool {
        matches!(self, Self::Ended(..))
    }

    /// The first row of a state that looks the same for steps and patches; `None` for the others.
    pub(super) fn head(&self, label: &str, page: &Page<'_>) -> Option<StyledLine> {
        let line = |status, why| tool_line::line(label, status, [why, None], Some(page.paper()), page.paint);
        Some(match self {
            Self::Running(_) if !page.is_heard => unheard(label, page),
            Self::Held => held(label, page),
            Self::Unanswered => unanswered(label, page),
            Self::Elsewhere(_) => answered_elsewhere(label, page),
            Self::Refused => line(Status::Declined, None),
            Self::Left(why) => line(Status::InProgress, Some(tool_line::left(*why).to_owned())),
            Self::Running(_) | Self::Ended(..) | Self::Background | Self::Crew => return None,
        })
    }
}
