//! The terminal as the chat needs it, and as it was before: every way to leave restores it first.
//!
//! Restoring is safe to do twice and from any thread: a panic, a signal and the ordinary end may all come to it. A panic
//! of whatever part restores the terminal, so nothing is drawn after it. What ends the program without a word is the
//! business of the keeper.

use std::io::{self, Write};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use crossterm::event::EnableBracketedPaste;
use crossterm::queue;
use crossterm::terminal::{EnterAlternateScreen, disable_raw_mode, enable_raw_mode};
use rustix::stdio::{stdin, stdout};
use rustix::termios::tcgetattr;

use crate::keeper::{self, Held, Modes};

/// Is the terminal ours?
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Did some part of the program panic?
static LOST: AtomicBool = AtomicBool::new(false);
/// Wakes the task that waits for that.
static LOSS: Notify = Notify::const_new();

/// The terminal is ours for as long as this lives.
pub(super) struct Guard(());

impl Guard {
    /// Takes the terminal over. A panic restores it before the panic is reported.
    pub(super) fn take() -> io::Result<Self> {
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            told(panic);
            LOST.store(true, Ordering::SeqCst);
            LOSS.notify_one();
        }));
        // From here on it is restored, also if only a part of the setup succeeds.
        let guard = Self(());
        take()?;
        Ok(guard)
    }

    /// Whether the terminal was restored because of a panic.
    pub(super) fn is_lost(&self) -> bool {
        LOST.load(Ordering::SeqCst)
    }

    /// Waits until something has panicked.
    pub(super) async fn wait_for_panic(&self) {
        while !self.is_lost() {
            LOSS.notified().await;
        }
    }

    /// Restores the terminal while `away` runs, and takes it again.
    pub(super) fn lend(&self, away: impl FnOnce()) -> io::Result<()> {
        restore();
        away();
        take()
    }

    /// Takes the terminal again after another program may have changed it.
    pub(super) fn retake(&self) -> io::Result<()> {
        restore();
        take()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

fn take() -> io::Result<()> {
    let before = tcgetattr(stdin()).ok().map(|terminal| Modes::of(&terminal));
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    if let Some(before) = before {
        keeper::note_taken(Held::Screen(before), Stdio::inherit);
    }
    let mut out = io::stdout().lock();
    queue!(out, EnterAlternateScreen, EnableBracketedPaste)?;
    out.flush()
}

/// Restores the terminal, if it was taken.
fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    // A terminal that is gone needs nothing. Not through the lock of standard output: the thread that panicked may hold it.
    let mut text = Vec::new();
    keeper::put_back(&mut text);
    let _ = rustix::io::write(stdout(), &text);
    let _ = disable_raw_mode();
    keeper::note_returned();
}

/// Restores the terminal, and waits for that no longer than this. If the output has no reader, at least lines are edited
/// again; the words for the terminal are left to the keeper.
pub(crate) fn restore_within(limit: Duration) {
    keeper::within(limit, restore);
    let _ = disable_raw_mode();
}
