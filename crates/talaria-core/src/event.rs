//! What happened, in our own vocabulary: the one stream that every face (terminal, JSON lines, quiet) renders.
//!
//! The JSON form is a contract: scripts read it. Fields may be added; names and meanings here do not change.
//! Nothing here knows the wire; `project` converts from it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::background::{BackgroundCommand, BackgroundEnd};
use crate::gap::Gap;
use crate::ids::{BackgroundId, ItemId, ThreadId, TicketId, TurnId};
use crate::item::{FileChange, Item};
use crate::outcome::Report;
use crate::raw;
use crate::request::{Ask, Decision, Who};
use crate::review::ReviewReport;
pub use crate::usage::{RateLimits, RateWindow, Usage};
use talaria_guard::place::Place;

mod queued;

pub use queued::QueuedInput;

/// Something that happened in a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The thread is open, with the settings that Codex reports as in force.
    SessionStarted(Box<Started>),
    /// How far the sending of this turn's input is. Written before the next step is taken.
    Ledger {
        /// How far it is.
        stage: Stage,
        /// Our name for the input, where Codex keeps it with the message.
        client_id: Option<String>,
        /// The last turn of the thread that was known before: only a later one can be this one.
        after: Option<TurnId>,
    },
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
    /// A piece of a plan that is written as text.
    PlanDelta {
        /// The plan it belongs to.
        item: ItemId,
        /// The piece.
        delta: String,
    },
    /// How far the call of a tool is, in the words of its server.
    ToolProgress {
        /// The call.
        item: ItemId,
        /// Message of the server.
        message: String,
    },
    /// A patch that was announced changes other things by now.
    PatchUpdated {
        /// The patch.
        item: ItemId,
        /// All of its changes.
        changes: Vec<FileChange>,
    },
    /// A step began.
    ItemStarted {
        /// The step as known at its beginning.
        item: Box<Item>,
    },
    /// A step ended.
    ItemCompleted {
        /// The step with its result.
        item: Box<Item>,
    },
    /// A step that Codex never reported as ended although its turn did.
    ItemAbandoned {
        /// The step.
        item: ItemId,
        /// Its details. Older builds did not record them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<Abandonment>,
    },
    /// A command outlived its turn and runs in the background. Reported instead of an end, before the outcome.
    BackgroundStarted(Box<BackgroundCommand>),
    /// A piece of the output of a background command.
    BackgroundOutput {
        /// The background command.
        id: BackgroundId,
        /// The step that started it.
        item: ItemId,
        /// The piece.
        delta: String,
    },
    /// A background command has ended.
    BackgroundEnded {
        /// The background command.
        id: BackgroundId,
        /// The step that started it.
        item: ItemId,
        /// The command line.
        command: String,
        /// Its end.
        end: BackgroundEnd,
        /// Its exit code, if it exited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
    },
    /// The current plan.
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
        /// The question.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Referenced<Ask>"))]
        ask: Box<Ask>,
        /// Where it would happen: inside the sandbox, outside, or undecidable.
        #[serde(skip_serializing_if = "Option::is_none")]
        place: Option<Place>,
        /// A digest of the question as Codex sent it, secrets included: two that look the same with their secrets
        /// masked have different ones. `None` if the meaning of a yes is unknown, and in events of older builds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
    },
    /// A request was answered, or became void.
    RequestClosed {
        /// Our name for it.
        id: TicketId,
        /// The decision.
        decision: Decision,
        /// Who decided.
        by: Who,
        /// The rule, if no person decided; the person's reason, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// Codex ended before it confirmed the answer to this request. If it asks again, so does Talaria.
    DeliveryUnknown {
        /// Our name for it.
        id: TicketId,
    },
    /// The engine was down for a while. Recovered events of that time precede this one, which describes what is
    /// missing.
    Gap(Gap),
    /// Tokens, as of the last model request.
    UsageUpdated {
        /// The cost of this turn so far.
        turn: Usage,
        /// Tokens in the model's context after the last request.
        context: u64,
        /// Size of the model's context window, if Codex knows it.
        window: Option<u64>,
        /// Input tokens of the last request; missing where Codex only estimates what a shortening left, and in what older
        /// builds wrote.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<u64>,
    },
    /// How much of the account's allowance is used.
    RateLimits(Box<RateLimits>),
    /// Codex said which model and effort are in force on the conversation from now on.
    SettingsConfirmed {
        /// The model.
        model: String,
        /// The reasoning effort, if one is set.
        effort: Option<String>,
    },
    /// Another model answers than the one that was asked.
    ModelRerouted {
        /// The model that was asked.
        from: String,
        /// The model that answers.
        to: String,
        /// Why: Codex's word, or on the built-in loop what happened.
        reason: Option<String>,
        /// When the model that was asked may work again, in seconds since 1970, where its provider says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<i64>,
    },
    /// Codex shortened the conversation to fit the model's context.
    Compacted,
    /// A sub-agent began, or ended.
    AgentUpdated {
        /// Its thread.
        thread: ThreadId,
        /// Its state.
        phase: AgentPhase,
    },
    /// A step of a sub-agent began.
    AgentItemStarted {
        /// The sub-agent's thread.
        thread: ThreadId,
        /// The step as known at its beginning.
        item: Box<Item>,
    },
    /// A step of a sub-agent ended.
    AgentItemCompleted {
        /// The sub-agent's thread.
        thread: ThreadId,
        /// The step with its result.
        item: Box<Item>,
    },
    /// The turn has ended, and this many of its sub-agents have not. The outcome is fixed; it is reported when they have
    /// ended, or after a while.
    ChildrenRunning {
        /// How many.
        count: usize,
    },
    /// Nothing was received for a while. It ends nothing.
    Quiet {
        /// For how long.
        seconds: u64,
        /// The steps known to be running.
        open_items: Vec<ItemId>,
    },
    /// The model could not be reached; Codex tries again by itself.
    Retrying {
        /// Codex's message.
        message: String,
    },
    /// Something a person should know, without effect on the turn.
    Warning {
        /// The text.
        message: String,
    },
    /// We asked Codex to stop the turn.
    Interrupting {
        /// The requester.
        by: Who,
    },
    /// Codex did not stop in time, and this was done about it.
    Escalated {
        /// The action taken.
        action: Escalation,
    },
    /// The commands that a stopped turn had left running were ended.
    TerminalsEnded {
        /// The action taken, as text.
        message: String,
    },
    /// Codex was replaced by a new process.
    HostReplaced {
        /// One line about it: why, and what became of the conversation.
        message: String,
    },
    /// More input is handed to Codex for the running turn; reported before that is done. That the model has read it
    /// shows only when the turn shows it and continues.
    Steering {
        /// The input.
        input: QueuedInput,
    },
    /// Codex said that the running turn takes what was handed to it; the model has not read it yet.
    Steered {
        /// The turn that took it.
        turn: TurnId,
    },
    /// More input waits for the next turn.
    Queued {
        /// How many wait, this one included.
        waiting: usize,
        /// What waits.
        #[serde(flatten, with = "queued::flat")]
        #[cfg_attr(feature = "schema", schemars(with = "queued::flat::Fields"))]
        input: QueuedInput,
    },
    /// Input still queued when the turn ended is returned to its senders, and will not be run: input for the next turn,
    /// because this one did not complete; input for this turn, because the model never received it although Codex accepted
    /// it.
    Unqueued {
        /// The input, in order.
        inputs: Vec<QueuedInput>,
        /// Did Codex have it? Then the model never read it; otherwise it was never sent.
        #[serde(default, skip_serializing_if = "is_false")]
        was_sent: bool,
    },
    /// Codex sent a message that this build does not know. Kept unchanged.
    Unknown {
        /// Its method.
        method: String,
        /// The whole message.
        #[serde(deserialize_with = "raw::read")]
        #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
        raw: Box<RawValue>,
    },
    /// Codex sent something that is no message at all.
    Corrupt {
        /// The problem.
        reason: String,
        /// How long it was.
        bytes: usize,
    },
    /// An answer of a model did not count: the text shown of it is not part of the conversation and must not be shown as such.
    AttemptVoid {
        /// Which attempt of the turn, from 1.
        attempt: u64,
        /// Why it does not count.
        why: String,
        /// How many characters of it were shown.
        shown_chars: u64,
        /// The steps that they belong to.
        items: Vec<ItemId>,
    },
    /// A review of finished turns ended. Sent between turns.
    Reviewed(Box<ReviewReport>),
    /// The last turn was undone: the conversation continues as if it had not happened. Sent between turns.
    TurnUndone {
        /// Which, from 1.
        undone: i64,
    },
    /// The turn is over. Always the last event of a turn.
    Outcome(Box<Report>),
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The settings in force on a thread, as Codex reported them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Whether commands may use the network, if that was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
    /// Directories that commands may write besides the working directory, if that was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writable_roots: Option<Vec<String>>,
}

impl Started {
    /// The version of the Codex that runs the conversation; none on the built-in loop.
    pub fn codex_version(&self) -> Option<&str> {
        Some(self.codex.as_str()).filter(|version| !version.is_empty())
    }
}

/// How far the sending of a turn's input is. Each stage is reported before the step that it names is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It is ready; nothing has been sent.
    Prepared,
    /// It is being sent. From here on it may have reached Codex.
    Sent,
    /// Codex has it.
    Accepted,
    /// The turn has an outcome.
    Settled,
    /// Whether Codex has it, or how the turn ended, is not known.
    Unknown,
}

/// State of a step whose end Codex never reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Abandonment {
    /// It never ran: a person was asked about it and did not accept it.
    NotRun,
}

/// The state of a sub-agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentPhase {
    /// It works, or is about to.
    Running,
    /// It has done its work.
    Completed,
    /// It failed.
    Failed,
    /// It was stopped.
    Interrupted,
}

/// The action taken about a Codex that did not stop a turn in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Escalation {
    /// Its process was ended: no other turn was running there.
    HostEnded,
    /// The turn was given up; the process lives on for the other turns that run there.
    Abandoned,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanStep {
    /// Text of the step.
    pub step: String,
    /// How far it is.
    pub status: PlanStatus,
}

/// How far a step of a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_older_builds_wrote_is_still_read() {
        let opened = r#"{"type":"request_opened","id":"req-1","kind":"command","thread":"t","item":"i",
            "approval":null,"command":"ls","cwd":"/w","reason":null,"permissions":null,"always":null}"#;
        let queued = r#"{"type":"queued","waiting":2}"#;
        for (old, new) in [(opened, "digest"), (queued, "text")] {
            let event: Event = serde_json::from_str(old).unwrap();
            let again = serde_json::to_value(&event).unwrap();
            assert_eq!(again["type"], serde_json::from_str::<serde_json::Value>(old).unwrap()["type"]);
            assert_eq!(again.get(new), None, "nothing is made up: {again}");
        }
    }
}
