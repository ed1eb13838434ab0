//! Commands that outlive the turn that started them: facts about one, and how it ended.
//!
//! Codex keeps such a command running and reports its output and its end after the turn (0.130 and 0.166). Pure data: the
//! turn machine asks for them when a turn ends, the engine follows them, every face shows them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{BackgroundId, ItemId};

/// A command whose end Codex had not reported when its turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnendedCommand {
    /// The step that started it.
    pub item: ItemId,
    /// The command line.
    pub command: String,
    /// Where it runs.
    pub cwd: String,
}

/// A command that runs in the background.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackgroundCommand {
    /// Our name for it.
    pub id: BackgroundId,
    /// The step that started it.
    pub item: ItemId,
    /// The command line.
    pub command: String,
    /// Where it runs.
    pub cwd: String,
    /// Codex's own number for it, where Codex lists such commands. Not a process id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
}

/// How a background command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BackgroundEnd {
    /// By itself, with an exit code.
    Exited,
    /// It was stopped: by `talaria ps stop`, by the model, or by an interrupt.
    Stopped,
    /// Codex ended, and the command with it.
    WithCodex,
    /// It ended while no engine was attached to Codex, so nothing else is known.
    Unseen,
}

impl BackgroundEnd {
    /// How it ended, in words that follow the command.
    pub fn words(self, exit_code: Option<i32>) -> BackgroundEndWords {
        BackgroundEndWords { end: self, exit_code }
    }
}

/// How a background command ended, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackgroundEndWords {
    end: BackgroundEnd,
    exit_code: Option<i32>,
}

impl fmt::Display for BackgroundEndWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.end, self.exit_code) {
            (BackgroundEnd::Exited, Some(code)) => write!(f, "exited with code {code}"),
            (BackgroundEnd::Exited, None) => f.write_str("ended"),
            (BackgroundEnd::Stopped, _) => f.write_str("was stopped"),
            (BackgroundEnd::WithCodex, _) => f.write_str("ended with Codex"),
            (BackgroundEnd::Unseen, _) => {
                f.write_str("ended while no engine was attached to Codex; its exit code is not known")
            }
        }
    }
}
