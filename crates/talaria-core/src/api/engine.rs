//! The engine itself: identity, status, shutdown.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{BackgroundInfo, BudgetInfo, RequestInfo};
use crate::event::Stage;
use crate::ids::SessionId;

/// Who the engine is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EngineInfo {
    /// Its process.
    pub pid: u32,
    /// The version of Talaria.
    pub version: String,
    /// When its program file was made, in milliseconds since 1970: of two builds of one version the later one is newer.
    pub build: i64,
    /// The version of the API that it speaks.
    pub api: u32,
    /// Talaria's home directory.
    pub home: String,
    /// Since when it runs.
    pub since: Timestamp,
}

/// Everything that runs or waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Status"))]
pub struct EngineStatus {
    /// The engine.
    pub engine: EngineInfo,
    /// The running Codex processes.
    pub hosts: Vec<HostInfo>,
    /// The turns that have no outcome yet.
    pub turns: Vec<RunningTurn>,
    /// The commands that outlived their turns and still run.
    #[serde(default)]
    pub background: Vec<BackgroundInfo>,
    /// What waits for a person.
    pub requests: Vec<RequestInfo>,
    /// How many tasks there are that have not ended.
    #[serde(default)]
    pub tasks: TaskCounts,
    /// Resource limits.
    #[serde(default)]
    pub limits: Limits,
    /// The keys of model providers that were used since the engine started. Never the keys themselves.
    #[serde(default)]
    pub keys: Vec<ProviderKeyInfo>,
    /// The budgets of today, and of the conversations and tasks whose turns run or wait.
    #[serde(default)]
    pub budgets: Vec<BudgetInfo>,
    /// Where the engine can be reached over TCP, if that is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web: Option<WebStatus>,
    /// Notes for the user, for example that floor and rules do not apply where Codex never asks.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Whether the engine can be reached over TCP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebStatus {
    /// The address on which it listens; without one it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Why it does not listen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// How many tokens are valid.
    #[serde(default)]
    pub tokens: usize,
}

/// The state of a key of a model provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProviderKeyState {
    /// Nothing is wrong with it.
    Ok,
    /// Its credit or allowance is used up.
    Exhausted,
    /// The provider did not accept it.
    Dead,
}

impl ProviderKeyState {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Exhausted => "exhausted",
            Self::Dead => "dead",
        }
    }
}

/// A key of a model provider, with its use since the engine started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProviderKeyInfo {
    /// The provider.
    pub provider: String,
    /// Where the key is: the name of a variable or of a file.
    pub source: String,
    /// Its state.
    pub state: ProviderKeyState,
    /// When it is tried again although others work; none if it is good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Requests that were sent with it.
    pub requests: u64,
    /// Requests that run with it.
    pub in_use: u64,
    /// Tokens of the answers.
    pub tokens: u64,
}

/// Tasks that have not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskCounts {
    /// Codex works on them.
    pub working: usize,
    /// They wait for a person, and take no place among those that work.
    pub waiting: usize,
    /// They wait for a place.
    pub queued: usize,
}

/// Resource limits of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// Tasks that Codex works on at once.
    pub tasks: usize,
    /// Codex processes.
    pub hosts: usize,
    /// Conversations that one of them has loaded.
    pub threads_per_host: usize,
    /// Memory of one of them above which it is replaced between turns.
    pub host_memory_kib: Option<u64>,
}

/// One running Codex.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostInfo {
    /// Its process.
    pub pid: i32,
    /// Its version.
    pub codex: String,
    /// How many conversations it has loaded for us.
    pub threads: usize,
    /// How many turns run on it.
    pub turns: usize,
    /// Memory of it and its child processes.
    pub memory_kib: u64,
    /// Whether it accepts no more conversations because it will be replaced.
    #[serde(default)]
    pub draining: bool,
    /// Since when it runs.
    pub since: Timestamp,
}

/// A turn that has no outcome yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunningTurn {
    /// Its session.
    pub session: SessionId,
    /// The task that the session is, if it is one.
    pub task: Option<String>,
    /// Which turn of the session, from 1.
    pub turn: i64,
    /// How far its input is.
    pub stage: Stage,
    /// Title of the conversation.
    pub title: String,
    /// When it was sent to Codex, or asked for if it has not been.
    pub since: Timestamp,
    /// The process that runs it, if that is known.
    pub host: Option<i32>,
    /// The variable with the key of its model provider, where the turn cannot continue without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
}

/// Mode of a shutdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stop {
    /// Leave Codex and its turns running, for the next engine to resume.
    #[serde(default)]
    pub keep_turns: bool,
    /// Passive clients must not start another engine until the user asks for something.
    #[serde(default)]
    pub stay_down: bool,
}

/// What ended with the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stopped {
    /// Turns that were interrupted.
    pub interrupted: usize,
    /// Turns that were asked to stop and did not in time: the next engine finds out what became of them.
    #[serde(default)]
    pub unsettled: usize,
    /// Turns that continue without the engine.
    pub kept: usize,
}
