//! Runs the user's git, one question at a time.
//!
//! Owns what every call has in common: no shell, no input but ours, a time limit, an output limit, English messages, no
//! prompt, no lock that is not needed, and an environment in which nothing of the caller's points git elsewhere. No
//! program that a repository names may run: no hook, no file watcher, no pager, no transport, no filter of the
//! repository's own configuration (see `without_own_filters`). Called by the other files of `worktree` alone; there is no
//! other place that runs git.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::WorktreeError;
use talaria_codex::locate::child_guard::ChildGuard;
use talaria_core::backoff::Backoff;

/// The first git that takes attributes from a commit instead of from files that a task can write (`GIT_ATTR_SOURCE`).
pub(super) const OLDEST: &str = "2.41";
const OLDEST_PARTS: (u32, u32) = (2, 41);

/// How long one call may take; a checkout of a large repository on a slow disk takes its time.
const LIMIT: Duration = Duration::from_secs(120);

/// How much one call may say: the list of the files of a repository with a million of them.
const OUTPUT: usize = 128 * 1024 * 1024;

/// Maximum length of a kept error output.
const COMPLAINT: u64 = 4 * 1024;

/// How often a call that met a change of another process is made, and the pauses between two.
const TRIES: u32 = 8;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(2));

/// Variables of git's that say where its programs and the user's own configuration are; all others are removed.
const KEPT: [&str; 6] = [
    "GIT_EXEC_PATH",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
];

/// Settings that keep programs from running, and the user's files and configuration from being written in passing.
const SETTINGS: [(&str, &str); 14] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.splitIndex", "false"),
    ("core.untrackedCache", "false"),
    ("core.safecrlf", "false"),
    ("core.sshCommand", "false"),
    ("diff.external", ""),
    ("log.showSignature", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("add.ignoreErrors", "false"),
    ("worktree.useRelativePaths", "false"),
    ("advice.addEmbeddedRepo", "false"),
];

/// What git answered.
pub(super) struct Output {
    /// Whether it ended with success.
    pub(super) is_success: bool,
    /// Standard output.
    pub(super) stdout: Vec<u8>,
    /// Standard error.
    pub(super) stderr: String,
    /// It would have said more.
    pub(super) is_cut: bool,
}

/// git, pointed at a place.
#[derive(Clone)]
pub(super) struct Git {
    cwd: PathBuf,
    environment: Vec<(&'static str, OsString)>,
    settings: Vec<(String, String)>,
}

impl Git {
    /// Looks for the repository from this directory on, as git does for a person.
    pub(super) fn at(cwd: &Path) -> Self {
        let settings = SETTINGS.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        Self { cwd: cwd.to_owned(), environment: Vec::new(), settings }
    }

    /// Uses this git directory and looks for nothing.
    pub(super) fn of(common: &Path) -> Self {
        Self::at(common).with("GIT_DIR", common)
    }

    /// Sets a variable.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Moves to another directory.
    pub(super) fn cwd(mut self, cwd: &Path) -> Self {
        self.cwd = cwd.to_owned();
        self
    }

    /// Overrides a setting.
    pub(super) fn set(mut self, key: &str, value: &str) -> Self {
        self.settings.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Switches off the filters that the repository's own configuration defines.
    ///
    /// A directory that a sandboxed command could write may be a repository with any configuration: a filter in it would
    /// be a command line that we run outside. Filters of the user's and the system's configuration (Git LFS) stay.
    pub(super) async fn without_own_filters(mut self) -> Result<Self, WorktreeError> {
        let listed = self
            .run(&["config", "-z", "--show-scope", "--name-only", "--get-regexp", r"^filter\."], b"")
            .await?;
        let mut fields = listed.stdout.split(|byte| *byte == 0);
        while let (Some(scope), Some(key)) = (fields.next(), fields.next()) {
            if !matches!(scope, b"system" | b"global" | b"command") {
                // A name that we cannot write is one that we cannot switch off.
                let Ok(key) = std::str::from_utf8(key) else {
                    let what = "a filter in the repository's configuration, whose name is no text".to_owned();
                    return Err(WorktreeError::Tampered { what });
                };
                // An empty command is no command, and a filter that must work would make the file unusable.
                let value = if key.ends_with(".required") { "false" } else { "" };
                self.settings.push((key.to_owned(), value.to_owned()));
            }
        }
        Ok(self)
    }

    /// Runs git and returns its output without the last line end; anything but success is an error.
    pub(super) async fn text(&self, arguments: &[&str]) -> Result<String, WorktreeError> {
        let bytes = self.bytes(arguments, b"").await?;
        let text = String::from_utf8(bytes);
        let text = text.map_err(|error| {
            WorktreeError::NotText(PathBuf::from(String::from_utf8_lossy(error.as_bytes()).trim_end()))
        })?;
        Ok(text.trim_end_matches('\n').to_owned())
    }

    /// Runs git and returns its output as it is; anything but success is an error.
    pub(super) async fn bytes(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, WorktreeError> {
        let output = self.run(arguments, input).await?;
        if output.is_success { Ok(output.stdout) } else { Err(failed(arguments, output)) }
    }

    /// Retries a bounded number of times while a change of another process is in the way.
    pub(super) async fn change(&self, arguments: &[&str]) -> Result<(), WorktreeError> {
        for retry in 0..TRIES - 1 {
            let output = self.run(arguments, b"").await?;
            if output.is_success {
                return Ok(());
            }
            if !is_passing(&output.stderr) {
                return Err(failed(arguments, output));
            }
            tokio::time::sleep(BACKOFF.pause(retry)).await;
        }
        self.bytes(arguments, b"").await.map(drop)
    }

    /// Asks. An answer that is too long is an error.
    pub(super) async fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Output, WorktreeError> {
        let output = self.run_within(arguments, input, OUTPUT).await?;
        if output.is_cut {
            return Err(WorktreeError::TooMuch { command: name(arguments), limit: OUTPUT });
        }
        Ok(output)
    }

    /// Asks and takes no more than `limit` bytes of the answer.
    pub(super) async fn run_within(
        &self,
        arguments: &[&str],
        input: &[u8],
        limit: usize,
    ) -> Result<Output, WorktreeError> {
        let mut command = self.command(arguments);
        let mut leash = ChildGuard::spawn(&mut command).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if self.cwd.is_dir() => WorktreeError::GitMissing,
            _ => WorktreeError::Io { path: self.cwd.clone(), source: error },
        })?;
        let child = leash.child();
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async move {
            if let Some(mut stdin) = stdin {
                // It may have read enough; its exit status decides.
                let _ = stdin.write_all(input).await;
            }
        };
        let answer = async { tokio::join!(write, head(stdout, limit), complaint(stderr), child.wait()) };
        let Ok(((), stdout, stderr, status)) = tokio::time::timeout(LIMIT, answer).await else {
            return Err(WorktreeError::TimedOut { command: name(arguments), seconds: LIMIT.as_secs() });
        };
        let status = status.map_err(WorktreeError::io(&self.cwd))?;
        let is_cut = stdout.len() > limit;
        let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
        // A reader that gets too much closes the pipe, and git ends by that.
        Ok(Output { is_success: status.success() || is_cut, stdout, stderr, is_cut })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.cwd).arg("--no-pager").args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (variable, _) in std::env::vars_os() {
            let is_git = variable.to_string_lossy().starts_with("GIT_");
            if is_git && !KEPT.iter().any(|kept| variable == *kept) {
                command.env_remove(variable);
            }
        }
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
        // Objects that a partial clone left out are not fetched: the address would be the repository's own word.
        command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none");
        command.env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        for (at, (key, value)) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{at}"), key).env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Checks that git is installed and new enough.
pub(super) async fn check_version() -> Result<(), WorktreeError> {
    let said = Git::at(Path::new("/")).text(&["version"]).await?;
    if is_new_enough(&said) { Ok(()) } else { Err(WorktreeError::GitTooOld { found: shown_version(&said) }) }
}

fn shown_version(said: &str) -> String {
    said.trim_start_matches("git version ").to_owned()
}

fn is_new_enough(said: &str) -> bool {
    let version = shown_version(said);
    let mut parts = version.split('.').map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else { return false };
    (major, minor) >= OLDEST_PARTS
}

/// Reads one byte more than `limit` at most, which shows that there was more, and closes the pipe.
async fn head(pipe: Option<impl AsyncRead + Unpin>, limit: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // Output before a read error still helps to diagnose it.
        let _ = pipe.take(limit as u64 + 1).read_to_end(&mut bytes).await;
    }
    bytes
}

/// Reads to the end, so that no writer is stopped in the middle of a complaint, and keeps the beginning.
async fn complaint(pipe: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // Output before a read error still helps to diagnose it.
        let _ = (&mut pipe).take(COMPLAINT).read_to_end(&mut bytes).await;
        let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    }
    bytes
}

/// git locks single files; another worktree that is being made at this moment is read half-made, and stumbled over.
fn is_passing(stderr: &str) -> bool {
    let is_half_made = stderr.contains("failed to read") && stderr.contains("/worktrees/");
    is_half_made || stderr.contains(".lock': File exists")
}

pub(super) fn failed(arguments: &[&str], output: Output) -> WorktreeError {
    let detail = if output.stderr.is_empty() { "it printed no reason".to_owned() } else { output.stderr };
    WorktreeError::Git { command: name(arguments), detail }
}

fn name(arguments: &[&str]) -> String {
    arguments.iter().take(2).copied().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{is_new_enough, is_passing};

    #[test]
    fn what_git_calls_itself_decides_whether_it_is_new_enough() {
        for said in [
            "git version 2.41.0",
            "git version 2.47.3",
            "git version 2.50.1 (Apple Git-155)",
            "git version 3.0",
        ] {
            assert!(is_new_enough(said), "{said}");
        }
        for said in [
            "git version 2.39.5 (Apple Git-154)",
            "git version 1.99.0",
            "git version 2.40.1.windows.1",
            "hub",
        ] {
            assert!(!is_new_enough(said), "{said}");
        }
    }

    #[test]
    fn what_somebody_else_is_doing_passes_and_what_is_wrong_stays() {
        assert!(is_passing("fatal: failed to read .git/worktrees/t3/commondir: Success"));
        assert!(is_passing("fatal: Unable to create '/r/.git/refs/heads/talaria/t.lock': File exists."));
        assert!(!is_passing("fatal: 'talaria/t' is already used by worktree at '/w/t'"));
        assert!(!is_passing("error: failed to read object"));
    }
}
