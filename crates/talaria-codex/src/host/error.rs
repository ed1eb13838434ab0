//! Why a host could not be started: one variant per decision of the caller.

use std::path::PathBuf;

use talaria_core::next_step::NextStep;

use crate::client::CallError;
use crate::host_register::RegisterError;

/// Why a host could not be started.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Its private directory could not be made.
    #[error("cannot prepare the directory {} for Codex: {cause}", path.display())]
    Directory {
        /// Where.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The program could not be run.
    #[error("cannot run {}: {cause}", path.display())]
    Spawn {
        /// The program.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// It did not start to listen.
    #[error("Codex did not start: {why}")]
    NotUp {
        /// What happened, with its last words.
        why: String,
    },
    /// It could not be recorded, and an unrecorded host must not run. It was not started, or was ended.
    #[error("cannot write down that Codex is started: {0}")]
    Register(#[from] RegisterError),
    /// As many as are allowed run, and none of them can be used.
    #[error("{max} Codex processes run already, all of them busy with something else")]
    Full {
        /// How many are allowed.
        max: usize,
    },
    /// It listened, but did not respond to `initialize`. It was ended.
    #[error("Codex does not take our greeting: {0}")]
    Greeting(#[from] CallError),
}

impl HostError {
    /// The start was cancelled because its engine ends.
    pub(crate) fn ending() -> Self {
        Self::NotUp { why: "the engine ends".to_owned() }
    }

    /// Returns what the user can do about it.
    pub fn next_step(&self) -> NextStep {
        let text = match self {
            Self::Directory { .. } => {
                "make room there, or set TALARIA_HOME to a directory that you can write"
            }
            Self::Spawn { .. } => return NextStep::InstallCodex,
            Self::Register(_) => "make room where Talaria keeps its data, then try again",
            Self::Full { .. } => "wait until one is free, or raise codex.max_hosts",
            Self::NotUp { .. } | Self::Greeting(_) => return NextStep::Doctor,
        };
        text.into()
    }

    /// Returns whether a retry may succeed.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::NotUp { .. } | Self::Greeting(_))
    }
}
