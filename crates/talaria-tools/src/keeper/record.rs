//! The files of a command as data: what is to run, which process keeps it, and how it ended.

use serde::{Deserialize, Serialize};
use talaria_guard::place::Place;

use super::spool::SpoolLimits;

/// The command to run. Written by the engine before a keeper starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptCommandSpec {
    /// The program and its arguments; never empty.
    pub argv: Vec<String>,
    /// Where it runs.
    pub cwd: String,
    /// What it reads.
    pub input: CommandInput,
    /// Where it runs: what is typed into it later happens there too.
    pub place: Place,
    /// How much of its output is kept.
    #[serde(default)]
    pub limits: SpoolLimits,
}

/// What a command reads from its standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandInput {
    /// Nothing: a program that reads gets the end of its input at once.
    Nothing,
    /// Later messages to it.
    Open,
}

/// The spec as it is stored, with what proves that the directory is the one in which it was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StoredSpec {
    #[serde(flatten)]
    pub(super) spec: KeptCommandSpec,
    /// The boot in which it was written.
    pub(super) boot: String,
    /// The directory itself: a copy of it is another one.
    pub(super) device: u64,
    pub(super) inode: u64,
}

/// Which process may run the command. Written once, by linking a finished file into place: the first one wins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub(super) enum Claim {
    /// A keeper: it runs the command.
    Keeper { pid: i32, started: String, boot: String },
    /// An engine that found no keeper: the command never runs.
    Abandoned,
}

/// How a command ended, by its keeper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEnd {
    /// What happened.
    pub ending: CommandEnding,
    /// Was it ended because that was asked for?
    pub is_stopped: bool,
    /// How many bytes it printed that were spooled, those that were dropped since included.
    pub output_bytes: u64,
    /// How many bytes could not be spooled, because the disk was full or failed.
    pub unspooled_bytes: u64,
    /// How many processes it left running, which were ended.
    pub leftovers: usize,
    /// When it ended, in milliseconds since 1970.
    pub ended_at: i64,
}

/// What happened to a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnding {
    /// It exited with this code.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It could not be started, for this reason.
    NotStarted(String),
}
