//! Tasks: conversations that work in the background.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::RequestInfo;
use crate::event::Usage;
use crate::ids::SessionId;
use crate::outcome::Report;

/// How a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Its turn was written down and not sent yet.
    Starting,
    /// It works.
    Running,
    /// It waits for a person.
    Waiting,
    /// Codex said that it completed.
    Completed,
    /// It failed.
    Failed,
    /// It was stopped.
    Interrupted,
    /// What became of it is not known.
    Lost,
}

/// A task with what it did.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskInfo {
    /// Its name.
    pub id: String,
    /// The conversation that it is.
    pub session: SessionId,
    /// How it stands.
    pub status: TaskStatus,
    /// What it is about.
    pub title: String,
    /// How its last turn ended.
    pub outcome: Option<Report>,
    /// Its final answer.
    pub answer: Option<String>,
    /// The files that it changed.
    pub files: Vec<String>,
    /// The commands that it ran.
    pub commands: Vec<String>,
    /// What it waits for.
    pub requests: Vec<RequestInfo>,
    /// What it cost.
    pub usage: Option<Usage>,
    /// When it was started.
    pub created_at: Timestamp,
    /// When it had an outcome.
    pub completed_at: Option<Timestamp>,
}
