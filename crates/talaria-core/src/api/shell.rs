//! A command line of the person's own, run in the sandbox of a conversation and outside of its turns.

use serde::{Deserialize, Serialize};

use super::LocalCaller;
use crate::policy::Sandbox;

/// A command line to run outside of every turn: the model does not see it, and nothing of it is stored. It is run by
/// `/bin/bash -c`, or `/bin/sh -c` where there is no bash, with the environment of the person's terminal (so the profile
/// is not read again), without a terminal and without input.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shell {
    /// The conversation whose directory and sandbox apply; without one those below do.
    #[serde(default)]
    pub session: Option<String>,
    /// Where it runs if there is no conversation; absolute.
    pub cwd: String,
    /// The command line.
    pub command: String,
    /// The sandbox if there is no conversation; without one it is what Codex's configuration says.
    #[serde(default)]
    pub sandbox: Option<Sandbox>,
    /// What only a client on this machine knows.
    #[serde(default)]
    pub caller: LocalCaller,
    /// After how many milliseconds it is ended; without it, never.
    #[serde(default)]
    pub limit_ms: Option<u64>,
}

/// What a command printed, or how it ended. Secrets are masked, and bytes that are not text are replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ShellNews {
    /// It printed something.
    Output {
        /// Where.
        stream: ShellStream,
        /// What.
        text: String,
    },
    /// It prints more than is passed on: nothing of this stream follows. It continues running.
    Cut {
        /// Which stream.
        stream: ShellStream,
    },
    /// It is over. Always the last.
    Ended {
        /// Its exit code; `None` if Codex did not report one.
        exit: Option<i32>,
        /// Was something that it printed not passed on?
        cut: bool,
        /// How long it ran.
        took_ms: u64,
        /// Note for the user: why there is no exit code, which sandbox was used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
}

/// Where a command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ShellStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}
