//! One step of a turn as people see it: a message, a command, a patch, a tool call.
//!
//! Every kind that Codex 0.130 and 0.166 have is a variant here. A kind that this build does not know is kept whole in
//! `ItemBody::Other`: it is shown by its name, never dropped. `project` makes these from the wire; events carry them,
//! renderers show them, `transcript` turns them into messages. Nothing here decides.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::ids::{ItemId, ThreadId};
use crate::raw;

mod compaction;
mod parts;

pub use compaction::{Compaction, CompactionCause, KeptContext};
pub use parts::{
    AgentState, Attachment, Author, CommandSource, FileAction, FileChange, MessageQuestion, SearchAction,
    Status, ToolResult,
};

/// One step of a turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Item {
    /// Codex's name for it. Not always unique: in 0.130 the beginning and the end of a review have the same one.
    pub id: ItemId,
    /// Its kind and data.
    #[serde(flatten)]
    pub body: ItemBody,
}

/// Kind and data of a step.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ItemBody {
    /// Input of the person.
    UserMessage {
        /// The text parts of the input.
        text: String,
        /// Input besides text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
        /// The id from the client; 0.130 does not report it.
        #[serde(skip_serializing_if = "Option::is_none")]
        client_id: Option<String>,
        /// Whose words they are. Codex reports everything that it got as input as a message of the user's.
        #[serde(default, skip_serializing_if = "Author::is_person")]
        author: Author,
    },
    /// Context from a hook of the user.
    HookPrompt {
        /// The text.
        text: String,
    },
    /// A message of the model.
    AgentMessage {
        /// The text.
        text: String,
        /// `commentary`, `partial_answer`, `final_answer`, or nothing.
        phase: Option<String>,
        /// Questions that it asks without waiting for an answer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        questions: Vec<MessageQuestion>,
    },
    /// The model's thinking, as far as it is reported.
    Reasoning {
        /// Summary paragraphs.
        summary: Vec<String>,
        /// The thinking itself, which few models show.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        content: Vec<String>,
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
        /// Whose it is.
        #[serde(default, skip_serializing_if = "CommandSource::is_agent")]
        source: CommandSource,
        /// Its state.
        status: Status,
        /// Its exit code, once it ended.
        exit_code: Option<i32>,
        /// How long it took.
        duration_ms: Option<u64>,
        /// Its output.
        output: Option<String>,
    },
    /// A change of files.
    Patch {
        /// Its state.
        status: Status,
        /// The files.
        changes: Vec<FileChange>,
    },
    /// A call of an MCP server's tool.
    Tool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// Its state.
        status: Status,
        /// Its arguments.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "raw::read_if_there")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
        arguments: Option<Box<RawValue>>,
        /// Its result.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<ToolResult>,
        /// How long it took.
        duration_ms: Option<u64>,
        /// The error, if it failed.
        error: Option<String>,
    },
    /// A call of a client-provided tool.
    ClientTool {
        /// The group that the tool belongs to.
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
        /// The tool.
        tool: String,
        /// Its state.
        status: Status,
        /// Success as reported by the tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        success: Option<bool>,
        /// Its arguments.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "raw::read_if_there")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
        arguments: Option<Box<RawValue>>,
        /// Its result.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<ToolResult>,
        /// How long it took.
        duration_ms: Option<u64>,
    },
    /// The result of a function whose call Codex does not report.
    ToolOutput {
        /// The group that the function belongs to.
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
        /// The function.
        tool: String,
        /// Its result.
        result: ToolResult,
    },
    /// Work handed to other agents.
    Agents {
        /// The operation: spawn, wait, send, …
        action: String,
        /// Its state.
        status: Status,
        /// The threads of those agents.
        threads: Vec<ThreadId>,
        /// Their input.
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// The model that was asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The effort that was asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        effort: Option<String>,
        /// The state of each agent, by thread.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        agents: Vec<AgentState>,
    },
    /// Something happened to another agent.
    AgentActivity {
        /// What: started, interacted, interrupted, completed.
        activity: String,
        /// Its thread.
        thread: ThreadId,
        /// Its place among the agents.
        path: String,
        /// Its model, where that is reported.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Its effort, likewise.
        #[serde(skip_serializing_if = "Option::is_none")]
        effort: Option<String>,
    },
    /// A search on the web.
    WebSearch {
        /// The words, or the address of a page.
        query: String,
        /// The exact action.
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<SearchAction>,
    },
    /// The model looked at an image.
    ImageView {
        /// The file.
        path: String,
    },
    /// The model made an image.
    ImageGeneration {
        /// Its state.
        status: Status,
        /// The final prompt of the image.
        prompt: Option<String>,
        /// Where it was saved.
        path: Option<String>,
        /// Why there is none.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
    },
    /// A review began.
    ReviewStarted {
        /// Subject of the review.
        review: String,
    },
    /// A review ended.
    ReviewEnded {
        /// Its findings. The same text follows as a separate message.
        review: String,
    },
    /// The model waited.
    Sleep {
        /// How long.
        duration_ms: u64,
    },
    /// A tool call that Codex refused or could not carry out, and has no step for. The result for the model has the
    /// reason.
    FailedCall {
        /// The tool, as the model called it.
        tool: String,
        /// The first lines of what the model got.
        error: String,
    },
    /// The conversation was shortened.
    Compaction(Compaction),
    /// Another kind, kept unchanged.
    Other {
        /// Codex's name for the kind.
        name: String,
        /// The whole item.
        #[serde(deserialize_with = "raw::read")]
        #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
        raw: Box<RawValue>,
    },
}

impl ItemBody {
    /// The word for the kind, the same as in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UserMessage { .. } => "user_message",
            Self::HookPrompt { .. } => "hook_prompt",
            Self::AgentMessage { .. } => "agent_message",
            Self::Reasoning { .. } => "reasoning",
            Self::Plan { .. } => "plan",
            Self::Command { .. } => "command",
            Self::Patch { .. } => "patch",
            Self::Tool { .. } => "tool",
            Self::ClientTool { .. } => "client_tool",
            Self::ToolOutput { .. } => "tool_output",
            Self::Agents { .. } => "agents",
            Self::AgentActivity { .. } => "agent_activity",
            Self::WebSearch { .. } => "web_search",
            Self::ImageView { .. } => "image_view",
            Self::ImageGeneration { .. } => "image_generation",
            Self::ReviewStarted { .. } => "review_started",
            Self::ReviewEnded { .. } => "review_ended",
            Self::Sleep { .. } => "sleep",
            Self::FailedCall { .. } => "failed_call",
            Self::Compaction(_) => "compaction",
            Self::Other { .. } => "other",
        }
    }
}
