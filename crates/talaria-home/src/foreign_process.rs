//! A process that is not our child: pinned so that its end is noticed and no other process is ever signalled for it.
//!
//! Linux has a descriptor (pidfd) that stays with the process even if its pid is reused; a zombie counts as ended.
//! Elsewhere the pid is polled, and the start time is compared before each signal.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::descendants;

/// Poll interval for a process that cannot be waited for.
const LOOK: Duration = Duration::from_millis(250);
/// Every this many polls the start time is compared as well: the pid may have been reused.
const COMPARE: u32 = 20;

/// A living process, by pid and start time.
#[derive(Clone, Debug)]
pub struct ForeignProcess {
    pid: Pid,
    started: String,
    #[cfg(target_os = "linux")]
    descriptor: Option<std::sync::Arc<std::os::fd::OwnedFd>>,
}

impl ForeignProcess {
    /// Pins a process; `None` if there is none with this number and start time.
    pub fn pin(number: i32, started: &str) -> Option<Self> {
        let pid = Pid::from_raw(number)?;
        // Opened first and compared then: the descriptor refers to the process that had the pid in between.
        #[cfg(target_os = "linux")]
        let descriptor = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())
            .ok()
            .map(std::sync::Arc::new);
        (descendants::start_time(number).as_deref() == Some(started)).then(|| Self {
            pid,
            started: started.to_owned(),
            #[cfg(target_os = "linux")]
            descriptor,
        })
    }

    /// Its pid.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Signals it alone, not its group, whose id may have been reused.
    pub fn signal(&self, signal: Signal) {
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
    pub async fn wait(&self) {
        #[cfg(target_os = "linux")]
        if let Some(descriptor) = &self.descriptor
            && let Ok(readable) = watch(std::sync::Arc::clone(descriptor))
            && readable.readable().await.is_ok()
        {
            return;
        }
        self.poll_until_ended().await;
    }

    async fn poll_until_ended(&self) {
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
        descendants::start_time(self.pid.as_raw_nonzero().get()).as_deref() == Some(&self.started)
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
    use std::task::{Context, Waker};

    use super::*;

    fn sleeper() -> (std::process::Child, i32) {
        let child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        (child, pid)
    }

    #[tokio::test]
    async fn the_end_of_a_pinned_process_is_noticed_although_nobody_has_reaped_it() {
        let (mut child, pid) = sleeper();
        let foreign = ForeignProcess::pin(pid, &descendants::start_time(pid).unwrap()).unwrap();
        let waiting = foreign.wait();
        tokio::pin!(waiting);
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        foreign.signal(Signal::KILL);
        waiting.await;
        assert!(
            ForeignProcess::pin(pid, &foreign.started).is_none(),
            "what only waits to be reaped has ended"
        );
        assert!(!child.wait().unwrap().success());
    }

    #[tokio::test]
    async fn without_a_descriptor_the_end_is_noticed_by_looking() {
        let (mut child, pid) = sleeper();
        let foreign = ForeignProcess::pin(pid, &descendants::start_time(pid).unwrap()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        foreign.poll_until_ended().await;
    }

    #[test]
    fn a_number_that_was_used_again_is_not_pinned() {
        let (mut child, pid) = sleeper();
        assert!(ForeignProcess::pin(pid, "some-other-start").is_none());
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
