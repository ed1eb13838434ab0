//! A child process that does not outlive its handle, nor do its children.
//!
//! For short runs (`--version`, npm), which may be wrappers around the program that does the work: killing the
//! wrapper alone would leave the work running. Codex hosts are not started here; they are meant to outlive us.

use std::io;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// How often and how long `drop` waits for a killed child to be gone.
const CHECKS: u32 = 100;
const BETWEEN: Duration = Duration::from_millis(5);

/// A child in its own process group; dropping it kills the group.
pub struct ChildGuard {
    child: Child,
}

impl ChildGuard {
    /// Starts the command in its own process group.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        Ok(Self { child: command.process_group(0).kill_on_drop(true).spawn()? })
    }

    /// The child, to talk to and to wait for.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }
}

impl Drop for ChildGuard {
    fn drop(&mut self) {
        // A child that was waited for has no id any more, and its pid may have been reused.
        let Some(group) = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
        else {
            return;
        };
        // The group may have ended by itself in this moment: then there is nothing left to do.
        let _ = kill_process_group(group, Signal::KILL);
        // The caller may remove its files next: a child in its last system call would create one more.
        for _ in 0..CHECKS {
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(BETWEEN);
        }
    }
}
