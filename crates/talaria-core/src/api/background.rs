//! Commands that outlive their turn, as the engine lists them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::{BackgroundId, ItemId, SessionId};

/// A command that was left running in the background.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackgroundInfo {
    /// Its name.
    pub id: BackgroundId,
    /// The conversation that started it.
    pub session: SessionId,
    /// The task that the conversation is, if it is one.
    pub task: Option<String>,
    /// The turn that started it, from 1.
    pub turn: i64,
    /// The step that started it.
    pub item: ItemId,
    /// The command line, secrets masked.
    pub command: String,
    /// Where it runs.
    pub cwd: String,
    /// When its turn ended and it was left running.
    pub since: Timestamp,
    /// The Codex process that runs it.
    pub host: Option<i32>,
    /// Did Codex report to this engine that it runs? After a restart that takes a moment; until then it is not known.
    #[serde(default)]
    pub confirmed: bool,
    /// Its output is in the events of the conversation that have greater numbers than this.
    pub after: i64,
}

/// A request to stop a background command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StopBackground {
    /// Stop every background command of the same conversation.
    #[serde(default)]
    pub all: bool,
}

/// The stopped commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackgroundStopped {
    /// The commands that Codex was asked to end.
    pub stopped: Vec<BackgroundInfo>,
    /// It had ended by itself before.
    pub ended_before: bool,
}
