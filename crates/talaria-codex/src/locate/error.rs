//! Why no Codex can be used, and what to do next; one variant per remedy.

use std::path::PathBuf;

use talaria_core::next_step::NextStep;
use talaria_core::version::{MINIMUM, PINNED, Version};

use super::CodexOrigin;

/// Why no Codex can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocateError {
    /// There is none.
    #[error("codex was not found; looked in {}", list(looked_in))]
    NotFound {
        /// The directories that were searched.
        looked_in: Vec<PathBuf>,
    },
    /// The configured path leads nowhere.
    #[error("{} does not exist", path.display())]
    NoSuchFile {
        /// The path as configured.
        path: PathBuf,
    },
    /// There is something else in its place.
    #[error("{} is not a file", path.display())]
    NotAFile {
        /// The path found.
        path: PathBuf,
        /// How it was found.
        origin: CodexOrigin,
    },
    /// The file lacks the permission.
    #[error("{} is not executable", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// How it was found.
        origin: CodexOrigin,
    },
    /// It did not start, did not end well, or did not end in time.
    #[error("{} --version failed: {cause}", path.display())]
    FailedToRun {
        /// The program.
        path: PathBuf,
        /// How it was found.
        origin: CodexOrigin,
        /// What happened.
        cause: String,
    },
    /// It ran and printed no version.
    #[error("{} --version printed no version, but {output:?}", path.display())]
    NoVersion {
        /// The program.
        path: PathBuf,
        /// How it was found.
        origin: CodexOrigin,
        /// The beginning of what it printed.
        output: String,
    },
    /// It is older than we can drive.
    #[error("{} is codex {version}; the oldest that works is {MINIMUM}", path.display())]
    TooOld {
        /// The program.
        path: PathBuf,
        /// How it was found.
        origin: CodexOrigin,
        /// Its version.
        version: Version,
    },
}

impl LocateError {
    /// What to do next.
    pub fn next_step(&self) -> NextStep {
        match self {
            Self::NotFound { .. } => install_pinned(),
            Self::NoSuchFile { .. } => setup(CodexOrigin::Configured),
            Self::NotExecutable { path, origin } => {
                format!("run chmod +x {}, or {}", path.display(), setup(*origin).in_shell()).into()
            }
            Self::NotAFile { origin, .. }
            | Self::FailedToRun { origin, .. }
            | Self::NoVersion { origin, .. }
            | Self::TooOld { origin, .. } => setup(*origin),
        }
    }
}

/// An installation does not help while another program is configured: it would not be used.
fn setup(origin: CodexOrigin) -> NextStep {
    match origin {
        CodexOrigin::Configured => NextStep::ReplaceCodex,
        CodexOrigin::Path | CodexOrigin::Installed => install_pinned(),
    }
}

fn install_pinned() -> NextStep {
    NextStep::Setup { codex: PINNED.to_string() }
}

fn list(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}
