//! The stream that people look at: settled text, and below it a draft that can be taken back.
//!
//! The draft (an unfinished line, the spinner) is erased before anything is settled, so that it can never get mixed
//! into the text. Where the output cannot be redrawn there are no drafts and no escape sequences.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::Look;
use super::style::visible_width;

/// Memory that settled text may take before it is written without being asked.
const BUFFER: usize = 64 * 1024;
/// Below this width there are no drafts.
const NARROWEST: usize = 24;

/// Writes text and redraws its end.
#[derive(Debug)]
pub(crate) struct Canvas<W: Write> {
    out: W,
    buffer: String,
    can_redraw: bool,
    /// Where settled text ends.
    column: usize,
    /// Ends of lines at the very end, counted to two: two make an empty line.
    ends: usize,
    draft: String,
}

impl<W: Write> Canvas<W> {
    /// Wraps a stream at the beginning of a row.
    pub(crate) fn new(out: W, look: Look) -> Self {
        // Rows of a very narrow terminal would overflow, and a draft could not be found again.
        let can_redraw = look.live && look.color && look.width.is_none_or(|width| width >= NARROWEST);
        let (buffer, draft) = (String::new(), String::new());
        Self { out, buffer, can_redraw, column: 0, ends: 2, draft }
    }

    /// Can drafts be shown?
    pub(crate) fn can_redraw(&self) -> bool {
        self.can_redraw
    }

    /// Settles text. It may end within a row.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.erase();
        self.buffer.push_str(text);
        match text.rsplit_once('\n') {
            Some((_, last)) => self.column = visible_width(last),
            None => self.column += visible_width(text),
        }
        let ends = text.len() - text.trim_end_matches('\n').len();
        self.ends = if ends == text.len() { self.ends + ends } else { ends }.min(2);
        if self.buffer.len() >= BUFFER { self.write_out() } else { Ok(()) }
    }

    /// Settles whole lines, beginning on a row of their own.
    pub(crate) fn lines(&mut self, text: &str) -> io::Result<()> {
        self.fresh_row()?;
        self.text(text)?;
        self.fresh_row()
    }

    /// Makes sure that the next text begins a row.
    pub(crate) fn fresh_row(&mut self) -> io::Result<()> {
        if self.ends == 0 { self.text("\n") } else { Ok(()) }
    }

    /// Makes sure that there is one empty line above what follows.
    pub(crate) fn gap(&mut self) -> io::Result<()> {
        self.fresh_row()?;
        if self.ends == 1 { self.text("\n") } else { Ok(()) }
    }

    /// Shows a draft behind the settled text, instead of the one before. No row of it may be as wide as the terminal.
    pub(crate) fn draw(&mut self, draft: &str) {
        if !self.can_redraw || draft == self.draft {
            return;
        }
        self.erase();
        self.buffer.push_str(draft);
        draft.clone_into(&mut self.draft);
    }

    /// Says that others ended the row: the person pressed Enter.
    pub(crate) fn row_ended(&mut self) {
        (self.column, self.ends) = (0, 1);
    }

    /// Makes everything visible.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.write_out()?;
        self.out.flush()
    }

    /// Settled column of the cursor.
    pub(crate) fn column(&self) -> usize {
        self.column
    }

    fn erase(&mut self) {
        if self.draft.is_empty() {
            return;
        }
        let rows = self.draft.matches('\n').count();
        // Writing into a string cannot fail.
        if rows > 0 {
            write!(self.buffer, "\x1b[{rows}A").unwrap_or_default();
        }
        self.buffer.push('\r');
        if self.column > 0 {
            write!(self.buffer, "\x1b[{}C", self.column).unwrap_or_default();
        }
        self.buffer.push_str("\x1b[J");
        self.draft.clear();
    }

    fn write_out(&mut self) -> io::Result<()> {
        let written = self.out.write_all(self.buffer.as_bytes());
        // Also after an error: what a closed pipe did not take must not pile up.
        self.buffer.clear();
        written
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::super::screen::Screen;
    use super::*;

    #[test]
    fn a_draft_never_gets_mixed_into_the_text() {
        let mut canvas = Canvas::new(Vec::new(), sample::TERMINAL);
        canvas.text("one\ntwo").unwrap();
        canvas.draw(" dra\nft\nof three rows");
        canvas.draw("\nspinner");
        canvas.text(" three\n").unwrap();
        canvas.draw("spinner");
        canvas.gap().unwrap();
        canvas.gap().unwrap();
        canvas.lines("four").unwrap();
        canvas.flush().unwrap();
        let mut screen = Screen::new(80);
        screen.feed(&String::from_utf8(canvas.out).unwrap());
        assert_eq!(screen.text(), "one\ntwo three\n\nfour\n");
    }

    #[test]
    fn without_a_terminal_there_are_no_drafts() {
        let mut canvas = Canvas::new(Vec::new(), sample::PIPE);
        canvas.text("one").unwrap();
        canvas.draw("spinner");
        canvas.lines("two").unwrap();
        canvas.flush().unwrap();
        assert_eq!(canvas.out, b"one\ntwo\n");
    }
}
