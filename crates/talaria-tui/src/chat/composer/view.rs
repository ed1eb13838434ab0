//! The rows of the input, and where the cursor is in them.

use unicode_width::UnicodeWidthStr;

use super::Composer;
use super::buffer::Buffer;
use super::layout::Layout;
use super::recall::Search;
use crate::chat::line::fitting;
use talaria_render::{Color, Paint, Style, StyledLine, cut};

/// Below this width there is no sign in front of the text.
const SIGN_NEEDS: usize = 8;
/// The placeholder of an empty input line.
const NOTHING: &[&str] = &[
    "say what to do   / commands   @ files   ! shell",
    "say what to do   / commands   @ files",
    "say what to do   / commands",
    "say what to do",
];

/// The rows of the input as they are seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The rows, none wider than the window.
    pub lines: Vec<StyledLine>,
    /// The column and the row of the cursor, within them.
    pub cursor: (u16, u16),
}

impl Composer {
    /// Returns the rows around the cursor, at least one and at most this many.
    pub fn rows(&mut self, width: u16, max_rows: u16) -> Rows {
        let (width, most) = (usize::from(width), usize::from(max_rows));
        if width == 0 || most == 0 {
            return Rows::default();
        }
        self.columns = width - sign_width(width);
        if let Some(search) = self.search.clone() {
            return self.search_rows(&search, width, most);
        }
        let layout = Layout::of(&self.buffer, self.columns, self.look);
        let cursor = self.buffer.cursor();
        let row = layout.row_of(cursor);
        let seen = layout.count().min(most);
        self.top = self.top.clamp((row + 1).saturating_sub(seen), row).min(layout.count() - seen);
        let mut lines: Vec<_> =
            (self.top..self.top + seen).map(|at| self.row(&layout, at, seen, width)).collect();
        if self.buffer.is_empty()
            && let Some(first) = lines.first_mut()
        {
            first.push(
                self.style(Style::DIM),
                &cut(fitting(NOTHING, self.columns), self.columns, Paint::new(self.look)),
            );
        }
        let column = sign_width(width) + layout.column_of(&self.buffer, cursor, self.look);
        Rows { lines, cursor: at(column, row - self.top, width) }
    }

    /// Returns the rows of the open list; none if no list is open.
    pub fn popup(&self, width: u16, max_rows: u16) -> Vec<StyledLine> {
        let (width, most) = (usize::from(width), usize::from(max_rows));
        self.popup.as_ref().map(|popup| popup.lines(width, most, self.look)).unwrap_or_default()
    }

    fn row(&self, layout: &Layout, row: usize, seen: usize, width: usize) -> StyledLine {
        let paint = Paint::new(self.look);
        let is_shell = self.buffer.text().starts_with('!') && !self.buffer.is_unit(0);
        let (sign, color) = match row {
            _ if row == self.top && row > 0 => (paint.sign("↑ ", "^ "), None),
            _ if row + 1 == self.top + seen && row + 1 < layout.count() => (paint.sign("↓ ", "v "), None),
            0 if is_shell => (paint.sign("$ ", "$ "), Some(Color::Yellow)),
            0 => (paint.sign("› ", "> "), Some(Color::Cyan)),
            _ => ("  ", None),
        };
        let style = self.style(color.map_or(Style::DIM, |color| Style::BOLD.color(color)));
        let mut line = StyledLine::default();
        if width >= SIGN_NEEDS {
            line.push(style, sign);
        }
        line.spans.extend(layout.line(&self.buffer, row, self.look).spans);
        line
    }

    fn search_rows(&self, search: &Search, width: usize, most: usize) -> Rows {
        let paint = Paint::new(self.look);
        let missing = if search.found.is_none() && !search.letters.is_empty() { " (nothing)" } else { "" };
        let letters = talaria_guard::plain::reveal_line(&search.letters);
        let mut head = StyledLine::default();
        let label = cut("find: ", width.saturating_sub(1), paint);
        head.push(self.style(Style::BOLD.color(Color::Cyan)), &label);
        let space = width - label.width() - usize::from(width > label.width());
        let shown = end_of(&letters, space);
        head.push(Style::PLAIN, &shown);
        let column = label.width() + shown.width();
        head.push(self.style(Style::DIM), &cut_or_none(missing, width - column));
        let mut lines = vec![head];
        lines.extend(self.preview_rows(&search.preview, width, most - 1));
        Rows { lines, cursor: at(column, 0, width) }
    }

    fn preview_rows(&self, found: &Buffer, width: usize, most: usize) -> Vec<StyledLine> {
        if found.is_empty() {
            return Vec::new();
        }
        let layout = Layout::of(found, width - sign_width(width), self.look);
        let indent = " ".repeat(sign_width(width));
        let line = |row| {
            let mut line = StyledLine::default();
            line.push(Style::PLAIN, &indent);
            line.spans.extend(layout.line(found, row, self.look).spans);
            line
        };
        (0..layout.count().min(most)).map(line).collect()
    }

    fn style(&self, wanted: Style) -> Style {
        if self.look.color { wanted } else { Style::PLAIN }
    }
}

fn sign_width(width: usize) -> usize {
    if width >= SIGN_NEEDS { 2 } else { 0 }
}

fn at(column: usize, row: usize, width: usize) -> (u16, u16) {
    let narrow = |value: usize| u16::try_from(value).unwrap_or(u16::MAX);
    (narrow(column.min(width - 1)), narrow(row))
}

/// The end of a text that fits.
fn end_of(text: &str, width: usize) -> String {
    let mut from = text.len();
    for (at, _) in text.char_indices().rev() {
        if text[at..].width() > width {
            break;
        }
        from = at;
    }
    text[from..].to_owned()
}

fn cut_or_none(text: &str, width: usize) -> String {
    if text.width() <= width { text.to_owned() } else { String::new() }
}
