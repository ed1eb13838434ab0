//! The stream that people look at: settled text, and below it a draft that can be taken back.
//!
//! The draft (an unfinished line, the spinner) is erased before anything is settled, so that it can never get mixed
//! into the text. If the window got narrower since, the terminal has rewrapped its rows (nearly all do; xterm does
//! not), and the draft is found by wrapping it in the same way. Where the output cannot be redrawn there are no drafts
//! and no escape sequences.

use std::io::{self, Write};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Look;
use super::styled::{StyledLine, StyledSpan, StyledText};
use super::writer;

/// Memory that settled text may take before it is written without being asked.
const BUFFER: usize = 64 * 1024;
/// Below this width there are no drafts.
const NARROWEST: usize = 24;

/// Writes text and redraws its end.
#[derive(Debug)]
pub(crate) struct Canvas<W: Write> {
    out: W,
    buffer: String,
    /// Would drafts be shown if there were room?
    is_live: bool,
    look: Look,
    /// The settled part of the row that the cursor is on; kept only for finding the draft.
    row: StyledLine,
    /// Ends of lines at the very end, counted to two: two make an empty line.
    ends: usize,
    draft: StyledText,
}

impl<W: Write> Canvas<W> {
    /// Wraps a stream at the beginning of a row.
    pub(crate) fn new(out: W, look: Look) -> Self {
        let (row, draft) = (StyledLine::default(), StyledText::default());
        Self { out, buffer: String::new(), is_live: look.live && look.color, look, row, ends: 2, draft }
    }

    /// Says how wide the terminal is now.
    pub(crate) fn resize(&mut self, width: usize) {
        self.look.width = Some(width);
        if !self.can_redraw() {
            self.erase();
        }
    }

    /// Can drafts be shown?
    pub(crate) fn can_redraw(&self) -> bool {
        // Rows of a very narrow terminal would overflow, and a draft could not be found again.
        self.is_live && self.look.width.is_none_or(|width| width >= NARROWEST)
    }

    /// Settles text. It may end within a row.
    pub(crate) fn text(&mut self, text: &StyledText) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.erase();
        writer::push_text(&mut self.buffer, text, self.look);
        if self.is_live {
            match text.ended() {
                [] => self.row.append(text.open().clone()),
                [..] => text.open().clone_into(&mut self.row),
            }
        }
        self.ends = self.ends_after(text).min(2);
        if self.buffer.len() >= BUFFER { self.write_out() } else { Ok(()) }
    }

    /// Settles whole lines, beginning on a row of their own.
    pub(crate) fn lines(&mut self, text: &StyledText) -> io::Result<()> {
        self.fresh_row()?;
        self.text(text)?;
        self.fresh_row()
    }

    /// Makes sure that the next text begins a row.
    pub(crate) fn fresh_row(&mut self) -> io::Result<()> {
        if self.ends == 0 { self.text(&StyledText::plain("\n")) } else { Ok(()) }
    }

    /// Makes sure that there is one empty line above what follows.
    pub(crate) fn gap(&mut self) -> io::Result<()> {
        self.fresh_row()?;
        if self.ends == 1 { self.text(&StyledText::plain("\n")) } else { Ok(()) }
    }

    /// Shows a draft after the settled text, instead of the one before. No row of it may be as wide as the terminal.
    pub(crate) fn draw(&mut self, draft: &StyledText) {
        if !self.can_redraw() || *draft == self.draft {
            return;
        }
        self.erase();
        writer::push_text(&mut self.buffer, draft, self.look);
        draft.clone_into(&mut self.draft);
    }

    /// Says that others ended the row: the person pressed Enter.
    pub(crate) fn row_ended(&mut self) {
        self.row = StyledLine::default();
        self.ends = 1;
    }

    /// Makes everything visible.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.write_out()?;
        self.out.flush()
    }

    /// Is settled text on the row of the cursor?
    pub(crate) fn is_row_begun(&self) -> bool {
        !self.row.is_empty()
    }

    fn erase(&mut self) {
        if self.draft.is_empty() {
            return;
        }
        let draft = std::mem::take(&mut self.draft);
        let mut rows = draft.ended().iter().chain([draft.open()]);
        let first = rows.next().into_iter().flat_map(|line| &line.spans);
        let mut lines = draft.ended_count() + self.end_of(self.row.spans.iter().chain(first)).0;
        lines += rows.map(|line| self.end_of(line.spans.iter()).0).sum::<usize>();
        let (row, column) = self.end_of(self.row.spans.iter());
        // No movement leads back past a full row; writing it again does.
        let is_full = self.look.width == Some(column);
        let (row, column) = if is_full { (0, 0) } else { (row, column) };
        writer::push_erasure(&mut self.buffer, lines.saturating_sub(row), column);
        if is_full {
            writer::push_line(&mut self.buffer, &self.row, self.look);
        }
    }

    /// Where a line ends that the terminal wraps: rows below its beginning, and the column.
    fn end_of<'a>(&self, spans: impl Iterator<Item = &'a StyledSpan> + Clone) -> (usize, usize) {
        let whole = spans.clone().map(|span| span.text.width()).sum();
        let Some(width) = self.look.width.filter(|&width| width < whole) else { return (0, whole) };
        let cells = spans.flat_map(|span| span.text.chars()).map(|c| c.width().unwrap_or(0));
        cells.fold(
            (0, 0),
            |(row, column), cells| {
                if column + cells > width { (row + 1, cells) } else { (row, column + cells) }
            },
        )
    }

    /// Number of line ends at the very end after this text.
    fn ends_after(&self, text: &StyledText) -> usize {
        let empty = text.ended().iter().rev().take_while(|line| line.is_empty()).count();
        match text.ended_count() {
            _ if !text.open().is_empty() => 0,
            count if count == empty => self.ends + count,
            _ => empty + 1,
        }
    }

    fn write_out(&mut self) -> io::Result<()> {
        let written = self.out.write_all(self.buffer.as_bytes());
        // Also after an error: output that a closed pipe did not accept must not accumulate.
        self.buffer.clear();
        written
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::super::screen::{Screen, Window};
    use super::*;

    #[test]
    fn a_draft_never_gets_mixed_into_the_text() {
        let mut canvas = Canvas::new(Vec::new(), sample::TERMINAL);
        canvas.text(&StyledText::plain("one\ntwo")).unwrap();
        canvas.draw(&StyledText::plain(" dra\nft\nof three rows"));
        canvas.draw(&StyledText::plain("\nspinner"));
        canvas.text(&StyledText::plain(" three\n")).unwrap();
        canvas.draw(&StyledText::plain("spinner"));
        canvas.gap().unwrap();
        canvas.gap().unwrap();
        canvas.lines(&StyledText::plain("four")).unwrap();
        canvas.flush().unwrap();
        let mut screen = Screen::new(80);
        screen.feed(&String::from_utf8(canvas.out).unwrap());
        assert_eq!(screen.text(), "one\ntwo three\n\nfour\n");
    }

    #[test]
    fn a_draft_is_found_again_in_a_window_of_another_width() {
        let text = "a settled row of forty columns in all, ｗide";
        for width in 24..100 {
            let mut canvas = Canvas::new(Window::new(80), sample::TERMINAL);
            canvas.lines(&StyledText::plain("before")).unwrap();
            canvas.text(&StyledText::plain(text)).unwrap();
            canvas.draw(&StyledText::plain(
                " and a draft that is 世界世界\nof three rows, of which one is rather long\n",
            ));
            canvas.flush().unwrap();
            canvas.out.resize(width);
            canvas.resize(width);
            canvas.draw(&StyledText::plain("\nspinner"));
            canvas.flush().unwrap();
            canvas.draw(&StyledText::plain(""));
            canvas.flush().unwrap();
            canvas.out.resize(100);
            assert_eq!(canvas.out.text(), format!("before\n{text}"), "{width} columns");
        }
    }

    #[test]
    fn without_a_terminal_there_are_no_drafts() {
        let mut canvas = Canvas::new(Vec::new(), sample::PIPE);
        canvas.text(&StyledText::plain("one")).unwrap();
        canvas.draw(&StyledText::plain("spinner"));
        canvas.lines(&StyledText::plain("two")).unwrap();
        canvas.flush().unwrap();
        assert_eq!(canvas.out, b"one\ntwo\n");
    }
}
