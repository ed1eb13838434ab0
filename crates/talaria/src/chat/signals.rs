//! The signals that a chat answers: Ctrl-C where the terminal still makes one of it, the wish of the system that it ends, a
//! terminal that hangs up, and that it goes on after it was stopped.
//!
//! Whoever was told to end and does not, because nobody reads what it writes, is ended by the watchdog.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::screen;
use crate::echo;
use crate::trouble::{Trouble, exit};

/// How long the program may take to leave.
const PATIENCE: Duration = Duration::from_secs(4);

/// Signals, as they come.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    go_on: Signal,
}

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    /// Ctrl-C.
    Interrupt,
    /// The program is to end.
    End,
    /// The program was stopped and goes on.
    GoOn,
}

impl Signals {
    /// From now on signals no longer end the program by themselves.
    pub(crate) fn listen() -> Result<Self, Trouble> {
        let listen = |kind| {
            signal(kind)
                .map_err(|error| Trouble::new(exit::FAILED, "cannot listen for signals").because(error))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            go_on: listen(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Called {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Called::Interrupt,
            Some(()) = self.terminate.recv() => self.ending(),
            Some(()) = self.hang_up.recv() => self.ending(),
            Some(()) = self.go_on.recv() => Called::GoOn,
            else => std::future::pending().await,
        }
    }

    fn ending(&self) -> Called {
        // A thread of its own: the loop may be held up by a terminal that takes nothing.
        std::thread::spawn(|| {
            std::thread::sleep(PATIENCE);
            screen::restore();
            echo::show();
            std::process::exit(exit::INTERRUPTED.into());
        });
        Called::End
    }
}
