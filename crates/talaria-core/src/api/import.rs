//! Importing what other programs stored, and undoing that.

use serde::{Deserialize, Serialize};

use crate::ids::SessionId;

/// A request to import a database of another program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Import {
    /// The file; absolute. Not looked at when something is taken back.
    pub path: String,
    /// Whose file it is.
    #[serde(default)]
    pub from: ImportFrom,
    /// The action.
    #[serde(default)]
    pub how: ImportHow,
    /// The name of this import, by which it can be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Where the page before ended. Conversations come page by page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Whose database it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ImportFrom {
    /// The old bridge: `codex_bridge.db`, with tasks.
    #[default]
    CodexBridge,
    /// Hermes: `state.db`, with conversations.
    Hermes,
}

/// The action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ImportHow {
    /// Take it over.
    #[default]
    Take,
    /// Only say what would come.
    Preview,
    /// Undo an import.
    Undo,
    /// Only say what would go.
    PreviewUndo,
}

/// Result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Imported {
    /// Tasks that are new here.
    pub tasks: usize,
    /// Those of them that had not ended, and are lost.
    pub lost: usize,
    /// Tasks that were here already.
    pub known: usize,
    /// Names that could not be taken over: they are no names of tasks, or something else has them.
    #[serde(default)]
    pub refused: Vec<String>,
    /// The page of conversations, if those were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<ImportedSessions>,
}

/// What became, or would become, of some conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ImportedSessions {
    /// All that the other program has.
    pub total: u64,
    /// How many of them this is about.
    pub seen: usize,
    /// New here.
    pub new: usize,
    /// Here before, and continued there since.
    pub grown: usize,
    /// Here before, as they are.
    pub known: usize,
    /// In which no one said anything: they are not taken over.
    pub empty: usize,
    /// Imported messages.
    pub messages: usize,
    /// Messages that did not: prompts of the program, and what is too long.
    pub left_out: usize,
    /// Gone, when something is taken back.
    pub removed: usize,
    /// As they were before the import, when something is taken back.
    pub shortened: usize,
    /// Used since, and therefore still here, when something is taken back.
    pub left: Vec<SessionId>,
    /// The version of the file, if it is newer than any that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newer: Option<i64>,
    /// Where the next page begins; without it this was the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl ImportedSessions {
    /// Adds a further page.
    pub fn add(&mut self, page: Self) {
        self.total = self.total.max(page.total);
        self.seen += page.seen;
        self.new += page.new;
        self.grown += page.grown;
        self.known += page.known;
        self.empty += page.empty;
        self.messages += page.messages;
        self.left_out += page.left_out;
        self.removed += page.removed;
        self.shortened += page.shortened;
        self.left.extend(page.left);
        self.newer = page.newer.or(self.newer);
        self.next = page.next;
    }
}
