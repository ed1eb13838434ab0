//! The parts of a reply: streamed items in order, and the claimed token usage.

use std::time::Duration;

use serde_json::Value;

use crate::{ChatStyle, Gate, SseFraming};

#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Stream(StreamAnswer),
    Http {
        status: u16,
        headers: Vec<(String, String)>,
        body: HttpBody,
    },
    /// Every byte of the answer, the head included, is in the steps.
    Raw(Vec<Step>),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct StreamAnswer {
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) steps: Vec<Step>,
    pub(crate) usage: ModelUsage,
    pub(crate) framing: SseFraming,
    pub(crate) style: ChatStyle,
    /// The model that claims to answer; else the one that was asked.
    pub(crate) model: Option<String>,
    /// The body ends after this many bytes.
    pub(crate) cut: Option<(usize, StreamCut)>,
    /// A JSON body although a stream was asked for.
    pub(crate) as_json: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum HttpBody {
    Json(Value),
    /// Written as the family writes its errors.
    Error {
        code: String,
        message: String,
    },
    Text {
        content_type: String,
        text: String,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Text(String),
    Refusal(String),
    StartMessage(Option<Phase>),
    Reasoning(String),
    RawReasoning(String),
    Seal(String),
    Call(Call),
    Gate(Gate),
    Pause(Duration),
    Event(Value),
    Comment(String),
    Ping,
    Bytes(Vec<u8>),
    Finish(ReplyEnd),
    Failed { code: String, message: String },
    ErrorFrame { code: String, message: String },
    End,
    Drop,
    Stall,
    StallWithPings(Duration),
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) input: CallInput,
}

#[derive(Clone, Debug)]
pub(crate) enum CallInput {
    /// The arguments of a function, as the text that the model wrote.
    Function(String),
    Custom(String),
}

/// How a body that is cut ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamCut {
    /// As HTTP ends a body: nothing looks wrong below the events.
    Clean,
    /// The connection closes in the middle of the body.
    Dropped,
}

/// How a reply says that it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReplyEnd {
    /// The model has finished, or waits for its calls.
    #[default]
    Natural,
    /// The limit of output is reached.
    MaxOutput,
    /// The provider stopped the answer for its content.
    ContentFilter,
    /// The context is full.
    ContextWindow,
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
