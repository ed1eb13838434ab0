//! Calls of our own tools: the rows of the call ledger. `talaria_core::tool::ledger` decides what they mean.

use talaria_core::ids::{ItemId, SessionId, ThreadId, TurnId};
use talaria_core::tool::ToolEffect;
use talaria_core::tool::ledger::ToolCallState;

/// Names a call: a runtime that offers it again uses the same name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToolCallKey {
    pub thread: ThreadId,
    /// The runtime's turn.
    pub turn: TurnId,
    pub call: ItemId,
}

/// A call that is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToolCall {
    pub key: ToolCallKey,
    /// Our own turn, by ordinal.
    pub ordinal: i64,
    pub tool: String,
    /// The contract of its thread.
    pub contract: i64,
    /// A digest of tool and arguments from which they cannot be found out.
    pub arguments: String,
}

/// What happens to a call that is in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolCallStep {
    /// It begins to run. A conflict unless it was only offered, or it only reads and no engine runs it.
    Run {
        effect: ToolEffect,
        /// What it is about to do, sealed. A call with a record is settled after a crash; without one it becomes unknown.
        effect_record: Option<Vec<u8>>,
    },
    /// It is refused before it ran. A conflict where it could not begin to run either.
    Decline { result_sealed: Option<Vec<u8>> },
    /// It ended. A conflict unless the engine of this batch runs it.
    End { state: ToolCallState, result_sealed: Option<Vec<u8>> },
    /// Its record shows what became of it: done, failed or unknown. A conflict unless it has a record and an engine with a
    /// lower epoch left it running.
    Settle { state: ToolCallState, result_sealed: Option<Vec<u8>> },
}

/// A stored call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCallRow {
    pub key: ToolCallKey,
    pub session: SessionId,
    /// Our own turn, by ordinal.
    pub ordinal: i64,
    pub tool: String,
    /// The contract of its thread.
    pub contract: i64,
    /// A digest of tool and arguments.
    pub arguments: String,
    pub state: ToolCallState,
    /// Known from its first run on.
    pub effect: Option<ToolEffect>,
    /// What its last run was about to do, sealed; kept as long as the row.
    pub effect_record: Option<Vec<u8>>,
    /// The engine that ran it last.
    pub epoch: Option<i64>,
    /// How often it was begun.
    pub runs: i64,
    /// The result, sealed, until the runtime has it or the turn is over.
    pub result_sealed: Option<Vec<u8>>,
    pub offered_at: i64,
    pub started_at: Option<i64>,
    pub ended_at: Option<i64>,
    /// When the runtime showed that it has the result.
    pub delivered_at: Option<i64>,
    /// When its turn was over.
    pub closed_at: Option<i64>,
}
