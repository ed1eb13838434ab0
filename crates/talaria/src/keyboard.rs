//! The terminal at which a person answers the questions of a turn.
//!
//! Text typed before the question is discarded: it cannot be an answer to something not yet seen. That happens
//! before the question is shown, so that a quick answer to it is not lost. The terminal itself is read, not standard
//! input, which may hold the prompt.

use std::fs::{File, OpenOptions};
use std::io;

use rustix::termios::{QueueSelector, tcflush};

use crate::line_reader::{LineReader, Reading};
use crate::terminal_echo;

/// The terminal's keyboard.
pub(crate) struct Keyboard {
    terminal: File,
    /// Its lines, read on demand only.
    pub(crate) lines: LineReader,
}

impl Keyboard {
    /// Opens the terminal; `None` if there is none.
    pub(crate) fn open() -> Option<Self> {
        let terminal = open_terminal().ok()?;
        let lines = LineReader::of(terminal.try_clone().ok()?, Reading::OnDemand);
        Some(Self { terminal, lines })
    }

    /// Throws away what was typed so far; to be called before a question is shown.
    pub(crate) fn forget_typed(&self) {
        // Not possible means that nothing was typed ahead either.
        let _ = tcflush(&self.terminal, QueueSelector::IFlush);
    }

    /// Hides what is typed from now on; to be called before a secret is asked for. `Err` means that it would be seen.
    pub(crate) fn hide_typing(&self) -> io::Result<()> {
        terminal_echo::hide(&self.terminal)
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        terminal_echo::show();
    }
}

/// Opens the terminal of this program, whatever its standard input is.
pub(crate) fn open_terminal() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/tty")
}
