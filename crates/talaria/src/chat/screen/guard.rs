//! The terminal as the chat needs it, and as it was before: whoever leaves, by whatever door, restores it first.
//!
//! Restoring is safe to do twice and from any thread: a panic, a signal and the ordinary end may all come to it. A panic
//! of whatever part gives the terminal back, so nothing is drawn after it. What ends the program without a word is the
//! business of the keeper.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use crossterm::cursor::{SetCursorStyle, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::queue;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};

use super::keeper;

/// Is the terminal ours?
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Did some part of the program panic?
static LOST: AtomicBool = AtomicBool::new(false);
/// Wakes whoever waits for that.
static LOSS: Notify = Notify::const_new();

/// The terminal is ours for as long as this lives.
pub(super) struct Guard(());

impl Guard {
    /// Takes the terminal over. A panic gives it back before it is told.
    pub(super) fn take() -> io::Result<Self> {
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            told(panic);
            LOST.store(true, Ordering::SeqCst);
            LOSS.notify_one();
        }));
        // From here on it is given back, also if only a part of the taking succeeds.
        let guard = Self(());
        take()?;
        Ok(guard)
    }

    /// Was the terminal given back because something panicked?
    pub(super) fn is_lost(&self) -> bool {
        LOST.load(Ordering::SeqCst)
    }

    /// Waits until something has panicked.
    pub(super) async fn lost(&self) {
        while !self.is_lost() {
            LOSS.notified().await;
        }
    }

    /// Gives the terminal back while `away` runs, and takes it again.
    pub(super) fn lend(&self, away: impl FnOnce()) -> io::Result<()> {
        restore();
        away();
        take()
    }

    /// Takes the terminal again after somebody else may have changed it.
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
    let before = keeper::before();
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    keeper::taken(before);
    let mut out = io::stdout().lock();
    queue!(out, EnterAlternateScreen, EnableBracketedPaste)?;
    out.flush()
}

/// Gives the terminal back, if it was taken.
pub(crate) fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    // A terminal that is gone needs nothing. Not through the lock of standard output: whoever panicked may hold it.
    let mut text = Vec::new();
    put_back(&mut text);
    let _ = rustix::io::write(rustix::stdio::stdout(), &text);
    let _ = disable_raw_mode();
    keeper::given();
}

/// What a terminal that was taken must be told.
pub(super) fn put_back(text: &mut Vec<u8>) {
    // Nothing goes wrong in memory.
    let _ = queue!(text, DisableBracketedPaste, SetCursorStyle::DefaultUserShape, Show, LeaveAlternateScreen);
}
