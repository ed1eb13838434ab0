//! Delegated tasks: who delegated them, and whether the parent has their results. A result is owed from the end of the task's
//! first turn on; it is delivered once, in a call or with the input of a turn.

use talaria_core::ids::{ItemId, SessionId};

use crate::model::tool_call::ToolCallKey;

/// What makes a new task a delegated one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDelegation {
    /// The conversation that delegated it.
    pub parent: SessionId,
    /// The call that started it. A call starts each of its goals once.
    pub call: ToolCallKey,
    /// Which goal of the call it is, from 0.
    pub goal: i64,
    /// How many delegations are above it, itself included.
    pub depth: i64,
}

/// What carries a result to the parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultCarrier {
    /// The input of a turn.
    Input,
    /// The result of a call of our tool.
    Call(ItemId),
}

/// A stored delegated task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelegationRow {
    pub child: SessionId,
    pub parent: SessionId,
    pub call: ToolCallKey,
    /// Which goal of the call it is, from 0.
    pub goal: i64,
    pub depth: i64,
    pub created_at: i64,
    /// When its end was reported in the parent's conversation.
    pub announced_at: Option<i64>,
    /// The parent's turn that carries the result, by ordinal, and what carries it there.
    pub carried: Option<(i64, ResultCarrier)>,
    /// When the runtime had the result.
    pub delivered_at: Option<i64>,
    /// When the first turn of the task was settled: from then on its result is owed.
    pub ended_at: Option<i64>,
}

impl DelegationRow {
    /// Has the task ended without its result being delivered?
    pub fn is_owed(&self) -> bool {
        self.ended_at.is_some() && self.delivered_at.is_none()
    }
}
