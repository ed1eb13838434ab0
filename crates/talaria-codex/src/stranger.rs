//! A process that is not our child: pinned so that its end is noticed and no other process is ever signalled for it.
//!
//! Linux gives a descriptor that stays with the process whatever becomes of its number; a process that has ended and is
//! only waiting for its new parent counts as ended. Where there is none, the number is looked at now and then, and
//! before each signal the start time is compared.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::descendants;

/// How often a process is looked at that cannot be waited for.
const LOOK: Duration = Duration::from_millis(250);
/// Every how many looks the start time is compared as well: the number may have been used again.
const COMPARE: u32 = 20;

/// A living process, by pid and start time.
#[derive(Clone, Debug)]
pub struct Stranger {
    pid: Pid,
    started: String,
    #[cfg(target_os = "linux")]
    descriptor: Option<std::sync::Arc<std::os::fd::OwnedFd>>,
}

impl Stranger {
    /// Pins a process; `None` if there is none with this number and start time.
    pub fn pin(number: i32, started: &str) -> Option<Self> {
        let pid = Pid::from_raw(number)?;
        // Opened first and compared then: what the descriptor holds is what had the number in between.
        #[cfg(target_os = "linux")]
        let descriptor = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())
            .ok()
            .map(std::sync::Arc::new);
        (descendants::started(number).as_deref() == Some(started)).then(|| Self {
            pid,
            started: started.to_owned(),
            #[cfg(target_os = "linux")]
            descriptor,
        })
    }

    /// Its pid.
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Signals it, and nothing else: not its group, whose number may be somebody else's by now.
    pub(crate) fn signal(&self, signal: Signal) {
        // It may have ended just now.
        #[cfg(target_os = "linux")]
        if let Some(descriptor) = &self.descriptor {
            let _ = rustix::process::pidfd_send_signal(descriptor, signal);
            return;
        }
        if self.is_there() {
            let _ = kill_process(self.pid, signal);
        }
    }

    /// Waits for its end.
    pub(crate) async fn ended(&self) {
        #[cfg(target_os = "linux")]
        if let Some(descriptor) = &self.descriptor
            && let Ok(readable) = watch(std::sync::Arc::clone(descriptor))
            && readable.readable().await.is_ok()
        {
            return;
        }
        self.look_until_ended().await;
    }

    async fn look_until_ended(&self) {
        let mut looks = 0_u32;
        loop {
            looks = looks.wrapping_add(1);
            let is_here = if looks.is_multiple_of(COMPARE) {
                self.is_there()
            } else {
                test_kill_process(self.pid).is_ok()
            };
            if !is_here {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn is_there(&self) -> bool {
        descendants::started(self.pid.as_raw_nonzero().get()).as_deref() == Some(&self.started)
    }
}

/// A descriptor of a process becomes readable when it ends.
#[cfg(target_os = "linux")]
#[expect(deprecated, reason = "its successor is unsafe, for descriptors that are not owned; this one is")]
fn watch(
    descriptor: std::sync::Arc<std::os::fd::OwnedFd>,
) -> std::io::Result<tokio::io::unix::AsyncFd<std::sync::Arc<std::os::fd::OwnedFd>>> {
    tokio::io::unix::AsyncFd::with_interest(descriptor, tokio::io::Interest::READABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper() -> (std::process::Child, i32) {
        let child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        (child, pid)
    }

    #[tokio::test]
    async fn the_end_of_a_pinned_process_is_noticed_although_nobody_has_reaped_it() {
        let (mut child, pid) = sleeper();
        let stranger = Stranger::pin(pid, &descendants::started(pid).unwrap()).unwrap();
        let waiting = stranger.ended();
        tokio::pin!(waiting);
        assert!(futures_util::poll!(&mut waiting).is_pending());
        stranger.signal(Signal::KILL);
        waiting.await;
        assert!(Stranger::pin(pid, &stranger.started).is_none(), "what only waits to be reaped has ended");
        assert!(!child.wait().unwrap().success());
    }

    #[tokio::test]
    async fn without_a_descriptor_the_end_is_noticed_by_looking() {
        let (mut child, pid) = sleeper();
        let stranger = Stranger::pin(pid, &descendants::started(pid).unwrap()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        stranger.look_until_ended().await;
    }

    #[test]
    fn a_number_that_was_used_again_is_not_pinned() {
        let (mut child, pid) = sleeper();
        assert!(Stranger::pin(pid, "some-other-start").is_none());
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
