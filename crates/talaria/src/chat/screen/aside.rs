//! Suspending the program, as Ctrl-Z and SIGTSTP ask for it, until its shell resumes it.
//!
//! The signal is caught, so that the terminal is restored first; then SIGSTOP, which cannot be caught, stops the
//! program. The system would not stop a program that nothing can resume: that is checked here instead.

use rustix::process::{Signal, getpgrp, getpid, getppid, getsid, kill_current_process_group, kill_process};

/// Suspends all programs of this job, this one among them.
pub(super) fn wish() {
    // A group that is gone needs nothing.
    let _ = kill_current_process_group(Signal::TSTP);
}

/// Suspends this program; returns when it continues.
pub(super) fn stop() {
    let _ = kill_process(getpid(), Signal::STOP);
}

/// Whether a shell could resume it. The process group of the session leader has none, and neither has a program whose
/// parent is in another session.
pub(super) fn can_come_back() -> bool {
    let Ok(session) = getsid(None) else { return false };
    let is_job = getpgrp() != session;
    is_job && getppid().is_some_and(|parent| getsid(Some(parent)) == Ok(session))
}
