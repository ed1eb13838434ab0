//! Items as Codex writes them. An item of a kind that this build does not know, or whose known part does not match,
//! is kept whole as `Other`: it is never an error and never dropped.
//!
//! `frequent` reads the kinds that come all the time in one pass over the message; `rare` takes a second look at what
//! that pass does not know. `project` converts the result.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use talaria_core::ids::{ItemId, ThreadId};

mod content;
mod frequent;
mod rare;
#[cfg(test)]
mod tests;

pub use content::{WireContent, WireInput};

/// An item.
#[derive(Clone, Debug)]
pub struct WireItem {
    pub id: ItemId,
    pub body: WireBody,
}

impl WireItem {
    /// Reads an item of any kind; `None` if it has no id or no kind.
    pub fn read(raw: &RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok().or_else(|| Self::second_look(raw))
    }

    /// Reads an item that the pass over the whole message did not know.
    pub(crate) fn second_look(raw: &RawValue) -> Option<Self> {
        #[derive(Deserialize)]
        struct Head {
            id: ItemId,
            #[serde(rename = "type")]
            kind: String,
        }
        let Head { id, kind } = serde_json::from_str(raw.get()).ok()?;
        if let Some(item) = frequent::read(&kind, raw) {
            return Some(item);
        }
        let body = rare::read(&kind, raw).unwrap_or_else(|| WireBody::Other { kind, raw: raw.to_owned() });
        Some(Self { id, body })
    }
}

/// Kind of an item.
#[derive(Clone, Debug)]
pub enum WireBody {
    /// Input of the person.
    UserMessage {
        content: Vec<WireInput>,
        /// The id that the client sent with it.
        client_id: Option<String>,
    },
    /// A message of the model.
    AgentMessage {
        text: String,
        /// `commentary`, `partial_answer`, `final_answer`, or nothing.
        phase: Option<String>,
        /// Questions that do not wait for an answer.
        questions: Vec<WireQuestion>,
    },
    /// Thinking.
    Reasoning {
        /// Summaries.
        summary: Vec<String>,
        /// The thinking itself.
        content: Vec<String>,
    },
    /// A plan as text.
    Plan { text: String },
    /// A command.
    CommandExecution {
        command: String,
        cwd: String,
        /// Whose it is.
        source: WireSource,
        status: WireStatus,
        aggregated_output: Option<String>,
        exit_code: Option<i32>,
        /// How long it took.
        duration_ms: Option<u64>,
    },
    /// A change of files.
    FileChange { changes: Vec<WireChange>, status: WireStatus },
    /// A call of an MCP server's tool.
    McpToolCall {
        server: String,
        tool: String,
        status: WireStatus,
        /// Its arguments.
        arguments: Option<Box<RawValue>>,
        /// Its result.
        result: Option<McpResult>,
        error: Option<Value>,
        /// How long it took.
        duration_ms: Option<u64>,
    },
    /// A call of a client's tool.
    DynamicToolCall {
        /// The group of the tool.
        namespace: Option<String>,
        tool: String,
        status: WireStatus,
        /// Its arguments.
        arguments: Option<Box<RawValue>>,
        /// Its result.
        content_items: Option<Vec<WireContent>>,
        /// Success as reported by the tool.
        success: Option<bool>,
        /// How long it took.
        duration_ms: Option<u64>,
    },
    /// The conversation was shortened.
    ContextCompaction,
    /// Text that a hook adds.
    HookPrompt { fragments: Vec<HookFragment> },
    /// Result of a function.
    FunctionCallOutput {
        name: String,
        /// The group of the function.
        namespace: Option<String>,
        /// Its result.
        output: Vec<WireContent>,
    },
    /// Work for other agents.
    CollabAgentToolCall(Box<CollabCall>),
    /// Something happened to another agent.
    SubAgentActivity(Box<SubAgentActivity>),
    /// A search on the web.
    WebSearch {
        /// The words, or an address.
        query: String,
        action: Option<WireSearch>,
    },
    /// The model looked at an image.
    ImageView { path: String },
    /// The model made an image.
    ImageGeneration(Box<ImageGeneration>),
    /// A review began.
    EnteredReviewMode { review: String },
    /// A review ended.
    ExitedReviewMode { review: String },
    /// The model waited.
    Sleep { duration_ms: u64 },
    /// Anything else.
    Other {
        /// Codex's name for the kind.
        kind: String,
        raw: Box<RawValue>,
    },
}

/// The state of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WireStatus {
    /// Not ended.
    InProgress,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Not allowed.
    Declined,
    /// Stopped on the way.
    Interrupted,
    /// A word that this build does not know.
    #[serde(other)]
    Other,
}

/// Whose a command is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WireSource {
    /// The model's.
    #[default]
    Agent,
    /// A person's, with `thread/shellCommand`.
    UserShell,
    /// The model's, in a terminal that may continue after the turn.
    UnifiedExecStartup,
    /// Input for such a terminal.
    UnifiedExecInteraction,
    /// A word that this build does not know.
    #[serde(other)]
    Other,
}

/// A change of a file.
#[derive(Clone, Debug, Deserialize)]
pub struct WireChange {
    pub path: String,
    /// What happens to it.
    pub kind: WireChangeKind,
    /// The content of an added or deleted file, the diff of an updated one.
    pub diff: String,
}

/// What happens to a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum WireChangeKind {
    /// It is new.
    Add,
    /// Deleted.
    Delete,
    /// It changes.
    Update {
        /// Where it moves to.
        #[serde(default)]
        move_path: Option<String>,
    },
}

/// A question of the model that does not wait for an answer.
#[derive(Clone, Debug, Deserialize)]
pub struct WireQuestion {
    pub title: String,
    /// Answers to choose from.
    #[serde(default)]
    pub options: Option<Vec<String>>,
}

/// Result of an MCP server's tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpResult {
    #[serde(default)]
    pub content: Vec<WireContent>,
    /// The same for programs.
    #[serde(default)]
    pub structured_content: Option<Box<RawValue>>,
}

/// A part of what a hook adds.
#[derive(Clone, Debug, Deserialize)]
pub struct HookFragment {
    pub text: String,
}

/// Work for other agents.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CollabCall {
    /// The operation.
    pub tool: String,
    pub status: WireStatus,
    #[serde(default)]
    pub receiver_thread_ids: Vec<ThreadId>,
    /// Their input.
    #[serde(default)]
    pub prompt: Option<String>,
    /// The model that is asked for.
    #[serde(default)]
    pub model: Option<String>,
    /// The effort that is asked for.
    #[serde(default)]
    pub reasoning_effort: Option<String>,
    /// Their states, by conversation.
    #[serde(default)]
    pub agents_states: BTreeMap<ThreadId, WireAgentState>,
}

/// The state of another agent.
#[derive(Clone, Debug, Deserialize)]
pub struct WireAgentState {
    /// Codex's word.
    pub status: String,
    /// Its last message.
    #[serde(default)]
    pub message: Option<String>,
}

/// Something happened to another agent.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubAgentActivity {
    pub kind: String,
    pub agent_thread_id: ThreadId,
    /// Its place among the agents.
    pub agent_path: String,
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub reasoning_effort: Option<String>,
}

/// A web action.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum WireSearch {
    /// A search.
    Search {
        #[serde(default)]
        query: Option<String>,
        #[serde(default)]
        queries: Option<Vec<String>>,
    },
    /// A page was opened.
    OpenPage {
        #[serde(default)]
        url: Option<String>,
    },
    /// Something was looked for in a page.
    FindInPage {
        /// The address of the page.
        #[serde(default)]
        url: Option<String>,
        #[serde(default)]
        pattern: Option<String>,
    },
    /// Anything else.
    #[serde(other)]
    Other,
}

/// The model made an image. The image itself is left out: it may be megabytes.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageGeneration {
    pub status: WireStatus,
    /// The image.
    #[serde(default)]
    pub revised_prompt: Option<String>,
    /// Where it was saved.
    #[serde(default)]
    pub saved_path: Option<String>,
    /// Why there is none: an object with a `type`.
    #[serde(default)]
    pub failure: Option<Value>,
}
