//! The process of an engine that is started in the background: in its own session, so that closing the terminal or
//! ctrl-c does not reach it.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::process::{Pid, test_kill_process};
use tokio::process::Command;

use super::log::Log;

/// An engine that was started and may have ended. Dropping this leaves it alone.
#[derive(Debug)]
pub(super) struct Started {
    child: Box<dyn ChildWrapper>,
    ended: Option<(ExitStatus, Instant)>,
}

impl Started {
    /// Starts `program` for `home`, which is also its working directory: it must not keep the caller's busy.
    pub(super) fn start(program: &Path, arguments: &[OsString], home: &Path, log: &Log) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(home).env("TALARIA_HOME", home);
        // A command that Codex runs carries the name of its host; the engine must not be taken for a part of that.
        command.env_remove("TALARIA_HOST");
        command.stdin(Stdio::null()).stdout(log.writer()?).stderr(log.writer()?);
        let child = CommandWrap::from(command).wrap(ProcessSession).spawn()?;
        Ok(Self { child, ended: None })
    }

    /// Its exit status, if it ended.
    pub(super) fn exit_status(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.ended = Some((status, Instant::now()));
        }
        self.ended.map(|(status, _)| status)
    }

    /// How long ago its end was seen.
    pub(super) fn since_end(&self) -> Duration {
        self.ended.map_or(Duration::ZERO, |(_, at)| at.elapsed())
    }
}

/// Does this process run? One that has ended and waits for its parent does not.
pub fn is_running(pid: u32) -> bool {
    let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    if test_kill_process(number).is_err() {
        return false;
    }
    // The state follows the name, which may contain anything, in parentheses.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map_or("", |(_, rest)| rest.trim_start());
    !state.starts_with(['Z', 'X'])
}
