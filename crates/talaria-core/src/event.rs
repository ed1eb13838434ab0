//! What happened, in our own vocabulary: the one stream that every face (terminal, JSON lines, quiet) renders.
//!
//! The JSON form is a contract: scripts read it. Fields may be added; names and meanings here do not change.
//! Nothing here knows the wire; `project` converts from it.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::ids::{ItemId, ThreadId, TicketId, TurnId};
use crate::item::Item;
use crate::outcome::Report;
use crate::request::{Ask, Decision, Who};

/// Something that happened in a session.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The thread is there, with the settings that Codex says are in force.
    SessionStarted(Started),
    /// Codex accepted the input and began to work.
    TurnStarted {
        /// The turn, as Codex names it.
        turn: TurnId,
    },
    /// A piece of an answer.
    TextDelta {
        /// The message it belongs to.
        item: ItemId,
        /// The piece.
        delta: String,
    },
    /// A piece of a reasoning summary.
    ReasoningDelta {
        /// The reasoning item it belongs to.
        item: ItemId,
        /// The piece.
        delta: String,
    },
    /// A piece of a command's output; its beginning may be missing, the completed item has it whole.
    OutputDelta {
        /// The command it belongs to.
        item: ItemId,
        /// The piece.
        delta: String,
    },
    /// A step began.
    ItemStarted {
        /// The step as known at its beginning.
        item: Item,
    },
    /// A step ended.
    ItemCompleted {
        /// The step with its result.
        item: Item,
    },
    /// A step that Codex never reported as ended although its turn did.
    ItemAbandoned {
        /// The step.
        item: ItemId,
    },
    /// The plan as it stands now.
    PlanUpdated {
        /// Why it changed, if the model said so.
        explanation: Option<String>,
        /// The steps, in order.
        steps: Vec<PlanStep>,
    },
    /// All changes of this turn so far, as one unified diff.
    DiffUpdated {
        /// The diff.
        diff: String,
    },
    /// Codex asks a person. It waits until the request is closed.
    RequestOpened {
        /// Our name for it.
        id: TicketId,
        /// What is asked.
        #[serde(flatten)]
        ask: Ask,
    },
    /// A request was answered, or became void.
    RequestClosed {
        /// Our name for it.
        id: TicketId,
        /// What was decided.
        decision: Decision,
        /// Who decided.
        by: Who,
    },
    /// Tokens, as of the last model request.
    UsageUpdated {
        /// The cost of this turn so far.
        turn: Usage,
        /// Tokens in the model's context after the last request.
        context: u64,
        /// Size of the model's context window, if Codex knows it.
        window: Option<u64>,
    },
    /// The model could not be reached; Codex tries again by itself.
    Retrying {
        /// What Codex says about it.
        message: String,
    },
    /// Something a person should know, without effect on the turn.
    Warning {
        /// The text.
        message: String,
    },
    /// We asked Codex to stop the turn.
    Interrupting {
        /// Who wanted it.
        by: Who,
    },
    /// More input reached the running turn.
    Steered {
        /// The turn that took it.
        turn: TurnId,
    },
    /// Codex sent something this build does not know. Kept as it came.
    Unknown {
        /// Its method.
        method: String,
        /// The whole message.
        raw: Box<RawValue>,
    },
    /// Codex sent something that is no message at all.
    Corrupt {
        /// What is wrong with it.
        reason: String,
        /// How long it was.
        bytes: usize,
    },
    /// The turn is over. Always the last event of a turn.
    Outcome(Report),
}

/// What is in force on a thread, as Codex reported it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Started {
    /// The Codex thread.
    pub thread: ThreadId,
    /// Where it works.
    pub cwd: String,
    /// The model.
    pub model: String,
    /// The model provider's id.
    pub provider: String,
    /// The reasoning effort, if one is set.
    pub effort: Option<String>,
    /// The sandbox: `read-only`, `workspace-write`, `danger-full-access` or what Codex calls it.
    pub sandbox: String,
    /// The approval policy, as Codex calls it.
    pub approval: String,
    /// The version of Codex.
    pub codex: String,
    /// The file in which Codex keeps the conversation.
    pub path: Option<String>,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanStep {
    /// What is to be done.
    pub step: String,
    /// How far it is.
    pub status: PlanStatus,
}

/// How far a step of a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

/// Tokens spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Input tokens, cached ones included.
    pub input: u64,
    /// The part of the input that came from the provider's cache.
    pub cached: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// The part of the output spent on reasoning.
    pub reasoning: u64,
    /// Everything.
    pub total: u64,
}

impl Usage {
    /// What was spent between two running totals. A total that went down (a new thread) counts from zero.
    pub fn since(self, earlier: Usage) -> Usage {
        if self.total < earlier.total {
            return self;
        }
        Usage {
            input: self.input.saturating_sub(earlier.input),
            cached: self.cached.saturating_sub(earlier.cached),
            output: self.output.saturating_sub(earlier.output),
            reasoning: self.reasoning.saturating_sub(earlier.reasoning),
            total: self.total - earlier.total,
        }
    }
}
