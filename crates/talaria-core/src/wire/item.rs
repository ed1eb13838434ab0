//! Items as Codex writes them. An item of a kind that this build does not know, or whose known part does not fit, is
//! kept whole as `Other`: it is never an error and never dropped.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;
use serde_json::value::RawValue;

use super::call::UserInput;
use crate::ids::{ItemId, ThreadId};

/// An item.
#[derive(Clone, Debug)]
pub struct WireItem {
    /// Its id.
    pub id: ItemId,
    /// What it is.
    pub body: WireBody,
}

impl<'de> Deserialize<'de> for WireItem {
    /// Fails for a kind that is not known; `keep_whole` is for those.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Fields::deserialize(deserializer)?;
        fields.into_item().ok_or_else(|| de::Error::custom("an item of an unknown kind or shape"))
    }
}

impl WireItem {
    /// Keeps an item whole that could not be read otherwise.
    pub(crate) fn keep_whole(raw: &RawValue) -> Option<Self> {
        let Head { id, kind } = serde_json::from_str(raw.get()).ok()?;
        Some(Self { id, body: WireBody::Other { kind, raw: raw.to_owned() } })
    }
}

#[derive(Deserialize)]
struct Head {
    id: ItemId,
    #[serde(rename = "type")]
    kind: String,
}

/// The fields of all kinds together. Reading them at once is twice as fast as letting the kind choose them, because
/// the kind stands somewhere among them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields<'a> {
    id: ItemId,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    phase: Option<String>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    summary: Option<Vec<String>>,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    status: Option<WireStatus>,
    #[serde(default)]
    aggregated_output: Option<String>,
    #[serde(default)]
    exit_code: Option<i32>,
    #[serde(default)]
    duration_ms: Option<u64>,
    #[serde(default)]
    changes: Option<Vec<WireChange>>,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    receiver_thread_ids: Vec<ThreadId>,
    #[serde(default)]
    query: Option<String>,
}

impl Fields<'_> {
    /// Chooses by kind; `None` for a kind that is not known, or when one of its fields is missing.
    fn into_item(self) -> Option<WireItem> {
        let body = match self.kind.as_ref() {
            "userMessage" => {
                WireBody::UserMessage { content: serde_json::from_str(self.content?.get()).ok()? }
            }
            "agentMessage" => WireBody::AgentMessage { text: self.text?, phase: self.phase },
            "reasoning" => WireBody::Reasoning { summary: self.summary.unwrap_or_default() },
            "plan" => WireBody::Plan { text: self.text? },
            "commandExecution" => WireBody::CommandExecution {
                command: self.command?,
                cwd: self.cwd?,
                status: self.status?,
                aggregated_output: self.aggregated_output,
                exit_code: self.exit_code,
                duration_ms: self.duration_ms,
            },
            "fileChange" => WireBody::FileChange { changes: self.changes?, status: self.status? },
            "mcpToolCall" => WireBody::McpToolCall {
                server: self.server?,
                tool: self.tool?,
                status: self.status?,
                error: self.error,
                duration_ms: self.duration_ms,
            },
            "dynamicToolCall" => WireBody::DynamicToolCall {
                tool: self.tool?,
                status: self.status?,
                duration_ms: self.duration_ms,
            },
            "collabAgentToolCall" => WireBody::CollabAgentToolCall {
                tool: self.tool?,
                status: self.status?,
                receiver_thread_ids: self.receiver_thread_ids,
            },
            "webSearch" => WireBody::WebSearch { query: self.query? },
            "contextCompaction" => WireBody::ContextCompaction,
            _ => return None,
        };
        Some(WireItem { id: self.id, body })
    }
}

/// What an item is.
#[derive(Clone, Debug)]
pub enum WireBody {
    /// What the person said.
    UserMessage {
        /// Its parts.
        content: Vec<UserInput>,
    },
    /// What the model said.
    AgentMessage {
        /// The text.
        text: String,
        /// `commentary`, `final_answer`, or nothing.
        phase: Option<String>,
    },
    /// Thinking.
    Reasoning {
        /// Summaries.
        summary: Vec<String>,
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
        /// What went wrong.
        error: Option<Value>,
        /// How long it took.
        duration_ms: Option<u64>,
    },
    /// A call of a client's tool.
    DynamicToolCall {
        /// The tool.
        tool: String,
        /// How it stands.
        status: WireStatus,
        /// How long it took.
        duration_ms: Option<u64>,
    },
    /// Work for other agents.
    CollabAgentToolCall {
        /// What is asked of them.
        tool: String,
        /// How it stands.
        status: WireStatus,
        /// Their conversations.
        receiver_thread_ids: Vec<ThreadId>,
    },
    /// A search on the web.
    WebSearch {
        /// The words.
        query: String,
    },
    /// The conversation was shortened.
    ContextCompaction,
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
