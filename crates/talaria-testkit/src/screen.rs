//! The state of a terminal at one moment, as a value: cells with their colours, the cursor, and the enabled modes.
//!
//! Made from the emulator by `terminal`; nothing here waits or reads. [`Screen::text`] is what a person reads,
//! [`Screen::filtered`] the same on every machine and day, [`Screen::snapshot`] the form that is committed, and
//! [`Screen::to_svg`] a picture of it.

mod filter;
mod modes;
mod svg;

pub use vt100::{Color, CursorStyle};

pub use filter::Filter;
pub use modes::Modes;
pub(crate) use modes::Watcher;

/// A screen that does not change any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screen {
    rows: Vec<Vec<ScreenCell>>,
    columns: u16,
    cursor: (u16, u16),
    modes: Modes,
}

/// The content of one column, or of two for a wide character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenCell {
    /// The character with the marks that combine with it; a space if nothing was written.
    pub text: String,
    /// The columns it takes: 1 or 2.
    pub width: u16,
    /// Its style.
    pub style: CellStyle,
}

/// How a cell looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellStyle {
    /// The colour of the character.
    pub foreground: Color,
    /// The background colour.
    pub background: Color,
    /// Whether it is bold.
    pub is_bold: bool,
    /// Whether it is dimmed.
    pub is_dim: bool,
    /// Whether it is slanted.
    pub is_italic: bool,
    /// Whether it is underlined.
    pub is_underlined: bool,
    /// Whether both colours change places.
    pub is_inverse: bool,
}

impl Screen {
    /// Takes the state of the emulator.
    pub(crate) fn of(parser: &vt100::Parser<Watcher>) -> Self {
        let screen = parser.screen();
        let (height, columns) = (screen.size().0.get(), screen.size().1.get());
        let row = |row| (0..columns).filter_map(|column| read(screen.cell(row, column)?)).collect();
        Self {
            rows: (0..height).map(row).collect(),
            columns,
            cursor: screen.cursor_position(),
            modes: Modes::of(screen, parser.callbacks()),
        }
    }

    /// Draws bytes on a screen of that size, as a program would have written them.
    pub fn drawn(rows: u16, columns: u16, bytes: &[u8]) -> Self {
        let mut parser = emulator(rows, columns);
        parser.process(bytes);
        Self::of(&parser)
    }

    /// Returns rows and columns.
    pub fn size(&self) -> (u16, u16) {
        (u16::try_from(self.rows.len()).unwrap_or(u16::MAX), self.columns)
    }

    /// Returns row and column of the cursor, counted from 0.
    pub fn cursor(&self) -> (u16, u16) {
        self.cursor
    }

    /// Returns what the program has switched on and not yet off.
    pub fn modes(&self) -> &Modes {
        &self.modes
    }

    /// Returns every row as text, without the spaces at its end.
    pub fn lines(&self) -> Vec<String> {
        let line = |row: &Vec<ScreenCell>| row.iter().map(|cell| cell.text.as_str()).collect::<String>();
        self.rows.iter().map(|row| line(row).trim_end().to_owned()).collect()
    }

    /// Returns the rows as one text: as many lines as the terminal has rows.
    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    /// Returns whether one of the rows contains a text.
    pub fn contains(&self, text: &str) -> bool {
        self.lines().iter().any(|line| line.contains(text))
    }

    /// Returns the first row that contains a text.
    pub fn line_with(&self, text: &str) -> Option<String> {
        self.lines().into_iter().find(|line| line.contains(text))
    }

    /// Returns the cell that covers a column.
    pub fn cell(&self, row: u16, column: u16) -> Option<&ScreenCell> {
        let mut at = 0;
        self.rows.get(usize::from(row))?.iter().find(|cell| {
            at += cell.width;
            column < at
        })
    }

    /// Returns the style of the first character of a text, at its first occurrence.
    pub fn style_of(&self, text: &str) -> Option<CellStyle> {
        self.rows.iter().find_map(|row| {
            let found = row.iter().map(|cell| cell.text.as_str()).collect::<String>().find(text)?;
            let mut at = 0;
            let covers = |cell: &&ScreenCell| {
                at += cell.text.len();
                found < at
            };
            row.iter().find(covers).map(|cell| cell.style)
        })
    }

    /// Returns the text as it is committed: the same every time, with size and cursor below it.
    pub fn snapshot(&self, filter: &Filter) -> String {
        let screen = self.filtered(filter);
        let (rows, columns) = screen.size();
        let cursor = match (screen.modes.is_cursor_hidden, screen.cursor) {
            (true, _) => "no cursor".to_owned(),
            (false, (row, column)) => format!("cursor in row {}, column {}", row + 1, column + 1),
        };
        format!("{}\n── {columns}×{rows}, {cursor}\n", screen.text())
    }

    /// Returns the screen with everything replaced that differs from run to run.
    pub fn filtered(&self, filter: &Filter) -> Self {
        let rows = self.rows.iter().map(|row| filter.apply(row.clone(), self.columns)).collect();
        Self { rows, ..self.clone() }
    }

    /// Returns the screen as a picture: a window with a title, the same bytes for the same screen.
    pub fn to_svg(&self, title: &str) -> String {
        svg::draw(self, title)
    }
}

/// An emulator without scrollback whose modes are watched; a terminal without a row or a column does not exist.
pub(crate) fn emulator(rows: u16, columns: u16) -> vt100::Parser<Watcher> {
    vt100::Parser::new_with_callbacks(cells(rows), cells(columns), 0, Watcher::default())
}

/// One is the least.
pub(crate) fn cells(count: u16) -> std::num::NonZero<u16> {
    std::num::NonZero::new(count).unwrap_or(std::num::NonZero::<u16>::MIN)
}

fn read(cell: &vt100::Cell) -> Option<ScreenCell> {
    let text = if cell.has_contents() { cell.contents() } else { " " };
    let width = if cell.is_wide() { 2 } else { 1 };
    let style = CellStyle {
        foreground: cell.fgcolor(),
        background: cell.bgcolor(),
        is_bold: cell.bold(),
        is_dim: cell.dim(),
        is_italic: cell.italic(),
        is_underlined: cell.underline(),
        is_inverse: cell.inverse(),
    };
    (!cell.is_wide_continuation()).then(|| ScreenCell { text: text.to_owned(), width, style })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_character_is_one_cell_of_two_columns() {
        let screen = Screen::drawn(2, 10, "a日b\r\n\x1b[1;31mred".as_bytes());
        assert_eq!(screen.text(), "a日b\nred");
        let texts: Vec<_> = (0..4).map(|column| screen.cell(0, column).unwrap().text.as_str()).collect();
        assert_eq!(texts, ["a", "日", "日", "b"]);
        assert_eq!((screen.size(), screen.cursor()), ((2, 10), (1, 3)));
        let red = screen.style_of("ed").unwrap();
        assert_eq!((red.foreground, red.is_bold), (Color::Idx(1), true));
        assert_eq!((screen.style_of("日"), screen.style_of("blue")), (Some(CellStyle::default()), None));
        assert_eq!(screen.cell(0, 10), None);
    }

    #[test]
    fn a_snapshot_says_size_and_cursor() {
        let shown = Screen::drawn(2, 5, b"hi");
        assert_eq!(shown.snapshot(&Filter::new()), "hi\n\n── 5×2, cursor in row 1, column 3\n");
        let hidden = Screen::drawn(1, 5, b"hi\x1b[?25l");
        assert_eq!(hidden.snapshot(&Filter::new()), "hi\n── 5×1, no cursor\n");
    }
}
