//! Why Codex could not be installed, and what to do next; one variant per remedy.

use std::io;
use std::path::{Path, PathBuf};

use talaria_core::next_step::NextStep;
use talaria_core::version::Version;

use crate::locate::LocateError;
use talaria_home::home::HomeError;

/// How many of npm's lines are shown.
const SHOWN_LINES: usize = 8;

/// Why Codex could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// There is no npm to do it.
    #[error("npm was not found on PATH")]
    NpmMissing,
    /// npm could not do it.
    #[error("npm could not install codex ({status}){}", stderr_block(stderr))]
    NpmFailed {
        /// How npm ended.
        status: String,
        /// npm's own code, such as `ENOTFOUND`.
        code: Option<String>,
        /// The lines of its output that explain the failure.
        stderr: String,
    },
    /// There is no space left.
    #[error("the disk is full: cannot install codex into {}", path.display())]
    DiskFull {
        /// Where it was to go.
        path: PathBuf,
    },
    /// The home cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    NotWritable {
        /// What could not be written.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// There is no package for this machine.
    #[error("there is no codex package for {} on {}", std::env::consts::OS, std::env::consts::ARCH)]
    UnsupportedPlatform,
    /// npm omitted the package with the program, which it may do without an error.
    #[error("npm did not install the package that holds the codex program for this machine")]
    Incomplete,
    /// What npm installed does not run.
    #[error("the installed codex does not work: {0}")]
    Broken(#[from] LocateError),
    /// What npm installed is something else.
    #[error("npm installed codex {found} instead of {wanted}")]
    WrongVersion {
        /// The requested version.
        wanted: Version,
        /// The installed version.
        found: Version,
    },
}

impl InstallError {
    /// What to do next.
    pub fn next_step(&self) -> NextStep {
        NextStep::from(match self {
            Self::NpmMissing | Self::UnsupportedPlatform => {
                "install Node.js with your package manager, or put a codex on PATH (npm i -g @openai/codex)"
            }
            Self::NpmFailed { code, .. } if code.as_deref().is_some_and(is_network) => {
                "check the network and npm's proxy settings, then run talaria setup again"
            }
            Self::NpmFailed { .. } => "correct what npm says, then run talaria setup again",
            Self::DiskFull { .. } => "make space there and in npm's cache, then run talaria setup again",
            Self::NotWritable { .. } => "set TALARIA_HOME to a directory that you may write",
            Self::Incomplete => "check npm's settings for optional packages, then run talaria setup again",
            Self::Broken(_) | Self::WrongVersion { .. } => "run npm cache verify, then talaria setup again",
        })
    }

    /// Sorts what the system said about a file.
    pub(super) fn disk(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { path: path.to_owned() }
            }
            _ => Self::NotWritable { path: path.to_owned(), source },
        }
    }

    /// Sorts how npm ended. `stderr` is the end of what it printed, `path` where it was to install.
    pub(super) fn npm(status: String, stderr: &str, path: &Path) -> Self {
        let lines: Vec<&str> = stderr.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        // The reason follows the code and the advice is last; without a code only the end is useful.
        let coded = lines.iter().position(|line| code_in(line).is_some());
        let code = coded.and_then(|at| code_in(lines[at]));
        let from = coded.unwrap_or(lines.len().saturating_sub(SHOWN_LINES));
        let stderr: Vec<&str> = lines.into_iter().skip(from).take(SHOWN_LINES).collect();
        if matches!(code.as_deref(), Some("ENOSPC" | "EDQUOT")) {
            return Self::DiskFull { path: path.to_owned() };
        }
        Self::NpmFailed { status, code, stderr: stderr.join("\n") }
    }
}

impl From<HomeError> for InstallError {
    fn from(error: HomeError) -> Self {
        match error {
            HomeError::Create { path, source } => Self::disk(&path, source),
            HomeError::NotADirectory(path) => Self::disk(&path, io::ErrorKind::NotADirectory.into()),
            other => Self::disk(Path::new("TALARIA_HOME"), io::Error::other(other)),
        }
    }
}

/// npm prints `npm error code X` (formerly `npm ERR! code X`).
fn code_in(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let is_code = words.next() == Some("npm") && words.next().is_some() && words.next() == Some("code");
    is_code.then(|| words.next().map(str::to_owned)).flatten()
}

fn is_network(code: &str) -> bool {
    ["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ERR_SOCKET_TIMEOUT"]
        .contains(&code)
}

fn stderr_block(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!(":\n{stderr}") }
}
