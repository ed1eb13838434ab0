//! One Codex process: started in a session of its own, its complaints kept, its end observed, its descendants reaped.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

use super::complaints::Complaints;
use super::descendants::{self, Entry};
use super::environment::NONCE;
use super::transport::Transport;

/// How many lines of standard error are quoted when it ended.
const LAST_WORDS: usize = 20;
/// How long a polite request to end may take before it is repeated.
const POLITE: Duration = Duration::from_millis(400);
/// How long a repeated request may take before the process is killed.
const IMPATIENT: Duration = Duration::from_secs(2);

/// How long the exit status may come after the end of the connection, and the last words after that.
pub(crate) const EXIT_GRACE: Duration = Duration::from_millis(500);

/// One running Codex.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
    /// What its environment says, and that of everything below it: `name=value`.
    nonce: Option<String>,
    exit: watch::Receiver<Option<ExitStatus>>,
    complaints: Complaints,
    /// Turns true at the end of standard error.
    drained: watch::Receiver<bool>,
}

/// The pipes of a Codex on stdio.
pub(crate) type Pipes = Option<(ChildStdin, ChildStdout)>;

impl Process {
    /// Starts `binary` with `arguments` in `directory`. `nonce` is what the environment calls this host, if it does.
    pub(crate) fn start(
        binary: &Path,
        arguments: &[OsString],
        directory: &Path,
        environment: Vec<(OsString, OsString)>,
        nonce: Option<&str>,
        transport: Transport,
    ) -> io::Result<(Self, Pipes)> {
        let nonce = nonce.map(|nonce| format!("{NONCE}={nonce}"));
        let mut command = Command::new(binary);
        let pipe = || if transport == Transport::Stdio { Stdio::piped() } else { Stdio::null() };
        command.args(arguments).current_dir(directory).env_clear().envs(environment);
        command.stdin(pipe()).stdout(pipe()).stderr(Stdio::piped());
        let mut child = CommandWrap::from(command).wrap(ProcessSession).spawn()?;
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let pid = pid.ok_or_else(|| io::Error::other("the process ended at once"))?;
        let pipes = child.stdin().take().zip(child.stdout().take());
        let complaints = Complaints::default();
        let (end, drained) = watch::channel(false);
        if let Some(pipe) = child.stderr().take() {
            let kept = complaints.clone();
            tokio::spawn(async move {
                kept.read(pipe).await;
                end.send_replace(true);
            });
        }
        let (sender, exit) = watch::channel(None);
        tokio::spawn(observe(child, sender));
        Ok((Self { pid, nonce, exit, complaints, drained }, pipes))
    }

    /// Its pid.
    pub(crate) fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// How it ended, if it did.
    pub(crate) fn exit_status(&self) -> Option<ExitStatus> {
        *self.exit.borrow()
    }

    /// Waits for its end, at most for `limit`.
    pub(crate) async fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        let mut exit = self.exit.clone();
        let ended = tokio::time::timeout(limit, exit.wait_for(Option::is_some)).await;
        ended.ok()?.ok().and_then(|status| *status)
    }

    /// Waits until standard error was read to its end, at most for `limit`: something below it may keep it open.
    async fn drain(&self, limit: Duration) {
        let mut drained = self.drained.clone();
        let _ = tokio::time::timeout(limit, drained.wait_for(|drained| *drained)).await;
    }

    /// What it wrote to standard error.
    pub(crate) fn complaints(&self) -> &Complaints {
        &self.complaints
    }

    /// How it ended, in a sentence, with the last lines of its standard error.
    pub(crate) async fn last_words(&self) -> String {
        let how = match self.exit_status() {
            Some(status) => format!("Codex ended unexpectedly ({status})"),
            None => "Codex ended unexpectedly".to_owned(),
        };
        // The last lines may still be in the pipe.
        self.drain(EXIT_GRACE).await;
        how + &self.complaints.quoted(LAST_WORDS)
    }

    /// Ends it and everything below it: asks twice, then kills.
    pub(crate) async fn end(&self) {
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
    async fn reap(&self, below: &[Entry]) {
        // What is killed takes a moment to go; when this returns, it is gone.
        let gone = async {
            while descendants::kill_survivors(below) + self.kill_detached() > 0 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        // A process that cannot be killed hangs in the kernel: nothing more can be done about it.
        let _ = tokio::time::timeout(IMPATIENT, gone).await;
    }

    /// Kills it and everything below it, without waiting: the net below `end`.
    pub(crate) fn kill_all(&self) {
        let below = self.below();
        self.signal(Signal::KILL);
        descendants::kill_survivors(&below);
        self.kill_detached();
    }

    /// What is below it now; nothing once it was reaped, because then the number may be somebody else's.
    fn below(&self) -> Vec<Entry> {
        if self.exit_status().is_none() { descendants::below(self.pid()) } else { Vec::new() }
    }

    /// Kills what has another parent by now, as a daemon, or as everything has once Codex is gone. Gives how many.
    fn kill_detached(&self) -> usize {
        self.nonce.as_ref().map_or(0, |nonce| descendants::kill_survivors(&descendants::carrying(nonce)))
    }

    /// Signals the group, unless the process was reaped already: then the number may be somebody else's.
    fn signal(&self, signal: Signal) {
        if self.exit_status().is_none() {
            // It may have ended just now.
            let _ = kill_process_group(self.pid, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill_all();
    }
}

async fn observe(mut child: Box<dyn ChildWrapper>, exit: watch::Sender<Option<ExitStatus>>) {
    if let Ok(status) = child.wait().await {
        exit.send_replace(Some(status));
    }
}

#[cfg(test)]
mod tests {
    use super::super::complaints::LINES;
    use super::*;

    fn start(script: &str) -> Process {
        let arguments = ["-c".into(), script.into()];
        let environment = std::env::vars_os().collect();
        let shell = Path::new("/bin/sh");
        Process::start(shell, &arguments, Path::new("/"), environment, None, Transport::UnixSocket).unwrap().0
    }

    #[tokio::test]
    async fn a_process_that_ignores_requests_is_killed_with_its_children() {
        let process = start("trap '' TERM; sleep 600 & sleep 600 & echo ready >&2; wait; wait");
        while process.complaints().tail(1).is_empty() {
            tokio::task::yield_now().await;
        }
        let below = descendants::below(process.pid());
        assert_eq!(below.len(), 2);
        process.end().await;
        assert!(process.exit_status().is_some());
        assert_eq!(descendants::kill_survivors(&below), 0);
    }

    #[tokio::test]
    async fn a_flood_on_standard_error_is_read_and_bounded() {
        let process =
            start("i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done; printf end >&2");
        process.wait(Duration::from_secs(60)).await.unwrap();
        while process.complaints().tail(1) != ["end"] {
            tokio::task::yield_now().await;
        }
        let tail = process.complaints().tail(10_000);
        assert_eq!((tail.len(), tail[0].as_str()), (LINES, "line 2501"));
    }
}
