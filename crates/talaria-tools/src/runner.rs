//! The one interface of this crate to the engine: plan, prepare, perform, settle. Each step is durable before the next.
//!
//! 1. `plan` checks a call against what is in force and changes nothing. The engine asks the gate and, where `consent`
//!    says so, a person, about `subject`.
//! 2. `prepare` returns the `EffectRecord`. The engine stores it with `running` before it continues.
//! 3. `perform` has the effect and returns the result, which the engine stores before the next model request.
//! 4. After a crash `settle` says from the record alone what became of the call: done, not done, still running, or unknown.
//!    Nothing is repeated but what only reads.

mod output;
mod performing;
mod plan;
mod settling;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use talaria_core::item::FileChange;
use talaria_core::policy::ApprovalPolicy;
use talaria_core::tool::ToolOutcome;

use crate::files::{ContentDigest, FileBounds, PlannedChange, ViewedImage};
use crate::keeper::{CommandId, CommandRoom};
use crate::sandbox::{SandboxBounds, SandboxProgram};
pub use plan::{ToolPlan, ToolRefusal};
pub use settling::SettledCall;

/// Runs the tools of the loop for one home.
#[derive(Clone, Debug)]
pub struct LoopToolRunner {
    room: CommandRoom,
    /// The Codex whose sandbox is used; without one commands are outside.
    codex: Option<SandboxProgram>,
    /// The shell that reads the lines of `run`.
    shell: PathBuf,
    /// How far the output of each command was read. Only a convenience: a poll may name its position.
    positions: Arc<Mutex<HashMap<CommandId, u64>>>,
    /// Where output that is too long for a result is written whole; without it a model polls its parts.
    long_texts: Option<PathBuf>,
}

/// Settings in force for a call.
#[derive(Clone, Debug)]
pub struct LoopScene {
    /// The working directory of the conversation; absolute.
    pub cwd: PathBuf,
    /// The person's home directory.
    pub home: Option<PathBuf>,
    /// What bounds commands.
    pub sandbox: SandboxBounds,
    /// What bounds the file tools.
    pub files: FileBounds,
    /// When a person is asked.
    pub policy: ApprovalPolicy,
    /// What commands get to know.
    pub environment: Vec<(OsString, OsString)>,
    /// What the model has read.
    pub read: ReadFiles,
}

/// The content of files as a model last saw it: what an edit may build on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadFiles(HashMap<PathBuf, ContentDigest>);

impl ReadFiles {
    /// Notes what the model has seen of a file.
    pub fn note(&mut self, path: PathBuf, digest: ContentDigest) {
        self.0.insert(path, digest);
    }

    /// What the model has seen of a file.
    pub fn get(&self, path: &std::path::Path) -> Option<&ContentDigest> {
        self.0.get(path)
    }
}

/// What a call is about to do, for the next engine. Stored before it is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EffectRecord {
    /// It only reads.
    Reads,
    /// It runs this command.
    Command {
        /// The command.
        process: CommandId,
    },
    /// It sends input to this command.
    Input {
        /// The command.
        process: CommandId,
        /// Names the input.
        ticket: String,
    },
    /// It ends this command.
    Kill {
        /// The command.
        process: CommandId,
    },
    /// It changes this file.
    Change(PlannedChange),
}

/// A call that is recorded and may now have its effect.
#[derive(Debug)]
pub struct PreparedCall {
    plan: ToolPlan,
    record: EffectRecord,
}

impl PreparedCall {
    /// What to store before `perform`.
    pub fn record(&self) -> &EffectRecord {
        &self.record
    }
}

/// What a call returned.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolReport {
    /// The result for the model.
    pub outcome: ToolOutcome,
    /// The command, if it still runs.
    pub running: Option<CommandId>,
    /// What changed, for people.
    pub change: Option<FileChange>,
    /// What the model has seen of a file now.
    pub seen: Option<(PathBuf, ContentDigest)>,
    /// An image for the model.
    pub image: Option<ViewedImage>,
}

impl From<ToolOutcome> for ToolReport {
    fn from(outcome: ToolOutcome) -> Self {
        Self { outcome, running: None, change: None, seen: None, image: None }
    }
}

impl LoopToolRunner {
    /// A runner for the commands of one home. `shell` reads the lines of `run`.
    pub fn new(room: CommandRoom, codex: Option<SandboxProgram>, shell: PathBuf) -> Self {
        Self { room, codex, shell, positions: Arc::default(), long_texts: None }
    }

    /// Writes output that is too long for a result to a file in this directory, which the file tools may read.
    #[must_use]
    pub fn with_long_texts(mut self, directory: PathBuf) -> Self {
        self.long_texts = Some(directory);
        self
    }

    /// The commands of the home.
    pub fn commands(&self) -> &CommandRoom {
        &self.room
    }
}

#[cfg(test)]
mod tests;
