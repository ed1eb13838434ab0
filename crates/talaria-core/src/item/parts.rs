//! The parts that steps are made of.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::ThreadId;

/// The state of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StepStatus"))]
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
    /// Stopped on the way.
    Interrupted,
    /// Its end is unknown, or has a status that this build does not know.
    Unknown,
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PatchedFile"))]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// It is new.
    Add,
    /// Deleted.
    Delete,
    /// It changes.
    Update,
}

impl fmt::Display for FileAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "add",
            Self::Delete => "delete",
            Self::Update => "update",
        })
    }
}

/// Whose words a message of the user's are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The person's.
    #[default]
    Person,
    /// Talaria's: the reason for the model why a request was declined.
    Talaria,
}

impl Author {
    /// Did the person say it?
    pub fn is_person(&self) -> bool {
        *self == Self::Person
    }
}

/// Whose a command is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CommandSource {
    /// The model's.
    #[default]
    Agent,
    /// Input of the model's for a command that still runs.
    Interaction,
    /// A person's, typed into a client of Codex.
    User,
    /// A word that this build does not know.
    Unknown,
}

impl CommandSource {
    /// Is it an ordinary command of the model's?
    pub fn is_agent(&self) -> bool {
        *self == Self::Agent
    }
}

/// Something that a person said without words: an image, a file that was mentioned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attachment {
    /// `image`, `audio`, `skill`, `mention`, or Codex's own word.
    pub kind: String,
    /// Its file, address or name. Data that was sent along is not repeated here.
    pub name: Option<String>,
}

impl fmt::Display for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "[{}: {name}]", self.kind),
            None => write!(f, "[{}]", self.kind),
        }
    }
}

/// Something that the model asks in passing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageQuestion {
    /// The question.
    pub title: String,
    /// Answers to choose from.
    pub options: Vec<String>,
}

/// Result of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolResult {
    /// Its text; structured content as JSON where there is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Number of images in it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub images: u32,
    /// How many parts of other kinds: audio, binary files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The state of another agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentState {
    /// Its thread.
    pub thread: ThreadId,
    /// Codex's word: `pendingInit`, `running`, `completed`, `errored`, …
    pub status: String,
    /// Its last message, or the reason of its failure.
    pub message: Option<String>,
}

/// A web action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SearchAction {
    /// A search.
    Search {
        /// All queries; Codex names the first one as the query of the item.
        queries: Vec<String>,
    },
    /// A page was opened.
    OpenPage {
        /// Its address.
        url: Option<String>,
    },
    /// Something was looked for in a page.
    FindInPage {
        /// The address of the page.
        url: Option<String>,
        /// What.
        pattern: Option<String>,
    },
    /// Something that Codex does not name.
    Other,
}
