//! The unit of writing: events of one session and the rows that change with them.
//!
//! A batch is stored completely or not at all. The store assigns the numbers of the events.

use talaria_core::ids::SessionId;
use talaria_core::learning::progress::{DueReview, ReviewCount};

use crate::model::audit::NewAudit;
use crate::model::budget::NewAllowance;
use crate::model::delegation::ResultCarrier;
use crate::model::event::NewEvent;
use crate::model::message::NewMessage;
use crate::model::model_attempt::{ModelAttemptEnd, ModelAttemptFacts, ModelAttemptKey, NewModelAttempt};
use crate::model::model_history::NewHistoryEntry;
use crate::model::model_usage::NewModelUsage;
use crate::model::outbox::NewOutbox;
use crate::model::request::{NewRequest, RequestPatch};
use crate::model::review::ReviewStep;
use crate::model::session::SessionPatch;
use crate::model::tool_call::{NewToolCall, ToolCallKey, ToolCallStep};
use crate::model::turn::{NewTurnRow, TurnPatch};
use crate::model::words::AttemptState;

/// Events of one session and the changes that belong to them.
#[derive(Clone, Debug)]
pub struct Batch {
    pub session: SessionId,
    /// The epoch of the lease under which they are written.
    pub epoch: i64,
    pub at: i64,
    /// What happened, in this order.
    pub events: Vec<NewEvent>,
    /// What else changes, in this order.
    pub changes: Vec<Change>,
}

/// A change of one row.
#[derive(Clone, Debug)]
pub enum Change {
    /// The session itself.
    Session(SessionPatch),
    /// A new turn. Its ordinal must be new.
    NewTurn(NewTurnRow),
    /// A change of an existing turn.
    Turn(TurnPatch),
    /// The unsent turns after this one are withdrawn, as if they had never been requested. Must be followed by
    /// a change of a turn, which updates the displayed state of a task.
    TakeBack {
        /// The turn.
        after: i64,
    },
    /// The turn with this ordinal is undone: the conversation continues without it. A conflict unless it is the last one that
    /// is not undone, and every turn is settled.
    UndoTurn(i64),
    /// The thread is left. The next one begins with this, as JSON.
    Rebase(String),
    /// A message, new or once more under the same key.
    Message(NewMessage),
    /// A new request. Its id must be new.
    NewRequest(NewRequest),
    /// A change of an existing request.
    Request(RequestPatch),
    /// The worktree of a task, as JSON, or that it has none.
    TaskWorktree(Option<String>),
    /// The notification targets of a task.
    TaskNotify(Vec<String>),
    /// The background commands of the session, as JSON, or that it has none.
    Background(Option<String>),
    /// A new outbox entry. Its id must be new.
    Outbox(NewOutbox),
    /// A new call of one of our tools. One that is in the ledger already is unchanged.
    ToolOffered(NewToolCall),
    /// A call that is in the ledger runs, ends or is settled. One that cannot is a conflict.
    ToolCall(ToolCallKey, ToolCallStep),
    /// The runtime has the result of a call: the stored result is erased.
    ToolDelivered(ToolCallKey),
    /// The turn with this ordinal is over: the stored results of its calls are erased.
    ToolsClosed(i64),
    /// Adds to the counters that make a review due.
    ReviewCount(ReviewCount),
    /// A review of the turns up to this one is due; the counters whose questions it asks are reset.
    ReviewDue {
        /// The turn.
        last_turn: i64,
        /// Its questions, and which counter stays.
        due: DueReview,
    },
    /// A review begins, has an answer, or ends. One that cannot is a conflict.
    Review(i64, ReviewStep),
    /// A step read a skill. The same step again changes nothing.
    SkillUse {
        /// The folder of the skill.
        folder: String,
        /// The runtime's name for the step.
        step: String,
    },
    /// The end of a task that this session delegated is reported with this batch. A conflict if it was before.
    DelegationAnnounced(SessionId),
    /// The result of a task that this session delegated is on its way to the runtime. Nothing changes if it was delivered
    /// before, or the turn is over.
    ResultCarried {
        /// The task.
        child: SessionId,
        /// The turn of this session, by ordinal.
        turn: i64,
        carrier: ResultCarrier,
    },
    /// The runtime has the results that were carried in a turn: by this carrier, or all of them.
    ResultsDelivered { turn: i64, carrier: Option<ResultCarrier> },
    /// What a model cost. A name that the session has already changes nothing.
    ModelUsage(NewModelUsage),
    /// A person allowed more than a budget has. A request that allowed before changes nothing.
    BudgetAllowance(NewAllowance),
    /// A request to a model is planned. Its key must be new.
    NewAttempt(NewModelAttempt),
    /// A request to a model is this far, with what is known. A conflict if it was further, has ended, or another engine sends it.
    AttemptStage(ModelAttemptKey, AttemptState, ModelAttemptFacts),
    /// A request to a model ended; its items are appended to the history. A conflict if it had ended before, or another engine
    /// sends it. What an earlier engine left open can only be abandoned.
    AttemptEnd(ModelAttemptKey, Box<ModelAttemptEnd>),
    /// An entry of the history that no model made. A conflict unless its number is the next one.
    History(NewHistoryEntry),
    /// A row of the audit log, about what this batch does.
    Audit(NewAudit),
}

/// The numbers that the events of a batch got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The number of the first event; without events, the number that the next one will get.
    pub first_seq: i64,
    /// The number of the last event of the session.
    pub last_seq: i64,
}
