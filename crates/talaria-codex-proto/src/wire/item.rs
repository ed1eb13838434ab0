//! Items as Codex writes them. An item of a kind that this build does not know, or whose known part does not fit, is
//! kept whole as `Other`: it is never an error and never dropped.
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
    /// Its id.
    pub id: ItemId,
    /// What it is.
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

/// What an item is.
#[derive(Clone, Debug)]
pub enum WireBody {
    /// What the person said.
    UserMessage {
        /// Its parts.
        content: Vec<WireInput>,
        /// The id that the client sent with it.
        client_id: Option<String>,
    },
    /// What the model said.
    AgentMessage {
        /// The text.
        text: String,
        /// `commentary`, `partial_answer`, `final_answer`, or nothing.
        phase: Option<String>,
        /// What it asks in passing.
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
    Plan {
        /// The text.
        text: String,
    },
    /// A command.
    CommandExecution {
        /// The command line.
        command: String,
        /// Where.
        cwd: String,
        /// Whose it is.
        source: WireSource,
        /// How it stands.
        status: WireStatus,
        /// What it printed.
        aggregated_output: Option<String>,
        /// Its exit code.
        exit_code: Option<i32>,
        /// How long it took.
        duration_ms: Option<u64>,
    },
    /// A change of files.
    FileChange {
        /// The files.
        changes: Vec<WireChange>,
        /// How it stands.
        status: WireStatus,
    },
    /// A call of an MCP server's tool.
    McpToolCall {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// How it stands.
        status: WireStatus,
        /// What it was called with.
        arguments: Option<Box<RawValue>>,
        /// What it gave back.
        result: Option<McpResult>,
        /// What went wrong.
        error: Option<Value>,
        /// How long it took.
        duration_ms: Option<u64>,
    },
    /// A call of a client's tool.
    DynamicToolCall {
        /// The group of the tool.
        namespace: Option<String>,
        /// The tool.
        tool: String,
        /// How it stands.
        status: WireStatus,
        /// What it was called with.
        arguments: Option<Box<RawValue>>,
        /// What it gave back.
        content_items: Option<Vec<WireContent>>,
        /// What it said about its success.
        success: Option<bool>,
        /// How long it took.
        duration_ms: Option<u64>,
    },
    /// The conversation was shortened.
    ContextCompaction,
    /// Text that a hook adds.
    HookPrompt {
        /// Its parts.
        fragments: Vec<HookFragment>,
    },
    /// What a function gave back.
    FunctionCallOutput {
        /// The function.
        name: String,
        /// The group of the function.
        namespace: Option<String>,
        /// What it gave back.
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
        /// What was done.
        action: Option<WireSearch>,
    },
    /// The model looked at an image.
    ImageView {
        /// The file.
        path: String,
    },
    /// The model made an image.
    ImageGeneration(Box<ImageGeneration>),
    /// A review began.
    EnteredReviewMode {
        /// Of what.
        review: String,
    },
    /// A review ended.
    ExitedReviewMode {
        /// What it found.
        review: String,
    },
    /// The model waited.
    Sleep {
        /// How long.
        duration_ms: u64,
    },
    /// Anything else.
    Other {
        /// Codex's name for the kind.
        kind: String,
        /// All of it.
        raw: Box<RawValue>,
    },
}

/// How an item stands.
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
    /// The model's, in a terminal that may go on after the turn.
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
    /// The file.
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
    /// It goes.
    Delete,
    /// It changes.
    Update {
        /// Where it moves to.
        #[serde(default)]
        move_path: Option<String>,
    },
}

/// What the model asks in passing.
#[derive(Clone, Debug, Deserialize)]
pub struct WireQuestion {
    /// The question.
    pub title: String,
    /// Answers to choose from.
    #[serde(default)]
    pub options: Option<Vec<String>>,
}

/// What an MCP server's tool gave back.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpResult {
    /// Its parts.
    #[serde(default)]
    pub content: Vec<WireContent>,
    /// The same for programs.
    #[serde(default)]
    pub structured_content: Option<Box<RawValue>>,
}

/// A part of what a hook adds.
#[derive(Clone, Debug, Deserialize)]
pub struct HookFragment {
    /// The text.
    pub text: String,
}

/// Work for other agents.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CollabCall {
    /// What is asked of them.
    pub tool: String,
    /// How it stands.
    pub status: WireStatus,
    /// Their conversations.
    #[serde(default)]
    pub receiver_thread_ids: Vec<ThreadId>,
    /// What they are told.
    #[serde(default)]
    pub prompt: Option<String>,
    /// The model that is asked for.
    #[serde(default)]
    pub model: Option<String>,
    /// The effort that is asked for.
    #[serde(default)]
    pub reasoning_effort: Option<String>,
    /// How they stand, by conversation.
    #[serde(default)]
    pub agents_states: BTreeMap<ThreadId, WireAgentState>,
}

/// How another agent stands.
#[derive(Clone, Debug, Deserialize)]
pub struct WireAgentState {
    /// Codex's word.
    pub status: String,
    /// What it said last.
    #[serde(default)]
    pub message: Option<String>,
}

/// Something happened to another agent.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubAgentActivity {
    /// What.
    pub kind: String,
    /// Its conversation.
    pub agent_thread_id: ThreadId,
    /// Its place among the agents.
    pub agent_path: String,
    /// Its model.
    #[serde(default)]
    pub model: Option<String>,
    /// Its effort.
    #[serde(default)]
    pub reasoning_effort: Option<String>,
}

/// What was done on the web.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum WireSearch {
    /// A search.
    Search {
        /// One query.
        #[serde(default)]
        query: Option<String>,
        /// Several.
        #[serde(default)]
        queries: Option<Vec<String>>,
    },
    /// A page was opened.
    OpenPage {
        /// Its address.
        #[serde(default)]
        url: Option<String>,
    },
    /// Something was looked for in a page.
    FindInPage {
        /// The address of the page.
        #[serde(default)]
        url: Option<String>,
        /// What.
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
    /// How it stands.
    pub status: WireStatus,
    /// What was drawn.
    #[serde(default)]
    pub revised_prompt: Option<String>,
    /// Where it was saved.
    #[serde(default)]
    pub saved_path: Option<String>,
    /// Why there is none: an object with a `type`.
    #[serde(default)]
    pub failure: Option<Value>,
}
