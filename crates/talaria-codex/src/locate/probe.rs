//! Asks a program for its version by running `--version`.
//!
//! What runs here may be anything: a wrapper, a broken script, a program that never ends or never stops printing. So
//! its time and its output are bounded, it gets no input, and it ends with the question.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use talaria_core::version::Version;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use super::child_guard::ChildGuard;
use super::{CodexOrigin, LocateError};

/// How long a program may take to print its version; a Node launcher on a cold disk takes seconds.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// More than any version, little enough to keep.
const OUTPUT_LIMIT: u64 = 16 * 1024;

/// How much of an answer that was not understood is shown.
const SHOWN: usize = 200;

/// Runs `<path> --version` and reads the answer.
pub(crate) async fn version_of(
    path: &Path,
    origin: CodexOrigin,
    limit: Duration,
) -> Result<Version, LocateError> {
    let failed = |cause: String| LocateError::FailedToRun { path: path.to_owned(), origin, cause };
    let mut command = Command::new(path);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Even for its version Codex creates a directory in its home. A home below a file cannot be created: then it
    // runs without.
    command.env("CODEX_HOME", path.join("none"));
    let mut guard = ChildGuard::spawn(&mut command).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => LocateError::NotExecutable { path: path.to_owned(), origin },
        // The file existed a moment ago: the interpreter of the script, or the loader, is missing.
        io::ErrorKind::NotFound => failed("the interpreter that it asks for is missing".to_owned()),
        _ => failed(error.to_string()),
    })?;
    let child = guard.child();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let answer =
        tokio::time::timeout(limit, async { tokio::join!(head(stdout), head(stderr), child.wait()) });
    let Ok((stdout, stderr, status)) = answer.await else {
        return Err(failed(format!("no answer within {} s", limit.as_secs_f32())));
    };
    let status = status.map_err(|error| failed(error.to_string()))?;
    if !status.success() {
        let last = stderr
            .lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or("it printed no reason");
        return Err(failed(format!("{status}: {}", printable(last))));
    }
    Version::from_output(&stdout).ok_or_else(|| LocateError::NoVersion {
        path: path.to_owned(),
        origin,
        output: printable(stdout.trim()),
    })
}

/// Reads the beginning and closes the pipe, so that an endless printer ends.
async fn head(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // Output before an error still helps to explain the failure.
        let _ = pipe.take(OUTPUT_LIMIT).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn printable(text: &str) -> String {
    text.chars().take(SHOWN).filter(|c| *c == '\n' || !c.is_control()).collect()
}
