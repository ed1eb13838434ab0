//! Memory across conversations: listing, changing, undoing and approving entries.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Which memory is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MemoryQuery {
    /// A directory of the project whose new conversations `is_shown` is about.
    pub cwd: Option<String>,
    /// A conversation: `in_session` of each entry is about it, and its project counts instead of `cwd`.
    pub session: Option<String>,
}

/// Everything that is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryList {
    /// The directory of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The entries, in the order in which they were made.
    pub entries: Vec<MemoryItem>,
    /// Entries in the conversation's prompt that no longer exist, if the query names a conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionMemory>,
    /// How many proposals wait.
    pub pending: usize,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Memory in the prompt of one conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionMemory {
    /// The conversation.
    pub id: String,
    /// When the text that it has was recorded; missing if it was sent none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Entries that it has although they were removed since, with their last text.
    pub removed: Vec<MemoryItem>,
}

/// Whether a conversation has an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MemoryPresence {
    /// It has the entry as it is now.
    Current,
    /// It has an earlier text of the entry.
    Earlier,
    /// It does not have the entry.
    Missing,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryItem {
    /// Its id: `mem-` and twelve hex digits.
    pub id: String,
    /// `user`, `notes` or `project:DIRECTORY`.
    pub scope: String,
    /// The text.
    pub text: String,
    /// The revision that wrote it.
    pub revision: i64,
    /// Who wrote it: `person`, `model`, `file` (unverified), `import` or `review`.
    pub author: String,
    /// The conversation in which it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The file that it was imported from: the agent, a colon, and the path in the agent's home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// When it was written.
    pub updated_at: Timestamp,
    /// Does a new conversation in the project start with it?
    pub is_shown: bool,
    /// Does the conversation that the query names have it?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_session: Option<MemoryPresence>,
}

/// Which changes are wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MemoryHistoryQuery {
    /// Only changes of this entry.
    pub entry: Option<String>,
    /// Only changes older than this revision.
    pub before: Option<i64>,
    /// At most this many.
    pub limit: usize,
}

impl Default for MemoryHistoryQuery {
    fn default() -> Self {
        Self { entry: None, before: None, limit: 50 }
    }
}

/// One change of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryRevision {
    /// Its number; later ones are higher.
    pub id: i64,
    /// The entry.
    pub entry: String,
    /// `user`, `notes` or `project:DIRECTORY`.
    pub scope: String,
    /// The text before; missing if the entry was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The text after; missing if the entry was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Who did it: `person`, `model`, `file` (unverified), `import` or `review`.
    pub author: String,
    /// In which conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// In which turn of the runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// In which call of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The revision that it takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<i64>,
    /// When.
    pub at: Timestamp,
}

/// Changes that wait for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryProposal {
    /// Its id: `prop-` and eight hex digits.
    pub id: String,
    /// Why a person is asked.
    pub reason: String,
    /// Who proposed it: `model`, `review` or `import`.
    #[serde(default = "model_author")]
    pub author: String,
    /// The conversation whose model proposed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// When.
    pub at: Timestamp,
    /// The proposed changes.
    pub changes: Vec<MemoryProposedChange>,
}

/// The author of a proposal in an answer of an engine that does not name it.
fn model_author() -> String {
    "model".to_owned()
}

/// One change of a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryProposedChange {
    /// `user`, `notes` or `project:DIRECTORY`.
    pub scope: String,
    /// The entry, if there is one already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The text before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The text after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A memory command of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum MemoryWish {
    /// Adds an entry.
    Add {
        /// `user`, `notes` or `project`.
        scope: String,
        /// The text.
        text: String,
        /// A directory of the project.
        cwd: String,
    },
    /// Replaces the text of an entry.
    Replace {
        /// Its id, or a part of its text that only it has.
        entry: String,
        /// The new text.
        text: String,
    },
    /// Removes an entry. Its text remains in the history.
    Remove {
        /// Its id, or a part of its text that only it has.
        entry: String,
    },
    /// Takes back a change.
    Undo {
        /// Its number.
        revision: i64,
    },
    /// Makes the changes of a proposal.
    Approve {
        /// Its id.
        proposal: String,
    },
    /// Leaves the changes of a proposal undone.
    Reject {
        /// Its id.
        proposal: String,
    },
}

/// The changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryDone {
    /// The entries concerned.
    pub changed: Vec<MemoryWritten>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// One entry that a wish was about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryWritten {
    /// Its id.
    pub entry: String,
    /// The revision; missing if it was already so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
}
