//! Whether the terminal shows what is typed: a secret is typed unseen.
//!
//! The terminal outlives the program and keeps its settings, so every way to leave calls `show` first. A panic
//! does so by itself, and after `kill -9` the keeper does. Lines, Ctrl-C and the end of a line work as before: only the letters
//! do not appear.

use std::fs::File;
use std::io;
use std::process::Stdio;
use std::sync::{Mutex, Once, PoisonError};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::keeper::{self, Held, Modes};

/// The terminal whose letters are hidden, and how it was before.
static HIDDEN: Mutex<Option<(File, Termios)>> = Mutex::new(None);
/// A panic shows them again.
static HOOK: Once = Once::new();

/// Hides what is typed from now on. `Err` means that it would be seen.
pub(crate) fn hide(terminal: &File) -> io::Result<()> {
    let mut hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner);
    if hidden.is_some() {
        return Ok(());
    }
    HOOK.call_once(show_on_panic);
    let before = tcgetattr(terminal)?;
    let (kept, told) = (terminal.try_clone()?, terminal.try_clone()?);
    // Before it is done: a process that is killed in between has changed nothing, and the keeper sees that.
    keeper::note_taken(Held::Typing(Modes::of(&before)), || Stdio::from(told));
    if let Err(error) = unsee(&kept, &before) {
        keeper::note_returned();
        return Err(error);
    }
    *hidden = Some((kept, before));
    Ok(())
}

/// Hides it again, if it should be hidden and another program may have changed the terminal meanwhile.
pub(crate) fn hide_again() {
    let hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((terminal, before)) = &*hidden {
        // A terminal that is gone shows nothing anyway.
        let _ = unsee(terminal, before);
    }
}

/// Shows what is typed again, if it was hidden.
pub(crate) fn show() {
    let hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner).take();
    put_back(hidden);
}

fn unsee(terminal: &File, before: &Termios) -> io::Result<()> {
    let mut unseen = before.clone();
    Modes::of(before).as_hidden().apply(&mut unseen);
    Ok(tcsetattr(terminal, OptionalActions::Now, &unseen)?)
}

fn put_back(hidden: Option<(File, Termios)>) {
    if let Some((terminal, before)) = hidden {
        // A terminal that is gone shows nothing anyway.
        let _ = tcsetattr(&terminal, OptionalActions::Now, &before);
        keeper::note_returned();
    }
}

fn show_on_panic() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // The thread that panicked may be the one that holds it.
        if let Ok(mut hidden) = HIDDEN.try_lock() {
            put_back(hidden.take());
        }
        told(panic);
    }));
}
