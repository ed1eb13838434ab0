//! Whether the terminal shows what is typed: a secret is typed unseen.
//!
//! The terminal outlives the program and keeps its settings, so whoever leaves, by whatever door, calls `show` first.
//! Lines, Ctrl-C and the end of a line work as before: only the letters do not appear.

use std::fs::File;
use std::sync::{Mutex, PoisonError};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The terminal whose letters are hidden, and how it was before.
static HIDDEN: Mutex<Option<(File, Termios)>> = Mutex::new(None);

/// Hides what is typed from now on. `Err` means that it would be seen.
pub(crate) fn hide(terminal: &File) -> std::io::Result<()> {
    let mut hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner);
    if hidden.is_some() {
        return Ok(());
    }
    let before = tcgetattr(terminal)?;
    let mut unseen = before.clone();
    unseen.local_modes.remove(LocalModes::ECHO);
    unseen.local_modes.insert(LocalModes::ECHONL);
    let kept = terminal.try_clone()?;
    tcsetattr(terminal, OptionalActions::Now, &unseen)?;
    *hidden = Some((kept, before));
    Ok(())
}

/// Shows what is typed again, if it was hidden.
pub(crate) fn show() {
    let hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((terminal, before)) = hidden {
        // A terminal that is gone shows nothing anyway.
        let _ = tcsetattr(&terminal, OptionalActions::Now, &before);
    }
}
