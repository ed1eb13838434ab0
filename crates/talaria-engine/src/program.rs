//! Runs one short-lived program: no shell, a small environment, its own process group, a time limit.
//!
//! Standard output is kept up to the caller's limit, and the end of standard error for the error message. When it ends,
//! fails, or is no longer awaited, the rest of its process group is killed: no process remains. Called for notifications
//! and for hooks.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdout, Command};

use talaria_home::home::user_path;

/// Maximum number of bytes of standard error that are kept.
const KEPT: usize = 4 * 1024;
/// How long output is read after the program's end; a grandchild can keep the pipe open indefinitely.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Input and environment of a program.
const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
];

/// A program to run.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    pub(crate) path: &'a Path,
    pub(crate) arguments: Vec<&'a OsStr>,
    /// The environment to choose from.
    pub(crate) environment: &'a [(OsString, OsString)],
    pub(crate) input: &'a str,
    pub(crate) limit: Duration,
    /// How many bytes of standard output are read; none discards it. One byte more shows that there was more.
    pub(crate) reads: Option<usize>,
}

/// Result of a program.
#[derive(Debug)]
pub(crate) enum Ran {
    /// It could not be started.
    NotStarted(io::Error),
    /// It ended.
    Ended {
        status: ExitStatus,
        /// The end of what it complained about.
        said: String,
        /// The beginning of what it wrote, if that is read.
        output: Vec<u8>,
    },
    /// It was killed at the limit.
    TooSlow,
}

/// The group of a program; killed when this is dropped.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            // The group may be empty already, which is what is wanted.
            kill_process_group(pid, Signal::KILL).unwrap_or_default();
        }
    }
}

impl Program<'_> {
    /// Runs it to its end or to the limit.
    pub(crate) async fn run(self) -> Ran {
        let mut command = Command::new(self.path);
        command.args(&self.arguments).env_clear().envs(self.environment.iter().filter(is_passed_on).cloned());
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        command.stdout(if self.reads.is_some() { Stdio::piped() } else { Stdio::null() });
        // The engine's own directory may be one that is being deleted.
        command.current_dir("/").process_group(0).kill_on_drop(true);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(why) => return Ran::NotStarted(why),
        };
        let group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
        let stdin = child.stdin.take();
        let input = self.input.as_bytes();
        let writing = async move {
            if let Some(mut stdin) = stdin {
                // A program that does not read its input has not failed for that.
                stdin.write_all(input).await.unwrap_or_default();
            }
        };
        // Kept here: a program may have ended before the first read.
        let mut said = Said { kept: Vec::new(), pipe: child.stderr.take() };
        let most = self.reads.map_or(0, |most| most.saturating_add(1));
        let mut output = Written { kept: Vec::new(), most, pipe: child.stdout.take() };
        let ended = tokio::time::timeout(self.limit, async {
            let talking = async { tokio::join!(writing, said.read(), output.read()) };
            tokio::select! {
                ended = child.wait() => return ended,
                _ = talking => {}
            }
            child.wait().await
        })
        .await;
        let status = match ended {
            Err(_) => return Ran::TooSlow,
            Ok(Err(why)) => return Ran::NotStarted(why),
            Ok(Ok(status)) => status,
        };
        drop(group);
        said.drain().await;
        tokio::time::timeout(LAST_WORDS, output.read()).await.unwrap_or_default();
        Ran::Ended { status, said: String::from_utf8_lossy(&said.kept).into_owned(), output: output.kept }
    }
}

/// The end of what a program says.
#[derive(Debug)]
struct Said {
    kept: Vec<u8>,
    pipe: Option<ChildStderr>,
}

impl Said {
    /// Reads what is still in the pipe after the end.
    async fn drain(&mut self) {
        tokio::time::timeout(LAST_WORDS, self.read()).await.unwrap_or_default();
    }

    async fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut buffer = [0; KEPT];
        while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
            self.kept.extend_from_slice(&buffer[..length]);
            self.kept.drain(..self.kept.len().saturating_sub(KEPT));
        }
    }
}

/// The beginning of what a program writes.
#[derive(Debug)]
struct Written {
    kept: Vec<u8>,
    most: usize,
    pipe: Option<ChildStdout>,
}

impl Written {
    /// Reads to the end: a program whose output is not read would hang.
    async fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut buffer = [0; KEPT];
        while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
            let room = self.most - self.kept.len();
            self.kept.extend_from_slice(&buffer[..length.min(room)]);
        }
    }
}

/// Finds a program by its path or on PATH.
pub(crate) fn find(program: &str, environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let value = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let path = user_path(program, value("HOME").map(Path::new));
    if program.contains('/') {
        return path.is_file().then_some(path);
    }
    std::env::split_paths(value("PATH")?).map(|directory| directory.join(&path)).find(|path| path.is_file())
}

fn is_passed_on(variable: &&(OsString, OsString)) -> bool {
    let name = variable.0.to_str().unwrap_or_default();
    PASSED_ON.contains(&name) || name.starts_with("LC_")
}
