//! Reviews of finished turns: durable jobs, one open per session. `talaria_core::learning` decides when one is due.

use talaria_core::ids::SessionId;
use talaria_core::learning::progress::ReviewSubjects;
use talaria_core::review::ReviewState;

/// What happens to a review that is on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewStep {
    /// It begins. A conflict unless it is due.
    Run,
    /// The model answered; the cost so far is recorded with it. A conflict unless the engine of this batch runs it.
    Answered { answer: String, usage: String },
    /// It is due again: a turn takes precedence. This attempt does not count. A conflict unless the engine of this batch
    /// runs it.
    Defer,
    /// It ended. A conflict if it had ended before.
    End { state: ReviewState, report: String, usage: Option<String> },
}

/// A review on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewRow {
    pub id: i64,
    pub session: SessionId,
    /// Our own turns, by ordinal.
    pub first_turn: i64,
    pub last_turn: i64,
    /// What it asks about.
    pub asks: ReviewSubjects,
    pub state: ReviewState,
    /// How often it was begun.
    pub attempts: i64,
    /// The engine that began it last.
    pub epoch: Option<i64>,
    /// The proposals of the model, as JSON, until they are applied.
    pub answer: Option<String>,
    /// Its token usage, as JSON.
    pub usage: Option<String>,
    /// Its result, as JSON.
    pub report: Option<String>,
    pub due_at: i64,
    pub started_at: Option<i64>,
    pub ended_at: Option<i64>,
}
