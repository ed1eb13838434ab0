//! A terminal for tests: takes what a renderer writes and returns what a person would see.
//!
//! Rewraps rows when its width changes, as terminals do. Understands exactly the sequences that the renderer may write; any
//! other is a failure of the test.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use unicode_width::UnicodeWidthChar;

/// The second cell of a wide character.
const FILLER: char = '\0';

/// Rows of characters and a cursor.
pub(crate) struct Screen {
    rows: Vec<Row>,
    row: usize,
    column: usize,
    width: usize,
}

#[derive(Clone, Default)]
struct Row {
    cells: Vec<char>,
    /// Does the text continue on the next row, without an end of line?
    is_wrapped: bool,
}

impl Screen {
    /// An empty screen of endless height.
    pub(crate) fn new(width: usize) -> Self {
        Self { rows: vec![Row::default()], row: 0, column: 0, width }
    }

    /// Takes output.
    pub(crate) fn feed(&mut self, output: &str) {
        let mut chars = output.chars();
        while let Some(c) = chars.next() {
            match c {
                '\n' => self.down(),
                '\r' => self.column = 0,
                '\x1b' => {
                    assert_eq!(chars.next(), Some('['), "only CSI sequences are ours");
                    let mut number = String::new();
                    let end = chars
                        .by_ref()
                        .find(|c| {
                            let is_end = c.is_ascii_alphabetic();
                            if !is_end {
                                number.push(*c);
                            }
                            is_end
                        })
                        .unwrap();
                    self.control(end, &number);
                }
                c => self.put(c),
            }
        }
    }

    /// The screen content, without trailing spaces.
    pub(crate) fn text(&self) -> String {
        let rows: Vec<String> = self
            .rows
            .iter()
            .map(|row| row.cells.iter().filter(|&&c| c != FILLER).collect::<String>().trim_end().to_owned())
            .collect();
        rows.join("\n")
    }

    /// Changes the width. Wrapped lines are rewrapped, and the cursor stays where it is in its line.
    pub(crate) fn resize(&mut self, width: usize) {
        let rows = std::mem::take(&mut self.rows);
        let (old_row, old_column) = (self.row, self.column);
        let mut goes_on = false;
        let mut cursor = (0, 0);
        self.width = width;
        for (index, mut row) in rows.into_iter().enumerate() {
            if !std::mem::replace(&mut goes_on, row.is_wrapped) {
                self.rows.push(Row::default());
                (self.row, self.column) = (self.rows.len() - 1, 0);
            }
            if index == old_row {
                let needed = row.cells.len().max(old_column);
                row.cells.resize(needed, ' ');
            }
            if index == old_row && old_column == 0 {
                cursor = (self.row, self.column);
            }
            for (column, &c) in row.cells.iter().enumerate() {
                if c != FILLER {
                    self.put(c);
                }
                if index == old_row && column + 1 == old_column {
                    cursor = (self.row, self.column);
                }
            }
        }
        (self.row, self.column) = cursor;
    }

    fn control(&mut self, end: char, number: &str) {
        match end {
            'm' => {}
            'A' => self.row -= number.parse::<usize>().unwrap(),
            'C' => self.column = (self.column + number.parse::<usize>().unwrap()).min(self.width - 1),
            'J' => {
                assert_eq!(number, "");
                self.rows.truncate(self.row + 1);
                self.rows[self.row].cells.truncate(self.column);
                self.rows[self.row].is_wrapped = false;
            }
            _ => panic!("the renderer may not write ESC [ {number} {end}"),
        }
    }

    fn put(&mut self, c: char) {
        let cells = c.width().unwrap_or(0);
        assert!(!c.is_control(), "{c:?} is no text");
        if self.column + cells > self.width {
            self.rows[self.row].is_wrapped = true;
            self.down();
        }
        let row = &mut self.rows[self.row].cells;
        row.resize(row.len().max(self.column + cells), ' ');
        if cells > 0 {
            row[self.column] = c;
            row[self.column + 1..self.column + cells].fill(FILLER);
        }
        self.column += cells;
    }

    fn down(&mut self) {
        self.row += 1;
        self.column = 0;
        if self.row == self.rows.len() {
            self.rows.push(Row::default());
        }
    }
}

/// A screen that a renderer writes to while others look at it.
#[derive(Clone)]
pub(crate) struct Window(Rc<RefCell<Screen>>);

impl Window {
    /// An empty window of endless height.
    pub(crate) fn new(width: usize) -> Self {
        Self(Rc::new(RefCell::new(Screen::new(width))))
    }

    /// Changes the width, as a person does, without a word to the renderer.
    pub(crate) fn resize(&self, width: usize) {
        self.0.borrow_mut().resize(width);
    }

    /// The visible rows.
    pub(crate) fn text(&self) -> String {
        self.0.borrow().text()
    }
}

impl Write for Window {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().feed(std::str::from_utf8(bytes).unwrap());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
