//! How things look in a terminal. Pure: reads no key, clock or file, and asks no engine.
//!
//! Styled text is a value, lines of spans (`styled`, `style`). Escape sequences are written by `writer` alone; `paint`
//! reduces styles and signs to what the output can show.
//!
//! | module | idea |
//! |---|---|
//! | `terminal`, `json`, `quiet`, `split` | the renderers of a turn: the same events for people, scripts and shells |
//! | `canvas`, `stage`, `message` | settled text with a draft below it, the layout of the output, growing messages |
//! | `tool_line`, `shell_wrapper`, `own_tool`, `step_note`, `news`, `notice`, `repeats`, `heading` | the lines of steps and around them |
//! | `spinner` | the current activity |
//! | `question`, `prompt`, `dialog` | a question to a person, the prompt below it, how typed lines become an answer |
//! | `markdown`, `block`, `inline`, `table`, `highlight`, `diff` | Markdown while it streams in, code and changes of files |
//! | `flow`, `columns`, `rows`, `sheet` | words in rows of a given width, columns, our own lines, lists |
//! | `html`, `html_export` | a conversation as a page that runs and loads nothing |
//! | `sample` | events of every kind, for tests |
//!
//! A renderer writes to the streams it was given and decides nothing: it never answers a request, never ends a
//! turn, never reads a key. Everything that did not originate here passes `sanitize` before it reaches a terminal.

use std::io;
use std::time::Duration;

use talaria_core::api::Numbered;
use talaria_core::event::Event;
use talaria_core::ids::TicketId;
use talaria_core::outcome::Report;
use talaria_guard::plain as sanitize;

use crate::dialog::Dialog;

pub mod dialog;
pub mod sheet;

mod block;
mod canvas;
pub mod columns;
pub mod diff;
pub mod flow;
mod heading;
pub mod highlight;
mod html;
mod html_export;
mod inline;
mod json;
pub mod markdown;
mod message;
pub mod news;
pub mod notice;
mod own_tool;
mod paint;
pub mod prompt;
pub mod question;
mod quiet;
mod repeats;
mod rows;
mod shell_wrapper;
pub mod spinner;
mod split;
mod stage;
pub mod step_note;
pub mod style;
mod styled;
mod table;
mod terminal;
pub mod tool_line;
pub mod writer;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod resizing;
#[cfg(any(test, feature = "samples"))]
pub mod sample;
#[cfg(test)]
mod screen;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod void;

pub use highlight::Highlighter;
pub use html_export::HtmlWriter;
pub use json::{JsonLines, with_exit};
pub use notice::short;
pub use notice::tokens;
pub use paint::{Paint, cut};
pub use quiet::{Quiet, complaint};
pub use repeats::counted;
pub use rows::{field, in_rows, styled_in_rows};
/// A duration in milliseconds as short text; the subject of a request.
pub use shell_wrapper::unwrapped;
pub use split::SplitRenderer;
pub use style::{Color, Style};
pub use styled::{StyledLine, StyledSpan, StyledText};
/// The same on one line.
pub use talaria_guard::plain::one_line as plain_line;
/// For messages outside of a turn: text is made harmless, and line ends are kept.
pub use talaria_guard::plain::sanitize as plain;
pub use terminal::{HELD_NOTICE, TerminalRenderer};
pub use tool_line::{about, elapsed};

/// The next prompt of a person who answers a question line by line, as shown before the cursor.
pub fn wanted(dialog: &Dialog, look: Look) -> StyledText {
    prompt::show(dialog, Paint::new(look), look.width)
}

/// Shows what happens in a session.
pub trait Renderer {
    /// Shows one event; `now` is the time since the start of the program. Visible at the latest after `flush`.
    fn event(&mut self, now: Duration, event: &Event) -> io::Result<()>;

    /// Shows one event with its place in the conversation.
    fn numbered(&mut self, now: Duration, numbered: &Numbered) -> io::Result<()> {
        self.event(now, &numbered.event)
    }

    /// Shows the end of a turn that was over before anything was shown; `took` is how long it ran, where that is known.
    fn ended(&mut self, report: &Report, _took: Option<Duration>) -> io::Result<()> {
        self.event(Duration::ZERO, &Event::Outcome(Box::new(report.clone())))
    }

    /// Shows a note of Talaria outside of the turn. Not every renderer has room for that.
    fn note(&mut self, _text: &str) -> io::Result<Shown> {
        Ok(Shown::Nowhere)
    }

    /// Says that the person left before the end, for faces that owe their reader an outcome. `exit` is the exit code of the
    /// command, which is not that of the turn.
    fn left(&mut self, _report: &Report, _exit: u8) -> io::Result<()> {
        Ok(())
    }

    /// Shows that time passes. Called a few times a second while nothing happens.
    fn tick(&mut self, now: Duration) -> io::Result<()>;

    /// Makes everything visible. Called when no event is waiting, so that a flood is not flushed piece by piece.
    fn flush(&mut self) -> io::Result<()>;

    /// Says how wide the output is now; `None` is not known. Everything shown from then on fits that.
    fn resize(&mut self, _columns: Option<usize>) {}

    /// Erases the draft and ends the row. Called when the program leaves before the turn has ended.
    fn close(&mut self) -> io::Result<()> {
        self.flush()
    }

    /// Can a person be asked on this face? If not, the other two prompt functions do nothing.
    fn can_ask(&self) -> bool {
        false
    }

    /// Shows the next prompt of an open request and leaves the cursor after it. The question was shown with its
    /// `RequestOpened`; it is shown again if other output followed it, so that another one is not answered by mistake.
    /// Called again after a line that is no answer, and for each further step.
    fn prompt(&mut self, _id: &TicketId, _dialog: &Dialog) -> io::Result<()> {
        Ok(())
    }

    /// Has something been shown below the choices since they were shown?
    fn is_prompt_covered(&self) -> bool {
        false
    }

    /// Says that the person's line has been read, its echoed end of line included.
    fn prompt_read(&mut self) {}
}

/// Was something shown?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Yes, on this face.
    Here,
    /// No: the caller must show it elsewhere.
    Nowhere,
}

/// Capabilities of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Whether colours are enabled. Without them no escape sequence is written at all: no spinner, Markdown is
    /// unchanged.
    pub color: bool,
    /// The width in columns, where there is one.
    pub width: Option<usize>,
    /// Is it a terminal, where a line can be drawn again?
    pub live: bool,
    /// May our own signs be other than ASCII?
    pub unicode: bool,
}
