//! The ways in which a person or the system says stop: Ctrl-C, a request to end, a terminal that hangs up.
//!
//! A task of its own listens, because the loop that shows a turn may be held up by an output that nobody reads. If that
//! loop does not end by itself after being told to stop, the program leaves; the turn is the engine's, and goes on.

use std::io::{self, IsTerminal};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::echo;
use crate::trouble::{Trouble, exit};

/// How long a turn may take to end after the first wish: longer than its beginning and an interrupt are waited for.
const AFTER_THE_FIRST: Duration = Duration::from_secs(30);
/// How long the program may take to leave after the second.
const AFTER_THE_SECOND: Duration = Duration::from_secs(4);
/// How long the last words may take: whoever does not read the output may not read the complaints either.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Wishes to stop, one after another.
#[derive(Debug)]
pub(crate) struct Stops {
    wishes: mpsc::UnboundedReceiver<Stop>,
}

/// A wish to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Somebody wants it: Ctrl-C, or a signal to end.
    Asked,
    /// The terminal is gone. Nobody said anything about the turn.
    HungUp,
}

impl Stops {
    /// From now on signals no longer end the program by themselves.
    pub(crate) fn listen() -> Result<Self, Trouble> {
        let mut signals = Vec::new();
        for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
            // Whoever started us with `nohup` or in the background means it; a person at the keyboard means Ctrl-C.
            if io::stdin().is_terminal() || !is_ignored(kind) {
                let listening = signal(kind)
                    .map_err(|error| Trouble::new(exit::FAILED, "cannot listen for Ctrl-C").because(error))?;
                let stop = if kind == SignalKind::hangup() { Stop::HungUp } else { Stop::Asked };
                signals.push((stop, listening));
            }
        }
        let (sender, wishes) = mpsc::unbounded_channel();
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

async fn pass_on(mut signals: Vec<(Stop, Signal)>, wishes: mpsc::UnboundedSender<Stop>) {
    let mut patience = AFTER_THE_FIRST;
    loop {
        let stop = any(&mut signals).await;
        // Nobody listens any more when the program is about to end anyway.
        let _ = wishes.send(stop);
        tokio::spawn(leave_after(patience));
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
async fn leave_after(patience: Duration) {
    tokio::time::sleep(patience).await;
    let words = tokio::task::spawn_blocking(|| {
        Trouble::new(exit::INTERRUPTED, "left before the turn ended")
            .because("the output could not be written, or the turn did not end")
            .try_this("the engine goes on with it; `talaria status` shows what runs")
            .tell();
    });
    let _ = tokio::time::timeout(LAST_WORDS, words).await;
    echo::show();
    std::process::exit(exit::INTERRUPTED.into());
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

/// Does `work` unless somebody says stop first; then the work is dropped.
pub(crate) async fn unless_stopped<T>(
    stops: &mut Stops,
    work: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    tokio::select! {
        done = work => done,
        _ = stops.next() => Err(Trouble::new(exit::INTERRUPTED, "stopped before the turn began")),
    }
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
