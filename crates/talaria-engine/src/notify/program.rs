//! Runs one program for a moment: no shell, a small environment, a group of its own, a time limit.
//!
//! Standard output is discarded, of standard error the end is kept for the error. When it ends, fails, or is not awaited
//! any more, everything that is left in its group is killed: no process remains.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, Command};

/// How much of standard error is kept.
const KEPT: usize = 4 * 1024;
/// How long what the program said may still come after its end; a grandchild can hold the pipe open for ever.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// What a program gets to know.
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
pub(super) struct Program<'a> {
    pub(super) path: &'a Path,
    pub(super) arguments: Vec<&'a OsStr>,
    /// The environment to choose from.
    pub(super) environment: &'a [(OsString, OsString)],
    pub(super) input: &'a str,
    pub(super) limit: Duration,
}

/// What became of a program.
#[derive(Debug)]
pub(super) enum Ran {
    /// It could not be started.
    NotStarted(io::Error),
    /// It ended.
    Ended {
        status: ExitStatus,
        /// The end of what it complained about.
        said: String,
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
    pub(super) async fn run(self) -> Ran {
        let mut command = Command::new(self.path);
        command.args(&self.arguments).env_clear().envs(self.environment.iter().filter(is_passed_on).cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
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
        // Held here: a program may have ended before the first read.
        let mut said = Said { kept: Vec::new(), pipe: child.stderr.take() };
        let ended = tokio::time::timeout(self.limit, async {
            let talking = async { tokio::join!(writing, said.read()) };
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
        Ran::Ended { status, said: String::from_utf8_lossy(&said.kept).into_owned() }
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

fn is_passed_on(variable: &&(OsString, OsString)) -> bool {
    let name = variable.0.to_str().unwrap_or_default();
    PASSED_ON.contains(&name) || name.starts_with("LC_")
}
