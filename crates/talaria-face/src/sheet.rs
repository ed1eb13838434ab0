//! Rows and columns for people: lists of conversations, tasks, requests, processes.
//!
//! What stands in a cell may be the words of others: it is made harmless and put on one line. Columns are as wide as
//! their widest cell; where the window is too narrow, one of them is cut. Into a pipe nothing is cut.

use unicode_width::UnicodeWidthStr;

use crate::render::{Look, Paint, Style, cut, plain_line};

/// Between two columns.
const GAP: usize = 2;
/// A column that is cut keeps so many columns of the screen.
const LEAST: usize = 12;

/// A table.
#[derive(Debug)]
pub struct Sheet {
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// The column that gives way.
    yielding: usize,
}

impl Sheet {
    /// Makes an empty table; `yielding` names the column that is cut where there is not enough room.
    pub fn new(heads: &[&'static str], yielding: &str) -> Self {
        let yielding = heads.iter().position(|head| *head == yielding).unwrap_or(0);
        Self { heads: heads.to_vec(), rows: Vec::new(), yielding }
    }

    /// Adds a row; a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| plain_line(&cell).into_owned()).collect());
    }

    /// Gives the table as lines.
    pub fn show(&self, look: Look) -> String {
        let paint = Paint::new(look);
        let widths = self.widths(look.width);
        let mut out = String::new();
        let heads: Vec<String> = self.heads.iter().map(|head| head.to_uppercase()).collect();
        paint.push(&mut out, Style::DIM, &line(&heads, &widths, paint));
        out.push('\n');
        for row in &self.rows {
            out.push_str(&line(row, &widths, paint));
            out.push('\n');
        }
        out
    }

    fn widths(&self, room: Option<usize>) -> Vec<usize> {
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width());
            cells.chain([self.heads[column].width()]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..self.heads.len()).map(widest).collect();
        let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        if let Some(over) = room.and_then(|room| total.checked_sub(room)) {
            let yielding = &mut widths[self.yielding];
            *yielding = yielding.saturating_sub(over).max(LEAST.min(*yielding));
        }
        widths
    }
}

fn line(cells: &[String], widths: &[usize], paint: Paint) -> String {
    let mut out = String::new();
    for (at, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        let cell = cut(cell, width, paint);
        out.push_str(&cell);
        if at + 1 < widths.len() {
            out.extend(std::iter::repeat_n(' ', GAP + width.saturating_sub(cell.width())));
        }
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn sheet() -> Sheet {
        let mut sheet = Sheet::new(&["id", "title", "when"], "title");
        sheet.row(["a1", "为什么构建这么慢 and more words", "now"].map(str::to_owned));
        sheet.row(["b22", "\u{1b}[2Jtwo\nlines", "3 days ago"].map(str::to_owned));
        sheet
    }

    fn shown(width: Option<usize>) -> String {
        sheet().show(Look { color: false, width, live: width.is_some(), unicode: true })
    }

    #[test]
    fn columns_line_up_with_wide_letters_and_only_the_title_is_cut() {
        expect![[r#"
            ID   TITLE                            WHEN
            a1   为什么构建这么慢 and more words  now
            b22  ␛[2Jtwo␊lines                    3 days ago
        "#]]
        .assert_eq(&shown(None));
        expect![[r#"
            ID   TITLE          WHEN
            a1   为什么构建这…  now
            b22  ␛[2Jtwo␊lines  3 days ago
        "#]]
        .assert_eq(&shown(Some(30)));
    }

    #[test]
    fn no_line_is_wider_than_the_window_unless_that_is_very_narrow() {
        for width in 30..80 {
            let text = shown(Some(width));
            assert!(text.lines().all(|line| line.width() <= width), "{width}: {text}");
        }
        assert!(shown(Some(1)).contains("now"));
    }
}
