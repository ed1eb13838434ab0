//! Requests: questions to a person, and their answers.

use talaria_core::ids::{SessionId, TicketId};

use crate::model::audit::NewAudit;
use crate::model::words::RequestState;

/// A new question; it is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRequest {
    /// Our name for it.
    pub id: TicketId,
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
    /// Who asks.
    pub origin: RequestOrigin,
    /// Kind of question.
    pub kind: String,
    /// The question in one line, redacted.
    pub summary: String,
    /// Where it would happen.
    pub place: Option<String>,
    /// The question as JSON, redacted.
    pub ask: String,
    /// The binding of an answer that outlives the Codex that asked; with `None` an answer is never kept in
    /// escrow.
    pub binding: Option<String>,
}

/// Who asks and how the question is found again, in words that only the asker reads: the store returns them unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestOrigin {
    /// The host that asks, by its nonce; its row is kept as long as the request. `None` if no host asks.
    pub host: Option<String>,
    /// The rest, as JSON text.
    pub json: String,
}

/// Changes of a request. `None` leaves a field as it is; going back to `open` takes the answer away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPatch {
    /// Which request.
    pub id: TicketId,
    /// Its state. `void` means unanswered: an answer that arrived meanwhile is kept in escrow where possible, and is
    /// `undelivered` otherwise.
    pub state: Option<RequestState>,
    /// The decision in a word.
    pub decision: Option<String>,
    /// The answer, sealed, until Codex has it.
    pub answer_sealed: Option<Vec<u8>>,
    /// Who decided. The time is the time of the batch.
    pub answered_by: Option<String>,
    /// Until when an answer is kept in escrow.
    pub expires_at: Option<i64>,
}

impl RequestPatch {
    /// A patch that changes nothing but the state.
    pub fn state(id: TicketId, state: RequestState) -> Self {
        Self {
            id,
            state: Some(state),
            decision: None,
            answer_sealed: None,
            answered_by: None,
            expires_at: None,
        }
    }
}

/// A stored question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRow {
    /// Our name for it.
    pub id: TicketId,
    /// Its session.
    pub session: SessionId,
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
    /// Who asks.
    pub origin: RequestOrigin,
    /// Kind of question.
    pub kind: String,
    /// The question in one line, redacted.
    pub summary: String,
    /// Where it would happen.
    pub place: Option<String>,
    /// The question as JSON, redacted.
    pub ask: String,
    /// The binding of an answer that outlives the Codex that asked.
    pub binding: Option<String>,
    /// How far it is.
    pub state: RequestState,
    /// The decision in a word.
    pub decision: Option<String>,
    /// The answer, sealed, until Codex has it.
    pub answer_sealed: Option<Vec<u8>>,
    /// Who decided.
    pub answered_by: Option<String>,
    /// When it was decided.
    pub answered_at: Option<i64>,
    /// When it was asked.
    pub opened_at: i64,
    /// When it was over.
    pub closed_at: Option<i64>,
    /// Until when an answer is kept in escrow.
    pub expires_at: Option<i64>,
}

/// An answer of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAnswer {
    /// The decision in a word.
    pub decision: String,
    /// The answer for Codex, sealed; `None` for secrets, which are never stored.
    pub sealed: Option<Vec<u8>>,
    /// Who answers.
    pub by: String,
    /// When.
    pub at: i64,
    /// The row of the audit log about it, which is written if the answer wins.
    pub audit: Option<NewAudit>,
}

/// Result of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerResult {
    /// It is the answer.
    Won,
    /// Someone was faster.
    AlreadyAnswered {
        /// The decision that counts.
        decision: String,
        /// Whose it is.
        by: String,
        /// When it was made.
        at: i64,
    },
    /// No one asks any more.
    Closed {
        /// Its end.
        state: RequestState,
    },
    /// There is no such request.
    Unknown,
}

/// Filter of requests. `None` matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestFilter {
    /// Of this session.
    pub session: Option<SessionId>,
    /// In one of these states.
    pub states: Option<Vec<RequestState>>,
}

/// A request whose kept answer was not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedAnswer {
    /// The request.
    pub id: TicketId,
    /// Its end.
    pub state: RequestState,
}
