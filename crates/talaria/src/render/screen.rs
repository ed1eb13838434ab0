//! A terminal for tests: takes what a renderer writes and tells what a person would see.
//!
//! Understands exactly the sequences that the renderer may write; any other is a failure of the test.

use unicode_width::UnicodeWidthChar;

/// The second cell of a wide character.
const FILLER: char = '\0';

/// Rows of characters and a cursor.
pub(crate) struct Screen {
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
    width: usize,
}

impl Screen {
    /// An empty screen of endless height.
    pub(crate) fn new(width: usize) -> Self {
        Self { rows: vec![Vec::new()], row: 0, column: 0, width }
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

    /// What is on screen, without trailing spaces.
    pub(crate) fn text(&self) -> String {
        let rows: Vec<String> = self
            .rows
            .iter()
            .map(|row| row.iter().filter(|&&c| c != FILLER).collect::<String>().trim_end().to_owned())
            .collect();
        rows.join("\n")
    }

    fn control(&mut self, end: char, number: &str) {
        match end {
            'm' => {}
            'A' => self.row -= number.parse::<usize>().unwrap(),
            'C' => self.column += number.parse::<usize>().unwrap(),
            'J' => {
                assert_eq!(number, "");
                self.rows.truncate(self.row + 1);
                self.rows[self.row].truncate(self.column);
            }
            _ => panic!("the renderer may not write ESC [ {number} {end}"),
        }
    }

    fn put(&mut self, c: char) {
        let cells = c.width().unwrap_or(0);
        assert!(!c.is_control(), "{c:?} is no text");
        if self.column + cells > self.width {
            self.down();
        }
        let row = &mut self.rows[self.row];
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
            self.rows.push(Vec::new());
        }
    }
}
