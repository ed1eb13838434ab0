//! What is written in plain mode: turns as `exec` shows them, our own words between them, and the sign that a line is
//! wanted. Nothing is drawn twice.

use std::io::{self, Stdout, Write};
use std::time::Instant;

use jiff::Timestamp;
use talaria_core::api::Numbered;
use talaria_core::event::Event;
use talaria_core::item::ItemBody;
use talaria_face::render::{Look, Renderer, Terminal, plain};

use crate::look;

/// What stands before the line that is typed.
const SIGN: &str = "> ";

/// The page that grows.
pub(super) struct Page {
    look: Look,
    since: Instant,
    turn: i64,
    renderer: Terminal<Stdout>,
    /// The sign is the last thing on the page.
    is_at_sign: bool,
    /// When the first event happened that came of this conversation.
    began: Option<Timestamp>,
    /// Events of the last turn, while an old conversation is being read.
    past: Option<Vec<Numbered>>,
}

impl Page {
    /// An empty page.
    pub(super) fn new() -> Self {
        let look = Look { live: false, ..look::of_stdout() };
        let renderer = Terminal::new(io::stdout(), look);
        Self { look, since: Instant::now(), turn: 0, renderer, is_at_sign: false, began: None, past: None }
    }

    /// What the output can do.
    pub(super) fn look(&self) -> Look {
        self.look
    }

    /// An old conversation follows, up to `caught_up`.
    pub(super) fn opening(&mut self) {
        (self.turn, self.began) = (0, None);
        self.renderer = Terminal::new(io::stdout(), self.look);
        self.past = Some(Vec::new());
    }

    /// Has everything old come?
    pub(super) fn is_caught_up(&self) -> bool {
        self.past.is_none()
    }

    /// Did this happen before everything that was read?
    pub(super) fn is_before(&self, at: Timestamp) -> bool {
        self.began.is_some_and(|began| at < began)
    }

    /// Everything old has come: its last turn is shown.
    pub(super) fn caught_up(&mut self) -> io::Result<()> {
        for numbered in self.past.take().unwrap_or_default() {
            if let Event::ItemCompleted { item } = &numbered.event
                && let ItemBody::UserMessage { text, .. } = &item.body
            {
                let said: String = text.lines().map(|line| format!("{SIGN}{line}\n")).collect();
                self.say(&plain(&said))?;
            }
            self.event(&numbered)?;
        }
        Ok(())
    }

    /// Shows an event; of an old conversation only those of its last turn.
    pub(super) fn event(&mut self, numbered: &Numbered) -> io::Result<()> {
        self.began.get_or_insert(numbered.at);
        if let Some(past) = &mut self.past {
            if past.last().is_some_and(|last| last.turn < numbered.turn) {
                past.clear();
            }
            past.push(numbered.clone());
            return Ok(());
        }
        self.leave_sign()?;
        if let Some(turn) = numbered.turn.filter(|turn| *turn > self.turn) {
            self.renderer.close()?;
            (self.turn, self.renderer) = (turn, Terminal::new(io::stdout(), self.look));
        }
        self.renderer.numbered(self.since.elapsed(), numbered)?;
        self.renderer.flush()
    }

    /// Writes words of ours, which are harmless already.
    pub(super) fn say(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.leave_sign()?;
        self.renderer.close()?;
        let end = if text.ends_with('\n') { "" } else { "\n" };
        self.write(&format!("{text}{end}"))
    }

    /// Writes what a command prints, as it comes.
    pub(super) fn print(&mut self, text: &str) -> io::Result<()> {
        self.leave_sign()?;
        self.write(&plain(text))
    }

    /// Writes what is wanted, and leaves the cursor behind it.
    pub(super) fn ask(&mut self, text: &str) -> io::Result<()> {
        self.leave_sign()?;
        self.write(text)
    }

    /// Writes the sign that a line is wanted, once.
    pub(super) fn sign(&mut self) -> io::Result<()> {
        if self.is_at_sign {
            return Ok(());
        }
        self.is_at_sign = true;
        self.write(SIGN)
    }

    /// A line was typed: its end was echoed.
    pub(super) fn line_came(&mut self) {
        self.is_at_sign = false;
    }

    fn leave_sign(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_at_sign) {
            self.write("\n")?;
        }
        Ok(())
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}
