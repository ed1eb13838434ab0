//! One Codex process: started in its own session, its stderr kept, its end observed, its descendants reaped.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

use super::environment::NONCE;
use super::stderr::HostStderr;
use super::transport::HostTransport;
use talaria_home::descendants::{self, ProcessEntry};
use talaria_home::foreign_process::ForeignProcess;

/// How many lines of standard error are quoted when it ended.
const LAST_WORDS: usize = 20;
/// How long the first SIGTERM may take before it is repeated.
const POLITE: Duration = Duration::from_millis(400);
/// How long the second SIGTERM may take before the process is killed.
const IMPATIENT: Duration = Duration::from_secs(2);

/// How long the exit status may come after the end of the connection, and the last words after that.
pub(crate) const EXIT_GRACE: Duration = Duration::from_millis(500);

/// One running Codex.
#[derive(Debug)]
pub struct CodexProcess {
    pid: Pid,
    /// The marker in its environment and in that of its descendants: `name=value`.
    nonce: Option<String>,
    kin: Kin,
    exit: watch::Receiver<Option<End>>,
    stderr: HostStderr,
    /// Turns true at the end of standard error, if that is a pipe.
    drained: watch::Receiver<bool>,
    /// It keeps running when this is dropped.
    is_kept: AtomicBool,
}

/// Which process started it.
#[derive(Debug)]
enum Kin {
    /// We started it.
    Child,
    /// An earlier engine started it.
    Foreign(ForeignProcess),
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With the status that its parent got.
    Exited(ExitStatus),
    /// Another process got the status.
    Untold,
}

/// The pipes of a Codex on stdio.
pub(crate) type Pipes = Option<(ChildStdin, ChildStdout)>;

/// What to start, and how.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) binary: &'a Path,
    pub(crate) arguments: Vec<OsString>,
    /// Where it works.
    pub(crate) directory: &'a Path,
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// The name of this host in the environment, if it has one.
    pub(crate) nonce: Option<&'a str>,
    pub(crate) transport: HostTransport,
    /// The directory for the file that its standard error goes to; `None` is a pipe to us.
    pub(crate) stderr: Option<&'a Path>,
}

impl CodexProcess {
    /// Starts a process that is ours until `keep`.
    pub(crate) fn start(launch: Launch<'_>) -> io::Result<(Self, Pipes)> {
        let nonce = launch.nonce.map(variable);
        let mut command = Command::new(launch.binary);
        let pipe = || if launch.transport == HostTransport::Stdio { Stdio::piped() } else { Stdio::null() };
        command.args(launch.arguments).current_dir(launch.directory).env_clear().envs(launch.environment);
        command.stdin(pipe()).stdout(pipe()).stderr(Stdio::piped());
        let mut stderr = HostStderr::default();
        if let Some(directory) = launch.stderr {
            let (kept, writer) = HostStderr::in_unlinked_file(directory)?;
            stderr = kept;
            command.stderr(writer);
        }
        let mut child = CommandWrap::from(command).wrap(ProcessSession).spawn()?;
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let pid = pid.ok_or_else(|| io::Error::other("the process ended at once"))?;
        let pipes = child.stdin().take().zip(child.stdout().take());
        let (end, drained) = watch::channel(launch.stderr.is_some());
        if let Some(pipe) = child.stderr().take() {
            let kept = stderr.clone();
            tokio::spawn(async move {
                kept.read(pipe).await;
                end.send_replace(true);
            });
        }
        let (sender, exit) = watch::channel(None);
        tokio::spawn(observe(child, sender));
        let is_kept = AtomicBool::new(false);
        Ok((Self { pid, nonce, kin: Kin::Child, exit, stderr, drained, is_kept }, pipes))
    }

    /// Takes over a process that a dead engine had started. It is kept.
    pub fn adopt(foreign: ForeignProcess, nonce: &str, stderr: HostStderr) -> Self {
        let (sender, exit) = watch::channel(None);
        let watched = foreign.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = watched.wait() => drop(sender.send_replace(Some(End::Untold))),
                // The receiver was dropped.
                () = sender.closed() => {}
            }
        });
        Self {
            pid: foreign.pid(),
            nonce: Some(variable(nonce)),
            kin: Kin::Foreign(foreign),
            exit,
            stderr,
            drained: watch::channel(true).1,
            is_kept: AtomicBool::new(true),
        }
    }

    /// Returns whether it keeps running when this is dropped.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept.load(Ordering::Relaxed)
    }

    /// From here on it keeps running when this is dropped.
    pub(crate) fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// How it ended, if it did.
    pub(crate) fn end_seen(&self) -> Option<End> {
        *self.exit.borrow()
    }

    /// Waits for its end, at most for `limit`.
    pub(crate) async fn wait(&self, limit: Duration) -> Option<End> {
        let mut exit = self.exit.clone();
        let ended = tokio::time::timeout(limit, exit.wait_for(Option::is_some)).await;
        ended.ok()?.ok().and_then(|status| *status)
    }

    /// Waits until standard error was read to its end, at most for `limit`: something below it may keep it open.
    async fn drain(&self, limit: Duration) {
        let mut drained = self.drained.clone();
        let _ = tokio::time::timeout(limit, drained.wait_for(|drained| *drained)).await;
    }

    /// Its standard error.
    pub(crate) fn stderr(&self) -> &HostStderr {
        &self.stderr
    }

    /// How it ended, in a sentence, with the last lines of its standard error.
    pub(crate) async fn last_words(&self) -> String {
        // The status may come a moment after the connection has ended.
        let how = match self.wait(EXIT_GRACE).await {
            Some(End::Exited(status)) => format!("Codex ended unexpectedly ({status})"),
            Some(End::Untold) | None => "Codex ended unexpectedly".to_owned(),
        };
        // The last lines may still be in the pipe.
        self.drain(EXIT_GRACE).await;
        self.stderr.finish();
        how + &self.stderr.quoted(LAST_WORDS)
    }

    /// Ends it and everything below it: asks twice, then kills.
    pub async fn end(&self) {
        let below = self.below();
        self.signal(Signal::TERM);
        if self.wait(POLITE).await.is_none() {
            // The first one lets running turns finish, the second one does not.
            self.signal(Signal::TERM);
            if self.wait(IMPATIENT).await.is_none() {
                self.signal(Signal::KILL);
                self.wait(IMPATIENT).await;
            }
        }
        self.reap(&below).await;
    }

    /// Ends it and everything below it without asking.
    pub(crate) async fn end_now(&self) {
        let below = self.below();
        self.signal(Signal::KILL);
        self.wait(IMPATIENT).await;
        self.reap(&below).await;
    }

    /// Kills what is left below it, until nothing is.
    async fn reap(&self, below: &[ProcessEntry]) {
        until_gone(|| descendants::kill_survivors(below) + self.kill_detached()).await;
    }

    /// Kills it and its descendants without waiting: the fallback if `end` did not run.
    pub(crate) fn kill_all(&self) {
        let below = self.below();
        self.signal(Signal::KILL);
        descendants::kill_survivors(&below);
        self.kill_detached();
    }

    /// Returns its descendants; none once it was reaped, because then the pid may have been reused.
    fn below(&self) -> Vec<ProcessEntry> {
        if self.end_seen().is_none() { descendants::below(self.pid()) } else { Vec::new() }
    }

    /// Kills descendants with another parent: daemons, and all of them once Codex is gone. Returns how many.
    fn kill_detached(&self) -> usize {
        self.nonce.as_ref().map_or(0, |nonce| kill_carriers(nonce))
    }

    /// Signals the group, unless the process was reaped already: then the id may have been reused. One that is
    /// not our child is signalled alone: its id can be reused at any time. Its descendants are killed after it.
    fn signal(&self, signal: Signal) {
        match &self.kin {
            Kin::Foreign(foreign) => foreign.signal(signal),
            Kin::Child if self.end_seen().is_none() => {
                // It may have ended just now.
                let _ = kill_process_group(self.pid, signal);
            }
            Kin::Child => {}
        }
    }
}

impl Drop for CodexProcess {
    fn drop(&mut self) {
        if !self.is_kept() {
            self.kill_all();
        }
    }
}

/// The marker in the environment of a host and its descendants: `name=value`.
pub(crate) fn variable(nonce: &str) -> String {
    format!("{NONCE}={nonce}")
}

/// Kills what carries the name of a host, until nothing does.
pub(crate) async fn end_carriers(nonce: &str) {
    let variable = variable(nonce);
    until_gone(|| kill_carriers(&variable)).await;
}

/// Kills every process that has `variable` in its environment. Returns how many.
fn kill_carriers(variable: &str) -> usize {
    descendants::kill_survivors(&descendants::carrying(variable))
}

/// Kills until no process is left: a killed process takes a moment to end.
async fn until_gone(kill: impl Fn() -> usize) {
    let gone = async {
        while kill() > 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    // A process that cannot be killed hangs in the kernel: nothing more can be done about it.
    let _ = tokio::time::timeout(IMPATIENT, gone).await;
}

async fn observe(mut child: Box<dyn ChildWrapper>, exit: watch::Sender<Option<End>>) {
    if let Ok(status) = child.wait().await {
        exit.send_replace(Some(End::Exited(status)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::stderr::LINES;
    use super::*;
    use talaria_testkit::until;

    fn launch<'a>(script: &str, stderr: Option<&'a Path>) -> Launch<'a> {
        Launch {
            binary: Path::new("/bin/sh"),
            arguments: vec!["-c".into(), script.into()],
            directory: Path::new("/"),
            environment: std::env::vars_os().collect(),
            nonce: None,
            transport: HostTransport::UnixSocket,
            stderr,
        }
    }

    fn start(script: &str) -> CodexProcess {
        CodexProcess::start(launch(script, None)).unwrap().0
    }

    #[tokio::test]
    async fn a_process_that_ignores_requests_is_killed_with_its_children() {
        let process = start("trap '' TERM; sleep 600 & sleep 600 & echo ready >&2; wait; wait");
        until("it is ready", || !process.stderr().tail(1).is_empty()).await;
        let below = descendants::below(process.pid());
        assert_eq!(below.len(), 2);
        process.end().await;
        assert!(process.end_seen().is_some());
        assert_eq!(descendants::kill_survivors(&below), 0);
    }

    #[tokio::test]
    async fn a_flood_on_standard_error_is_read_and_bounded() {
        let process =
            start("i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done; printf end >&2");
        process.wait(Duration::from_secs(60)).await.unwrap();
        until("its last line was read", || process.stderr().tail(1) == ["end"]).await;
        let tail = process.stderr().tail(10_000);
        assert_eq!((tail.len(), tail[0].as_str()), (LINES, "line 2501"));
    }

    #[tokio::test]
    async fn a_kept_process_continues_and_is_ended_by_the_one_that_adopts_it() {
        let folder = tempfile::tempdir().unwrap();
        let script = "sleep 600 & echo ready >&2; wait; wait";
        let (process, _) = CodexProcess::start(launch(script, Some(folder.path()))).unwrap();
        until("it is ready", || process.stderr().tail(1) == ["ready"]).await;
        let (pid, below) = (process.pid(), descendants::below(process.pid()));
        process.keep();
        drop(process);
        let started = descendants::start_time(pid).unwrap();
        let foreign = ForeignProcess::pin(pid, &started).unwrap();
        let adopted = CodexProcess::adopt(foreign, "nobody-carries-this", HostStderr::of_process(pid));
        assert_eq!((adopted.end_seen(), adopted.stderr().tail(1)), (None, vec!["ready".to_owned()]));
        adopted.end().await;
        assert_eq!(adopted.end_seen(), Some(End::Untold));
        assert_eq!((below.len(), descendants::kill_survivors(&below)), (1, 0));
        assert_eq!(
            adopted.last_words().await,
            "Codex ended unexpectedly\ncodex stderr (last line):\n  ready"
        );
    }
}
