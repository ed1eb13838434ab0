//! Calls about commands that run in Codex's sandbox and in no conversation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Runs a command in Codex's sandbox, outside any conversation. The response arrives when it has ended, after all of its
/// output.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandExec {
    /// Program and arguments.
    pub command: Vec<String>,
    pub cwd: String,
    /// Time limit; Codex has its own default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// No limit at all.
    #[serde(skip_serializing_if = "is_not")]
    pub disable_timeout: bool,
    /// Its sandbox. The writable roots must be named: the default is the server's own directory.
    pub sandbox_policy: SandboxPolicy,
    /// How what it prints is reported as it is printed; without it, the answer has it.
    #[serde(flatten)]
    pub streaming: Option<Streaming>,
    /// Variables besides those that Codex sets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// How a command reports what it prints.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Streaming {
    /// Our name for it on this connection.
    pub process_id: String,
    /// Always true: otherwise the answer has it.
    pub stream_stdout_stderr: bool,
    /// How many bytes of each stream are reported at most.
    pub output_bytes_cap: u64,
}

impl CommandExec {
    /// A command whose answer has what it printed.
    pub fn new(command: Vec<String>, cwd: String, timeout_ms: u64, sandbox_policy: SandboxPolicy) -> Self {
        Self {
            command,
            cwd,
            timeout_ms: Some(timeout_ms),
            disable_timeout: false,
            sandbox_policy,
            streaming: None,
            env: BTreeMap::new(),
        }
    }
}

fn is_not(flag: &bool) -> bool {
    !flag
}

/// Sandbox of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SandboxPolicy {
    /// Write below these directories.
    WorkspaceWrite {
        writable_roots: Vec<String>,
        /// Whether it may use the network.
        network_access: bool,
        /// Whether `$TMPDIR` is read-only too.
        exclude_tmpdir_env_var: bool,
        /// Whether `/tmp` is read-only too.
        exclude_slash_tmp: bool,
    },
    /// Write nowhere.
    ReadOnly {
        /// Whether it may use the network.
        network_access: bool,
    },
    /// Everything.
    DangerFullAccess,
}

/// How a command ended.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecReply {
    pub exit_code: i32,
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Ends a command. Its own answer says that it has ended.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandTerminate {
    /// Our name for it.
    pub process_id: String,
}
