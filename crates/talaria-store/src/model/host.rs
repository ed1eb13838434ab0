//! Hosts: the Codex processes that Talaria started.

use crate::model::words::HostState;

/// A Codex process that is about to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewHost {
    /// The nonce in the environment of the process, which proves that it is ours.
    pub nonce: String,
    /// Where it will listen.
    pub socket: String,
    /// Its private directory.
    pub dir: String,
    /// The version of Codex.
    pub version: String,
    /// Its `CODEX_HOME`, if one was set.
    pub codex_home: Option<String>,
    /// A digest of what a host must have in common with a session.
    pub key: String,
    pub created_at: i64,
}

/// Distinguishes a process from a later one with the same pid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostProcess {
    pub pid: i32,
    /// When it started, as the system says it.
    pub started: String,
    /// Since which start of the machine.
    pub boot: String,
}

/// A stored Codex process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRow {
    /// The nonce in the environment of the process.
    pub nonce: String,
    pub socket: String,
    /// Its private directory.
    pub dir: String,
    /// How far it is.
    pub state: HostState,
    /// The process, once it is known.
    pub process: Option<HostProcess>,
    /// The version of Codex.
    pub version: String,
    /// Its `CODEX_HOME`, if one was set.
    pub codex_home: Option<String>,
    /// A digest of what a host must have in common with a session.
    pub key: String,
    /// When it was intended.
    pub created_at: i64,
    pub ended_at: Option<i64>,
    pub why: Option<String>,
}
