//! Signals. SIGINT (Ctrl-C) means the work: a turn is stopped. SIGTERM and SIGHUP mean the command: it ends, and a turn
//! continues in the engine. Every command that listens for signals keeps to this.
//!
//! A task of its own listens, because the loop that shows a turn may be held up by an output that is not read. If that
//! loop does not end by itself after a stop, the program leaves; the turn is the engine's, and continues.

use std::io::{self, IsTerminal};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::terminal_echo;
use crate::trouble::{Trouble, exit};

/// How long a turn may take to end after the first wish: longer than its beginning and an interrupt are waited for.
const AFTER_THE_FIRST: Duration = Duration::from_secs(30);
/// How long the program may take to leave after the second, or after a signal to end.
const AFTER_THE_SECOND: Duration = Duration::from_secs(4);
/// How long the last words may take: a reader that does not read the output may not read errors either.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// How many wishes may wait. Each signal that comes also ends the program after a while, so that more need not.
const WAITING: usize = 16;

/// Wishes to stop, one after another.
#[derive(Debug)]
pub(crate) struct Stops {
    wishes: mpsc::Receiver<Stop>,
}

/// A wish to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// SIGINT: a person wants the work to stop.
    Asked,
    /// The command is to end. The signal says nothing about the turn.
    Leave(EndSignal),
}

impl Stop {
    /// The exit code of a command that stops because of it.
    pub(crate) fn exit(self) -> u8 {
        match self {
            Self::Asked => exit::INTERRUPTED,
            Self::Leave(signal) => signal.exit(),
        }
    }
}

/// A signal that ends the command and leaves the turn alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndSignal {
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal is gone.
    HangUp,
}

impl EndSignal {
    /// The exit code of a command that it ends.
    pub(crate) fn exit(self) -> u8 {
        match self {
            Self::Terminate => exit::TERMINATED,
            Self::HangUp => exit::HUNG_UP,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Terminate => "SIGTERM",
            Self::HangUp => "SIGHUP",
        }
    }
}

impl Stops {
    /// From now on signals no longer end the program by themselves.
    pub(crate) fn listen() -> Result<Self, Trouble> {
        let mut signals = Vec::new();
        let kinds = [
            (SignalKind::interrupt(), Stop::Asked),
            (SignalKind::terminate(), Stop::Leave(EndSignal::Terminate)),
            (SignalKind::hangup(), Stop::Leave(EndSignal::HangUp)),
        ];
        for (kind, stop) in kinds {
            // A start with `nohup` or in the background is meant so; a person at the keyboard means Ctrl-C.
            if io::stdin().is_terminal() || !is_ignored(kind) {
                let listening = signal(kind)
                    .map_err(|error| Trouble::new(exit::FAILED, "cannot listen for Ctrl-C").because(error))?;
                signals.push((stop, listening));
            }
        }
        let (sender, wishes) = mpsc::channel(WAITING);
        tokio::spawn(pass_on(signals, sender));
        Ok(Self { wishes })
    }

    /// Waits for the next wish.
    pub(crate) async fn next(&mut self) -> Stop {
        match self.wishes.recv().await {
            Some(stop) => stop,
            None => std::future::pending().await,
        }
    }
}

async fn pass_on(mut signals: Vec<(Stop, Signal)>, wishes: mpsc::Sender<Stop>) {
    let mut patience = AFTER_THE_FIRST;
    loop {
        let stop = any(&mut signals).await;
        // No one listens when the program is about to end; a wish that does not fit comes after others of the same kind.
        let _ = wishes.try_send(stop);
        if stop != Stop::Asked {
            patience = AFTER_THE_SECOND;
        }
        tokio::spawn(leave_after(patience, stop));
        patience = AFTER_THE_SECOND;
    }
}

/// Waits for any of the signals.
async fn any(signals: &mut [(Stop, Signal)]) -> Stop {
    std::future::poll_fn(|context| {
        let came =
            |(stop, signal): &mut (Stop, Signal)| signal.poll_recv(context).is_ready().then_some(*stop);
        signals.iter_mut().find_map(came).map_or(std::task::Poll::Pending, std::task::Poll::Ready)
    })
    .await
}

/// The last resort: ends the program, whatever the rest of it waits for.
async fn leave_after(patience: Duration, stop: Stop) {
    tokio::time::sleep(patience).await;
    let words = tokio::task::spawn_blocking(move || {
        Trouble::new(stop.exit(), "left before it ended")
            .because("the output could not be written, or the turn did not stop when asked")
            .try_this("`talaria status` shows what is still running")
            .tell();
    });
    let _ = tokio::time::timeout(LAST_WORDS, words).await;
    terminal_echo::show();
    std::process::exit(stop.exit().into());
}

/// Was the signal ignored already when we were started?
#[cfg(target_os = "linux")]
pub(crate) fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_in(&status, kind)
}

#[cfg(target_os = "linux")]
fn ignored_in(status: &str, kind: SignalKind) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(kind.as_raw_value() - 1).is_ok_and(|bit| mask >> bit & 1 == 1)
}

/// Elsewhere there is no way to ask without unsafe code.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_ignored(_kind: SignalKind) -> bool {
    false
}

/// Does `work` unless it is stopped first; then the work is dropped, and `stopped` says what that means.
pub(crate) async fn unless_stopped<T>(
    stops: &mut Stops,
    work: impl Future<Output = Result<T, Trouble>>,
    stopped: impl FnOnce() -> Trouble,
) -> Result<T, Trouble> {
    tokio::select! {
        done = work => done,
        stop = stops.next() => Err(match stop {
            Stop::Asked => stopped(),
            Stop::Leave(signal) => Trouble::new(stop.exit(), format!("ended by {}", signal.name()))
                .try_this("`talaria status` shows what is running in the engine"),
        }),
    }
}

/// Stopped by the person, in these words.
pub(crate) fn stopped(what: &'static str) -> impl FnOnce() -> Trouble {
    move || Trouble::new(exit::INTERRUPTED, what)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_was_ignored_at_the_start_is_known() {
        let status = "Name:\ttalaria\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        assert!(ignored_in(status, SignalKind::hangup()));
        assert!(!ignored_in(status, SignalKind::interrupt()));
        assert!(!ignored_in("", SignalKind::hangup()));
    }
}
