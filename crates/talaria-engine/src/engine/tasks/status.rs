//! The status of a task: derived from its turn and its open requests, so that it cannot disagree with them. Pure.
//!
//! A turn that has an outcome never gets another one: a finished task stays finished until it gets a new turn.

use talaria_core::api::TaskStatus;
use talaria_core::event::Stage;
use talaria_core::request::Who;
use talaria_store::{LastTurn, TurnRow};

use crate::engine::journal::rows;

/// The facts that determine a status.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    /// The turn that runs, or else the last one.
    pub(crate) turn: Option<TurnStanding>,
    pub(crate) open_requests: i64,
    /// Does one of them want words of a person, not only a decision?
    pub(crate) wants_words: bool,
    /// Does it wait for a place?
    pub(crate) is_queued: bool,
}

/// The state of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnStanding {
    stage: Stage,
    outcome: Option<String>,
    interrupted_by: Option<Who>,
}

/// The state of a turn in a list.
pub(crate) fn of_line(turn: &LastTurn) -> TurnStanding {
    TurnStanding {
        stage: turn.stage,
        outcome: turn.outcome_kind.clone(),
        interrupted_by: turn.interrupted_by.as_deref().and_then(rows::value),
    }
}

/// The state of a turn.
pub(crate) fn of_turn(turn: &TurnRow) -> TurnStanding {
    let report = crate::engine::queries::views::report(turn);
    TurnStanding {
        stage: turn.stage,
        outcome: report.as_ref().map(|report| report.outcome.word().to_owned()),
        interrupted_by: report.and_then(|report| report.by),
    }
}

/// The status of a task when this turn was over.
pub(crate) fn of_turn_alone(turn: &TurnRow) -> TaskStatus {
    let turn = Some(of_turn(turn));
    Standing { turn, open_requests: 0, wants_words: false, is_queued: false }.status()
}

/// Does a request of this kind want words?
pub(crate) fn is_words(kind: &str) -> bool {
    matches!(kind, "input" | "elicitation")
}

/// The status of a task whose turn Codex does not have yet.
pub(crate) fn before_it_is_sent(is_queued: bool) -> TaskStatus {
    if is_queued { TaskStatus::Queued } else { TaskStatus::Starting }
}

impl Standing {
    /// The word for it.
    pub(crate) fn status(&self) -> TaskStatus {
        let Some(turn) = &self.turn else { return TaskStatus::Starting };
        match (turn.stage, turn.outcome.as_deref()) {
            (Stage::Settled, Some("completed")) => TaskStatus::Completed,
            (Stage::Settled, Some("failed")) => TaskStatus::Failed,
            (Stage::Settled, Some("interrupted")) => interrupted(turn.interrupted_by),
            (Stage::Settled, _) => TaskStatus::Lost,
            // Before it begins, only Talaria itself asks.
            (Stage::Prepared, _) if self.open_requests > 0 => TaskStatus::WaitingForApproval,
            (Stage::Prepared, _) => before_it_is_sent(self.is_queued),
            _ if self.open_requests > 0 && self.wants_words => TaskStatus::WaitingForUserInput,
            _ if self.open_requests > 0 => TaskStatus::WaitingForApproval,
            (Stage::Sent | Stage::Unknown, _) => TaskStatus::Starting,
            (Stage::Accepted, _) => TaskStatus::Working,
        }
    }
}

/// A task that was asked to stop is cancelled. One that stopped without being asked has failed.
fn interrupted(by: Option<Who>) -> TaskStatus {
    match by {
        Some(Who::User | Who::Model | Who::Stop | Who::Demo) => TaskStatus::Cancelled,
        _ => TaskStatus::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(stage: Stage, outcome: Option<&str>, by: Option<Who>) -> Standing {
        let turn = TurnStanding { stage, outcome: outcome.map(str::to_owned), interrupted_by: by };
        Standing { turn: Some(turn), open_requests: 0, wants_words: false, is_queued: false }
    }

    #[test]
    fn a_status_is_what_turn_and_requests_say() {
        let asking =
            |wants_words| Standing { open_requests: 1, wants_words, ..standing(Stage::Accepted, None, None) };
        let queued = Standing { is_queued: true, ..standing(Stage::Prepared, None, None) };
        let unbegun = Standing { open_requests: 1, ..standing(Stage::Prepared, None, None) };
        let cases = [
            (queued, TaskStatus::Queued),
            (unbegun, TaskStatus::WaitingForApproval),
            (standing(Stage::Prepared, None, None), TaskStatus::Starting),
            (standing(Stage::Sent, None, None), TaskStatus::Starting),
            (standing(Stage::Unknown, None, None), TaskStatus::Starting),
            (standing(Stage::Accepted, None, None), TaskStatus::Working),
            (asking(false), TaskStatus::WaitingForApproval),
            (asking(true), TaskStatus::WaitingForUserInput),
            (standing(Stage::Settled, Some("completed"), None), TaskStatus::Completed),
            (standing(Stage::Settled, Some("failed"), None), TaskStatus::Failed),
            (standing(Stage::Settled, Some("lost"), None), TaskStatus::Lost),
            (standing(Stage::Settled, Some("interrupted"), Some(Who::User)), TaskStatus::Cancelled),
            (standing(Stage::Settled, Some("interrupted"), Some(Who::Model)), TaskStatus::Cancelled),
            (standing(Stage::Settled, Some("interrupted"), Some(Who::Stop)), TaskStatus::Cancelled),
            (standing(Stage::Settled, Some("interrupted"), Some(Who::Deadline)), TaskStatus::Failed),
            (standing(Stage::Settled, Some("interrupted"), Some(Who::Codex)), TaskStatus::Failed),
            (standing(Stage::Settled, Some("interrupted"), None), TaskStatus::Failed),
        ];
        for (standing, status) in cases {
            assert_eq!(standing.status(), status, "{standing:?}");
        }
    }

    #[test]
    fn what_is_over_stays_over_whatever_requests_say() {
        for outcome in ["completed", "failed", "interrupted", "lost"] {
            let over = standing(Stage::Settled, Some(outcome), Some(Who::User));
            let asking = Standing { open_requests: 3, wants_words: true, is_queued: true, ..over.clone() };
            assert_eq!(asking.status(), over.status());
            assert!(over.status().is_terminal());
        }
    }
}
