//! Lines that a person types at the terminal, read only when somebody asks for one.
//!
//! What was typed before the question is thrown away: it cannot be an answer to something not yet seen. That happens
//! before the question is shown, so that a quick answer to it is not lost. The terminal itself is read, not standard
//! input, which may hold the prompt.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc;

/// The terminal's keyboard.
#[derive(Debug)]
pub(crate) struct Keyboard {
    terminal: File,
    wanted: mpsc::UnboundedSender<()>,
    waiting: bool,
}

/// A line, or `None` when the person closed the input.
pub(crate) type TypedLine = Option<String>;

impl Keyboard {
    /// Opens the terminal; `None` if there is none.
    pub(crate) fn open() -> Option<(Self, mpsc::UnboundedReceiver<TypedLine>)> {
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        let reader = terminal.try_clone().ok()?;
        // Unbounded in type, bounded by use: one line is asked for at a time.
        let (wanted, wants) = mpsc::unbounded_channel();
        let (lines, receiver) = mpsc::unbounded_channel();
        std::thread::spawn(move || read_lines(reader, wants, lines));
        Some((Self { terminal, wanted, waiting: false }, receiver))
    }

    /// Throws away what was typed so far; to be called before a question is shown.
    pub(crate) fn forget_typed(&self) {
        // Not possible means that nothing was typed ahead either.
        let _ = tcflush(&self.terminal, QueueSelector::IFlush);
    }

    /// Asks for one line. A line that was asked for and has not come yet counts.
    pub(crate) fn want_line(&mut self) {
        if !self.waiting {
            self.waiting = self.wanted.send(()).is_ok();
        }
    }

    /// Says that the line came.
    pub(crate) fn line_came(&mut self) {
        self.waiting = false;
    }
}

fn read_lines(
    terminal: File,
    mut wants: mpsc::UnboundedReceiver<()>,
    lines: mpsc::UnboundedSender<TypedLine>,
) {
    let mut terminal = BufReader::new(terminal);
    while wants.blocking_recv().is_some() {
        let mut line = Vec::new();
        let typed = match terminal.read_until(b'\n', &mut line) {
            Ok(1..) => Some(String::from_utf8_lossy(&line).trim().to_owned()),
            Ok(0) | Err(_) => None,
        };
        if lines.send(typed).is_err() {
            return;
        }
    }
}
