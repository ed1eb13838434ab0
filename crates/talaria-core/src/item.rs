//! One step of a turn as people see it: a message, a command, a patch, a tool call.
//!
//! A kind that this build does not know is kept whole in `ItemBody::Other`: it is shown by its name, never dropped.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::ids::{ItemId, ThreadId};

/// One step of a turn.
#[derive(Clone, Debug, Serialize)]
pub struct Item {
    /// Codex's name for it.
    pub id: ItemId,
    /// What it is.
    #[serde(flatten)]
    pub body: ItemBody,
}

/// What a step is, and what is known of it.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ItemBody {
    /// What the person said.
    UserMessage {
        /// The text parts of the input.
        text: String,
    },
    /// What the model said.
    AgentMessage {
        /// The text.
        text: String,
        /// `commentary`, `final_answer`, or nothing.
        phase: Option<String>,
    },
    /// The model's thinking, as far as it is told.
    Reasoning {
        /// Summary paragraphs.
        summary: Vec<String>,
    },
    /// A plan written as text.
    Plan {
        /// The text.
        text: String,
    },
    /// A command.
    Command {
        /// The command line.
        command: String,
        /// Where it runs.
        cwd: String,
        /// How it stands.
        status: Status,
        /// Its exit code, once it ended.
        exit_code: Option<i32>,
        /// How long it took.
        duration_ms: Option<u64>,
        /// What it printed.
        output: Option<String>,
    },
    /// A change of files.
    Patch {
        /// How it stands.
        status: Status,
        /// The files.
        changes: Vec<FileChange>,
    },
    /// A search on the web.
    WebSearch {
        /// The words.
        query: String,
    },
    /// A call of a tool.
    Tool {
        /// Where the tool lives: an MCP server's name, or `client` for one that a client of Codex brought.
        server: String,
        /// The tool.
        tool: String,
        /// How it stands.
        status: Status,
        /// How long it took.
        duration_ms: Option<u64>,
        /// What went wrong, if it failed.
        error: Option<String>,
    },
    /// Work handed to other agents.
    Agents {
        /// What was asked for: spawn, wait, send, …
        action: String,
        /// How it stands.
        status: Status,
        /// The threads of those agents.
        threads: Vec<ThreadId>,
    },
    /// The conversation was shortened to fit the model's context.
    Compaction,
    /// Something else, kept as it came.
    Other {
        /// Codex's name for the kind.
        name: String,
        /// The whole item.
        raw: Box<RawValue>,
    },
}

/// How a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not ended.
    InProgress,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Not done, because it was not allowed.
    Declined,
    /// A word that this build does not know.
    Unknown,
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// The file.
    pub path: String,
    /// What happens to it.
    pub action: FileAction,
    /// Where it moves to, if it does.
    pub move_to: Option<String>,
    /// For an added or deleted file its content, for an updated one a unified diff.
    pub diff: String,
}

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// It is new.
    Add,
    /// It goes.
    Delete,
    /// It changes.
    Update,
}
