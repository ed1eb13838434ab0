//! Turns: one exchange of a session each.

use talaria_core::event::Stage;
use talaria_core::ids::{SessionId, TurnId};

/// A new turn, at the stage `prepared`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTurnRow {
    /// Its number in the session, from 1.
    pub ordinal: i64,
    /// Our own id for the message.
    pub client_id: String,
    /// The last turn of the thread before this one.
    pub after_turn: Option<TurnId>,
    /// The input, sealed, until Codex has it.
    pub input_sealed: Option<Vec<u8>>,
    /// The input, redacted.
    pub input_text: String,
    /// The caller's deadline.
    pub limit_ms: Option<i64>,
    /// Talaria began this turn by itself, or it has no input: it is not continued when it is lost.
    pub ours: bool,
    /// `input_text` is all of the input: no image, and nothing is masked in it.
    pub is_plain: bool,
}

/// Changes of a turn. `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnPatch {
    pub ordinal: i64,
    /// How far it is. The time of the stage is the time of the batch.
    pub stage: Option<Stage>,
    /// The last turn of the thread before this one.
    pub after_turn: Option<TurnId>,
    pub codex_turn: Option<TurnId>,
    /// Its outcome, as JSON.
    pub outcome: Option<String>,
    /// Its outcome, as a word.
    pub outcome_kind: Option<String>,
    /// Why it failed, as a word.
    pub code: Option<String>,
    /// Its token usage, as JSON.
    pub usage: Option<String>,
    /// The input, sealed, with what was added to it. Ignored once Codex has the input.
    pub input_sealed: Option<Vec<u8>>,
}

/// A stored turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRow {
    pub session: SessionId,
    /// Its number in the session, from 1.
    pub ordinal: i64,
    /// How far it is.
    pub stage: Stage,
    /// Our own id for the message.
    pub client_id: String,
    /// The last turn of the thread before this one.
    pub after_turn: Option<TurnId>,
    pub codex_turn: Option<TurnId>,
    /// The input, sealed, until Codex has it.
    pub input_sealed: Option<Vec<u8>>,
    /// The input, redacted.
    pub input_text: String,
    /// The caller's deadline.
    pub limit_ms: Option<i64>,
    /// Talaria began this turn by itself.
    pub ours: bool,
    /// Its outcome, as JSON.
    pub outcome: Option<String>,
    /// Its outcome, as a word.
    pub outcome_kind: Option<String>,
    /// Why it failed, as a word.
    pub code: Option<String>,
    /// Its token usage, as JSON.
    pub usage: Option<String>,
    /// The number of the next event at the time the turn was stored.
    pub first_seq: i64,
    /// When it was prepared.
    pub created_at: i64,
    /// When it was sent.
    pub sent_at: Option<i64>,
    /// When Codex accepted it.
    pub accepted_at: Option<i64>,
    /// When it was settled.
    pub settled_at: Option<i64>,
    /// `input_text` is all of the input.
    pub is_plain: bool,
    /// When it was undone: the conversation continues without it.
    pub undone_at: Option<i64>,
}
