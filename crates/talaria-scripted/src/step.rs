//! The parts of a reply: streamed items in order, and the claimed token usage.

use std::time::Duration;

use serde_json::Value;

use crate::Gate;

#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Stream { headers: Vec<(String, String)>, steps: Vec<Step>, usage: ModelUsage },
    Http { status: u16, headers: Vec<(String, String)>, body: Value },
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Text(String),
    StartMessage(Option<Phase>),
    Reasoning(String),
    RawReasoning(String),
    Call(Call),
    Gate(Gate),
    Pause(Duration),
    Event(Value),
    Failed { code: String, message: String },
    Drop,
    Stall,
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) input: CallInput,
}

#[derive(Clone, Debug)]
pub(crate) enum CallInput {
    Function(Value),
    Custom(String),
}

/// Whether a message is a remark on the way or the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Said while the work continues.
    Commentary,
    /// The answer that ends the turn.
    FinalAnswer,
}

/// How far a step of the plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanStepStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

/// The tokens that a reply claims to have used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelUsage {
    /// Tokens read, cached ones included.
    pub input: u64,
    /// The cached part of `input`.
    pub cached: u64,
    /// Tokens written, reasoning included.
    pub output: u64,
    /// The part of `output` that was reasoning.
    pub reasoning: u64,
}

impl Default for ModelUsage {
    fn default() -> Self {
        Self { input: 1000, cached: 600, output: 50, reasoning: 10 }
    }
}

impl Phase {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Commentary => "commentary",
            Self::FinalAnswer => "final_answer",
        }
    }
}

impl PlanStepStatus {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}
