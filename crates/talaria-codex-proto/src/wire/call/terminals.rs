//! Calls about commands that outlive the turn that began them. Listing and ending one of them is newer than ending all.

use serde::{Deserialize, Serialize};

use talaria_core::ids::{ItemId, ThreadId};

/// Ends every command of a conversation that runs in the background, whichever turn began it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalsClean {
    pub thread_id: ThreadId,
}

/// Asks which commands of a conversation run in the background.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalsList {
    pub thread_id: ThreadId,
    /// Where the last answer ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// The commands that run in the background.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalsListReply {
    pub data: Vec<WireTerminal>,
    /// Set if there are more.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

/// A command that runs in the background.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WireTerminal {
    /// The item that began it.
    pub item_id: ItemId,
    /// Codex's own number for it.
    pub process_id: String,
    pub command: String,
}

/// Ends one command that runs in the background.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalsTerminate {
    pub thread_id: ThreadId,
    /// Codex's own number for it.
    pub process_id: String,
}

/// Whether a command was ended.
#[derive(Clone, Debug, Deserialize)]
pub struct TerminalsTerminateReply {
    /// False if it had ended already.
    pub terminated: bool,
}
