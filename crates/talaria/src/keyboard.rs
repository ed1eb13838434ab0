//! Lines that a person types at the terminal, read on demand only.
//!
//! Earlier input is discarded: it cannot be an answer to a question that was not shown yet. That happens before the
//! question is shown, so that a quick answer to it is not lost. The terminal itself is read, not standard input,
//! which may hold the prompt. A line may be a secret: it is handed on and not kept.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::termios::{QueueSelector, tcflush};
use talaria_core::ids::TicketId;
use tokio::sync::mpsc;

use crate::echo;

/// The terminal's keyboard.
#[derive(Debug)]
pub(crate) struct Keyboard {
    terminal: File,
    wanted: mpsc::UnboundedSender<()>,
    /// The current question.
    asked: Arc<Mutex<Option<Asked>>>,
    waiting: bool,
}

/// A question, and its step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) ticket: TicketId,
    pub(crate) step: usize,
}

/// Input from the keyboard, with the question on the screen at that time.
pub(crate) struct Typed {
    pub(crate) asked: Option<Asked>,
    pub(crate) keys: Keys,
}

/// Input from the keyboard. Must not be printed: it may be a secret.
pub(crate) enum Keys {
    /// A line, without its end.
    Line(String),
    /// The person closed the input.
    Closed,
    /// The terminal is gone.
    Failed,
}

/// Where lines arrive.
pub(crate) type Lines = mpsc::UnboundedReceiver<Typed>;

impl Keyboard {
    /// Opens the terminal; `None` if there is none.
    pub(crate) fn open() -> Option<(Self, Lines)> {
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        let reader = terminal.try_clone().ok()?;
        // Unbounded in type, bounded by use: one line is asked for at a time.
        let (wanted, wants) = mpsc::unbounded_channel();
        let (lines, receiver) = mpsc::unbounded_channel();
        let asked = Arc::default();
        let known = Arc::clone(&asked);
        std::thread::spawn(move || read_lines(reader, wants, &known, &lines));
        Some((Self { terminal, wanted, asked, waiting: false }, receiver))
    }

    /// Throws away what was typed so far; to be called before a question is shown.
    pub(crate) fn forget_typed(&self) {
        // Not possible means that nothing was typed ahead either.
        let _ = tcflush(&self.terminal, QueueSelector::IFlush);
    }

    /// Hides what is typed from now on; to be called before a secret is asked for. `Err` means that it would be seen.
    pub(crate) fn hide_typing(&self) -> io::Result<()> {
        echo::hide(&self.terminal)
    }

    /// Asks for one line, as an answer to this. One that was asked for and has not come yet counts.
    pub(crate) fn want_line(&mut self, asked: Asked) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(asked);
        if !self.waiting {
            self.waiting = self.wanted.send(()).is_ok();
        }
    }

    /// Says that the line came.
    pub(crate) fn line_came(&mut self) {
        self.waiting = false;
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        echo::show();
    }
}

fn read_lines(
    terminal: File,
    mut wants: mpsc::UnboundedReceiver<()>,
    asked: &Mutex<Option<Asked>>,
    lines: &mpsc::UnboundedSender<Typed>,
) {
    let mut terminal = BufReader::new(terminal);
    while wants.blocking_recv().is_some() {
        let mut line = Vec::new();
        let keys = match terminal.read_until(b'\n', &mut line) {
            Ok(1..) => Keys::Line(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned()),
            Ok(0) => Keys::Closed,
            Err(_) => Keys::Failed,
        };
        let asked = asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if lines.send(Typed { asked, keys }).is_err() {
            return;
        }
    }
}
