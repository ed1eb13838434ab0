//! Rows and columns for people: lists of conversations, tasks, requests, processes.
//!
//! A cell may contain foreign text: it is made harmless and joined into one line. Columns are as wide as their widest
//! cell. If the window is too narrow, they shrink and cells are broken between words; if words would have to be broken,
//! ids among them, every cell has its own lines after the head of its column. One column may be as long as others made
//! it, and is cut. Into a pipe everything goes in full.

use unicode_width::UnicodeWidthStr;

use crate::columns::{self, HANG, NARROW};
use crate::{Look, Paint, Style, StyledLine, StyledSpan, StyledText, cut, plain_line};

/// Between two columns.
const GAP: usize = 2;
/// The column that is cut keeps this many columns of the screen.
const LEAST: usize = 12;
/// This many lines of it are shown where it has to be read.
const LINES: usize = 4;
/// Words in these lines that are longer are broken.
const LONG: usize = 24;

/// A table.
#[derive(Debug)]
pub struct Sheet {
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// The column that is cut.
    yielding: usize,
    /// After how many lines.
    lines: usize,
}

impl Sheet {
    /// Makes an empty table; `yielding` names the column that is cut where there is not enough room.
    pub fn new(heads: &[&'static str], yielding: &str) -> Self {
        let yielding = heads.iter().position(|head| *head == yielding).unwrap_or(0);
        Self { heads: heads.to_vec(), rows: Vec::new(), yielding, lines: 1 }
    }

    /// Lets the yielding column have a few lines before it is cut: it is not only there to be recognized.
    pub fn to_be_read(self) -> Self {
        Self { lines: LINES, ..self }
    }

    /// Adds a row; a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| plain_line(&cell).into_owned()).collect());
    }

    /// Returns the table as lines.
    pub fn show(&self, look: Look) -> StyledText {
        let (paint, room) = (Paint::new(look), look.width.unwrap_or(usize::MAX));
        let lines = match self.widths(room) {
            Some(widths) => self.in_columns(&widths, paint),
            None => self.cell_by_cell(room, paint),
        };
        let mut out = StyledText::default();
        for line in lines {
            out.push_line(line);
            out.end_line();
        }
        out
    }

    /// How wide the columns are; `None` if not even narrow ones fit.
    fn widths(&self, room: usize) -> Option<Vec<usize>> {
        let columns = 0..self.heads.len();
        let widest = |of: fn(&str) -> usize, column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| of(cell));
            cells.chain([of(self.heads[column])]).max().unwrap_or(0)
        };
        let wanted: Vec<usize> =
            columns.clone().map(|column| widest(UnicodeWidthStr::width, column)).collect();
        let least = columns.map(|column| match widest(columns::longest_word, column) {
            _ if column == self.yielding && self.lines == 1 => LEAST,
            word if column == self.yielding => word.clamp(LEAST, LONG),
            word => word.max(NARROW),
        });
        let gaps = GAP * self.heads.len().saturating_sub(1);
        columns::share(&wanted, &least.collect::<Vec<_>>(), room.checked_sub(gaps)?)
    }

    fn in_columns(&self, widths: &[usize], paint: Paint) -> Vec<StyledLine> {
        let heads: Vec<Vec<String>> = self.heads.iter().map(|head| vec![head.to_uppercase()]).collect();
        let mut lines = vec![paint.line(Style::DIM, &line(&heads, 0, widths))];
        for row in &self.rows {
            // The first column shows where a row begins: continuation lines there are indented.
            let laid = |column: usize, most| {
                broken(&row[column], widths[column], if column == 0 { HANG } else { 0 }, most, paint)
            };
            let mut cells: Vec<Vec<String>> = (0..row.len().min(widths.len()))
                .map(|column| if column == self.yielding { Vec::new() } else { laid(column, usize::MAX) })
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(1);
            if let Some(cell) = cells.get_mut(self.yielding) {
                // Lines that are there anyway cost nothing.
                *cell = laid(self.yielding, height.max(self.lines));
            }
            let height = cells.iter().map(Vec::len).max().unwrap_or(1);
            lines.extend((0..height).map(|at| paint.line(Style::PLAIN, &line(&cells, at, widths))));
        }
        lines
    }

    /// Every cell in its own lines, after the head of its column.
    fn cell_by_cell(&self, room: usize, paint: Paint) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            if index > 0 {
                lines.push(paint.line(Style::DIM, &columns::rule(room, paint)));
            }
            for (column, (head, cell)) in self.heads.iter().zip(row).enumerate() {
                if cell.is_empty() {
                    continue;
                }
                let head = if head.is_empty() { String::new() } else { format!("{head}: ") };
                let most = if column == self.yielding { self.lines } else { usize::MAX };
                let told = broken(&format!("{head}{cell}"), room, HANG, most, paint);
                for (at, row) in told.iter().enumerate() {
                    let head = if at == 0 && row.starts_with(head.trim_end()) { head.trim_end() } else { "" };
                    let mut line = paint.line(Style::DIM, head);
                    line.push(Style::PLAIN, &row[head.len()..]);
                    lines.push(line);
                }
            }
        }
        lines
    }
}

/// Breaks a cell between words into at most this many lines; the last is cut where something is missing.
fn broken(text: &str, room: usize, indent: usize, most: usize, paint: Paint) -> Vec<String> {
    let span = StyledSpan { text: text.to_owned(), style: Style::PLAIN };
    let lines = columns::broken(&[span], room, indent, paint);
    let mut lines: Vec<String> = lines.iter().map(StyledLine::text).collect();
    if lines.len() > most {
        let rest = lines.split_off(most);
        if let Some(last) = lines.last_mut() {
            let rest: Vec<&str> = rest.iter().map(|line| line.trim_start()).collect();
            *last = cut(&format!("{last} {}", rest.join(" ")), room, paint);
        }
    }
    lines
}

fn line(cells: &[Vec<String>], at: usize, widths: &[usize]) -> String {
    let mut out = String::new();
    for (cell, &width) in cells.iter().zip(widths) {
        let text = cell.get(at).map_or("", String::as_str);
        out.push_str(text);
        out.extend(std::iter::repeat_n(' ', GAP + width.saturating_sub(text.width())));
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    const ID: &str = "01a1e82b-49c1-77ee-b68a-0a1fd979af82";

    fn sheet() -> Sheet {
        let mut sheet = Sheet::new(&["id", "title", "when"], "title");
        sheet.row(["a1", "为什么构建这么慢 and more words", "now"].map(str::to_owned));
        sheet.row(["b22", "\u{1b}[2Jtwo\nlines", "3 days ago"].map(str::to_owned));
        sheet
    }

    fn requests() -> Sheet {
        let mut sheet = Sheet::new(&["request", "asked", "for", "about"], "about").to_be_read();
        let command = "cargo test --workspace --locked -- --nocapture && git push origin HEAD:main \
            --force-with-lease && cargo publish --workspace --no-verify";
        sheet.row(["req-bb2db58a5365", "1 minute ago", ID, command].map(str::to_owned));
        sheet.row(["req-0a1b2c3d4e5f", "10 seconds ago", "codex-1a2b3c4d5e6f", "make"].map(str::to_owned));
        sheet
    }

    fn look(width: Option<usize>) -> Look {
        Look { color: false, width, live: width.is_some(), unicode: true }
    }

    fn shown(sheet: &Sheet, width: usize) -> String {
        sheet.show(look(Some(width))).text()
    }

    #[test]
    fn columns_line_up_with_wide_letters_and_only_the_title_is_cut() {
        expect![[r#"
            ID   TITLE                            WHEN
            a1   为什么构建这么慢 and more words  now
            b22  ␛[2Jtwo␊lines                    3 days ago
        "#]]
        .assert_eq(&sheet().show(look(None)).text());
        expect![[r#"
            ID   TITLE          WHEN
            a1   为什么构建这…  now
            b22  ␛[2Jtwo␊lines  3 days ago
        "#]]
        .assert_eq(&shown(&sheet(), 30));
    }

    #[test]
    fn what_has_to_be_read_is_broken_between_words() {
        expect![[r#"
            REQUEST           ASKED           FOR                                   ABOUT
            req-bb2db58a5365  1 minute ago    01a1e82b-49c1-77ee-b68a-0a1fd979af82  cargo test --workspace --locked -- --nocapture
                                                                                    && git push origin HEAD:main --force-with-lease
                                                                                    && cargo publish --workspace --no-verify
            req-0a1b2c3d4e5f  10 seconds ago  codex-1a2b3c4d5e6f                    make
        "#]]
        .assert_eq(&shown(&requests(), 120));
        expect![[r#"
            REQUEST           ASKED           FOR                                   ABOUT
            req-bb2db58a5365  1 minute ago    01a1e82b-49c1-77ee-b68a-0a1fd979af82  cargo test --workspace
                                                                                    --locked -- --nocapture &&
                                                                                    git push origin HEAD:main
                                                                                    --force-with-lease && cargo…
            req-0a1b2c3d4e5f  10 seconds ago  codex-1a2b3c4d5e6f                    make
        "#]]
        .assert_eq(&shown(&requests(), 100));
    }

    #[test]
    fn where_words_would_be_broken_every_cell_has_lines_of_its_own() {
        expect![[r#"
            request: req-bb2db58a5365
            asked: 1 minute ago
            for: 01a1e82b-49c1-77ee-b68a-0a1fd979af82
            about: cargo test --workspace --locked -- --nocapture && git push origin
              HEAD:main --force-with-lease && cargo publish --workspace --no-verify
            ────────────────────────
            request: req-0a1b2c3d4e5f
            asked: 10 seconds ago
            for: codex-1a2b3c4d5e6f
            about: make
        "#]]
        .assert_eq(&shown(&requests(), 80));
        expect![[r#"
            request: req-bb2db58a5365
            asked: 1 minute ago
            for:
              01a1e82b-49c1-77ee-b68a-0a1fd979af82
            about: cargo test --workspace --locked
              -- --nocapture && git push origin
              HEAD:main --force-with-lease && cargo
              publish --workspace --no-verify
            ────────────────────────
            request: req-0a1b2c3d4e5f
            asked: 10 seconds ago
            for: codex-1a2b3c4d5e6f
            about: make
        "#]]
        .assert_eq(&shown(&requests(), 40));
        expect![[r#"
            id: a1
            title: 为什么构建这么慢…
            when: now
            ────────────────────────
            id: b22
            title: ␛[2Jtwo␊lines
            when: 3 days ago
        "#]]
        .assert_eq(&shown(&sheet(), 24));
    }

    #[test]
    fn a_cell_that_begins_a_row_is_told_from_one_that_goes_on() {
        let mut files = Sheet::new(&["file", "lines"], "file").to_be_read();
        files.row(["crates/talaria/src/chat/commands.rs", "+1 -2"].map(str::to_owned));
        files.row(["README.md", "+10 -200"].map(str::to_owned));
        expect![[r#"
            FILE                        LINES
            crates/talaria/src/chat/co  +1 -2
              mmands.rs
            README.md                   +10 -200
        "#]]
        .assert_eq(&shown(&files, 36));
    }

    #[test]
    fn heads_stand_back_and_cells_do_not() {
        let lines = sheet().show(Look { color: true, ..look(Some(20)) }).into_lines();
        let head = StyledSpan { text: "title:".to_owned(), style: Style::DIM };
        let titles: Vec<_> = lines.iter().filter(|line| line.spans[0] == head).collect();
        assert_eq!(titles.len(), 2, "{lines:?}");
        assert!(titles.iter().all(|line| line.spans[1].style == Style::PLAIN), "{titles:?}");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_window_and_ids_stay_whole(
            cells in proptest::collection::vec("[a-z世 /]{0,120}", 3),
            lines in prop_oneof![Just(1), Just(LINES)],
            width in 40..140usize,
        ) {
            let sheet = Sheet::new(&["id", "status", "for", "title"], "title");
            let mut sheet = Sheet { lines, ..sheet };
            for cell in &cells {
                sheet.row(["codex-1a2b3c4d5e6f", "waiting for your answer", ID, cell].map(str::to_owned));
            }
            let text = sheet.show(look(Some(width))).text();
            prop_assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
            prop_assert_eq!(text.matches(ID).count(), 3);
            prop_assert_eq!(text.matches("codex-1a2b3c4d5e6f").count(), 3);
        }
    }
}
