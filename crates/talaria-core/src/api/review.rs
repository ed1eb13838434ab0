//! Reviews of finished turns, as a conversation shows them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::Usage;
use crate::review::{ReviewReport, ReviewState, turns};

/// One review of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewInfo {
    /// The first turn that it is about.
    pub first_turn: i64,
    /// The last one.
    pub last_turn: i64,
    /// How far it is.
    pub state: ReviewState,
    /// How often it was begun.
    pub attempts: i64,
    /// When it was recorded.
    pub due_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Tokens used so far.
    pub usage: Option<Usage>,
    /// Result.
    pub report: Option<ReviewReport>,
}

impl ReviewInfo {
    /// Its status, on one line for a person.
    pub fn line(&self) -> String {
        let turns = turns(self.first_turn, self.last_turn);
        match (self.state, self.report.as_ref().and_then(ReviewReport::line)) {
            (ReviewState::Due, _) => format!("{turns} will be reviewed when no turn runs"),
            (ReviewState::Running, _) => format!("{turns}: a review is running"),
            (_, Some(line)) => line,
            (_, None) => format!("{turns} reviewed: nothing to keep"),
        }
    }
}
