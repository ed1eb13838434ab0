//! The signals that a chat answers: Ctrl-C where the terminal still makes one of it, the wish of the system that it ends, a
//! terminal that hangs up, and that it is suspended and resumed.
//!
//! A program that should end and does not, because its output is not read, is ended by the watchdog.

use std::io::{self, IsTerminal};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::screen;
use crate::stops::{EndSignal, is_ignored};
use crate::terminal_echo;
use crate::trouble::{Trouble, exit};

/// How long the program may take to leave.
const PATIENCE: Duration = Duration::from_secs(4);
/// Time limit for restoring the terminal then.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Signals, as they come.
pub(crate) struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
    go_on: Option<Signal>,
    stop: Option<Signal>,
    ended_by: Option<EndSignal>,
}

/// The signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    /// Ctrl-C.
    Interrupt,
    /// End the program.
    End,
    /// Suspend the program. It does so itself.
    Stop,
    /// The program was suspended and continues.
    GoOn,
}

impl Signals {
    /// From now on signals no longer end the program by themselves.
    pub(crate) fn listen() -> Result<Self, Trouble> {
        let listen = |kind| {
            // With `nohup` or in the background an ignored signal is intended; a person at the keyboard uses
            // Ctrl-C.
            if is_ignored(kind) && !io::stdin().is_terminal() {
                return Ok(None);
            }
            let listening = signal(kind).map(Some);
            listening.map_err(|error| Trouble::new(exit::FAILED, "cannot listen for signals").because(error))
        };
        tokio::spawn(watch_over(listen(SignalKind::terminate())?, listen(SignalKind::hangup())?));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            go_on: listen(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
            stop: None,
            ended_by: None,
        })
    }

    /// The signal that wanted the program to end, if one did.
    pub(crate) fn ended_by(&self) -> Option<EndSignal> {
        self.ended_by
    }

    /// From now on the system alone no longer suspends the program: the caller must handle `Called::Stop`.
    pub(crate) fn listen_for_stops(&mut self) -> Result<(), Trouble> {
        let kind = SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw());
        if !is_ignored(kind) {
            let cannot = |error| Trouble::new(exit::FAILED, "cannot listen for signals").because(error);
            self.stop = Some(signal(kind).map_err(cannot)?);
        }
        Ok(())
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Called {
        let signal = tokio::select! {
            () = one(&mut self.interrupt) => return Called::Interrupt,
            () = one(&mut self.go_on) => return Called::GoOn,
            () = one(&mut self.stop) => return Called::Stop,
            () = one(&mut self.terminate) => EndSignal::Terminate,
            () = one(&mut self.hang_up) => EndSignal::HangUp,
        };
        self.ended_by = Some(signal);
        Called::End
    }
}

/// Waits for a signal of one kind.
async fn one(signal: &mut Option<Signal>) {
    if let Some(signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    std::future::pending::<()>().await;
}

/// Ends the program some time after the signal to end. It has its own task: a loop that is blocked by a stuck terminal
/// receives no signal.
async fn watch_over(mut terminate: Option<Signal>, mut hang_up: Option<Signal>) {
    let signal = tokio::select! {
        () = one(&mut terminate) => EndSignal::Terminate,
        () = one(&mut hang_up) => EndSignal::HangUp,
    };
    std::thread::spawn(move || {
        std::thread::sleep(PATIENCE);
        screen::restore_within(LAST_WORDS);
        terminal_echo::show();
        std::process::exit(signal.exit().into());
    });
}
