//! Standard output as a page on which a person types as well: whatever comes while a prompt is shown, or while a command is
//! printing, begins on a row of its own.
//!
//! Several write here: the renderer of a turn, our own words, commands of the person. Only this file knows the content of the row.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Content of the cursor's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// Nothing.
    Fresh,
    /// The beginning of what is being said.
    Begun,
    /// A prompt, and perhaps what was typed after it.
    Prompt,
    /// What a command printed last.
    Printed,
}

/// The page; clones write on the same one.
#[derive(Debug)]
pub(super) struct Paper<W: Write>(Arc<Mutex<Sheet<W>>>);

#[derive(Debug)]
struct Sheet<W: Write> {
    out: W,
    row: Row,
}

impl<W: Write> Paper<W> {
    /// Begins at the beginning of a row.
    pub(super) fn new(out: W) -> Self {
        Self(Arc::new(Mutex::new(Sheet { out, row: Row::Fresh })))
    }

    pub(super) fn row(&self) -> Row {
        self.sheet().row
    }

    /// The row ended, and not by a word from here: the person pressed Enter.
    pub(super) fn row_ended(&self) {
        self.sheet().row = Row::Fresh;
    }

    /// Ends the row, if something is in it.
    pub(super) fn fresh_row(&self) -> io::Result<()> {
        let mut sheet = self.sheet();
        if sheet.row != Row::Fresh {
            sheet.put("\n", Row::Fresh)?;
        }
        Ok(())
    }

    /// Writes a prompt, and leaves the cursor after it.
    pub(super) fn prompt(&self, text: &str) -> io::Result<()> {
        self.fresh_row()?;
        self.sheet().put(text, Row::Prompt)
    }

    /// Writes what a command prints, which may end within a row.
    pub(super) fn print(&self, text: &str) -> io::Result<()> {
        if self.row() != Row::Printed {
            self.fresh_row()?;
        }
        self.sheet().put(text, if text.ends_with('\n') { Row::Fresh } else { Row::Printed })
    }

    fn sheet(&self) -> MutexGuard<'_, Sheet<W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write> Sheet<W> {
    fn put(&mut self, text: &str, row: Row) -> io::Result<()> {
        self.row = row;
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

impl<W: Write> Clone for Paper<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: Write> Write for Paper<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut sheet = self.sheet();
        let Some(last) = bytes.last() else { return Ok(0) };
        if matches!(sheet.row, Row::Prompt | Row::Printed) {
            sheet.put("\n", Row::Fresh)?;
        }
        sheet.out.write_all(bytes)?;
        sheet.row = if *last == b'\n' { Row::Fresh } else { Row::Begun };
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sheet().out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_behind_a_prompt_or_half_a_line_begins_a_row() {
        let mut out = Vec::new();
        let mut paper = Paper::new(&mut out);
        paper.write_all(b"said").unwrap();
        paper.prompt("> ").unwrap();
        paper.write_all(b"").unwrap();
        assert_eq!(paper.row(), Row::Prompt, "nothing was said");
        paper.write_all(b"late").unwrap();
        paper.write_all(b"r\n").unwrap();
        paper.prompt("> ").unwrap();
        paper.row_ended();
        paper.print("ha").unwrap();
        paper.print("lf").unwrap();
        paper.write_all(b"exit code 1\n").unwrap();
        drop(paper);
        assert_eq!(String::from_utf8(out).unwrap(), "said\n> \nlater\n> half\nexit code 1\n");
    }
}
