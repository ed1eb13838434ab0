//! How the text falls into rows: soft wrap at spaces, wide characters whole, nothing wider than the room.
//!
//! No raw text reaches the screen: control and invisible characters become visible. Right-to-left text is shown in
//! typed order, so that columns are stable.

use std::borrow::Cow;
use std::ops::Range;

use talaria_guard::plain;
use unicode_width::UnicodeWidthStr;

use super::buffer::Buffer;
use super::fragment::Kind;
use talaria_render::{Color, Look, Paint, Style, StyledLine, cut};

const TAB: &str = "    ";

/// The rows of a text.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    rows: Vec<Range<usize>>,
    room: usize,
}

/// A step of the cursor, as it is shown.
struct Step<'a> {
    range: Range<usize>,
    shown: Cow<'a, str>,
    width: usize,
    style: Style,
    is_space: bool,
    is_end: bool,
}

impl Step<'_> {
    /// May it be in the last column? Not at the end of a line, where the cursor is after it.
    fn hangs(&self, buffer: &Buffer) -> bool {
        let behind = &buffer.text()[self.range.end..];
        self.is_space && self.width == 1 && !behind.is_empty() && !behind.starts_with(['\n', '\r'])
    }
}

impl Layout {
    /// Lays a text out in this many columns. The last one is for the cursor, or for a space at which the row ends.
    pub(crate) fn of(buffer: &Buffer, columns: usize, look: Look) -> Self {
        let room = columns.saturating_sub(1).max(1);
        let mut rows = Vec::new();
        let (mut start, mut column) = (0, 0);
        // Where the row may end, and how wide it is up to there.
        let mut gap: Option<(usize, usize)> = None;
        for step in steps(buffer, 0..buffer.text().len(), room, look) {
            if step.is_end {
                rows.push(start..step.range.start);
                (start, column, gap) = (step.range.end, 0, None);
                continue;
            }
            // Twice at most: the rest of the row may still be too narrow for a wide character.
            while column + step.width > if step.hangs(buffer) { columns.max(1) } else { room } {
                let (end, used) = gap.filter(|_| !step.is_space).unwrap_or((step.range.start, column));
                rows.push(start..end);
                (start, column, gap) = (end, column - used, None);
            }
            column += step.width;
            if step.is_space {
                gap = Some((step.range.end, column));
            }
        }
        rows.push(start..buffer.text().len());
        Self { rows, room }
    }

    /// How many rows there are.
    pub(crate) fn count(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn row_of(&self, place: usize) -> usize {
        self.rows.partition_point(|row| row.start <= place).saturating_sub(1)
    }

    /// The column of a place within its row.
    pub(crate) fn column_of(&self, buffer: &Buffer, place: usize, look: Look) -> usize {
        let row = &self.rows[self.row_of(place)];
        steps(buffer, row.start..place.max(row.start), self.room, look).map(|step| step.width).sum()
    }

    /// The place in a row that is nearest to a column and not after it.
    pub(crate) fn place_at(&self, buffer: &Buffer, row: usize, column: usize, look: Look) -> usize {
        let range = self.rows[row].clone();
        // The end of a row that continues is the beginning of the next.
        let goes_on = self.rows.get(row + 1).is_some_and(|next| next.start == range.end);
        let mut used = 0;
        for step in steps(buffer, range.clone(), self.room, look) {
            used += step.width;
            if used > column || (goes_on && step.range.end >= range.end) {
                return step.range.start;
            }
        }
        range.end
    }

    /// Draws a row.
    pub(crate) fn line(&self, buffer: &Buffer, row: usize, look: Look) -> StyledLine {
        let mut line = StyledLine::default();
        let (mut text, mut style) = (String::new(), Style::PLAIN);
        for step in steps(buffer, self.rows[row].clone(), self.room, look) {
            if step.style != style {
                line.push(style, &std::mem::take(&mut text));
                style = step.style;
            }
            text.push_str(&step.shown);
        }
        line.push(style, &text);
        line
    }
}

/// The steps of the cursor in a range that begins and ends where it may be.
fn steps(buffer: &Buffer, range: Range<usize>, room: usize, look: Look) -> impl Iterator<Item = Step<'_>> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        if at >= range.end {
            return None;
        }
        let step = step(buffer, at, room, look);
        at = step.range.end;
        Some(step)
    })
}

fn step(buffer: &Buffer, at: usize, room: usize, look: Look) -> Step<'_> {
    let paint = Paint::new(look);
    let unit = buffer.units().iter().find(|unit| unit.start == at && unit.end > at);
    if let Some(unit) = unit {
        let color = match unit.kind {
            Kind::Paste => Color::Yellow,
            Kind::Image(_) => Color::Cyan,
        };
        let shown = fitting(Cow::Borrowed(&unit.label), room, paint);
        let style = if look.color { Style::PLAIN.color(color) } else { Style::PLAIN };
        let (width, range) = (shown.width(), unit.start..unit.end);
        return Step { range, shown, width, style, is_space: false, is_end: false };
    }
    let range = at..buffer.after(at);
    let text = &buffer.text()[range.clone()];
    if matches!(text.as_bytes(), [b' '..=b'~']) {
        let (shown, style) = (Cow::Borrowed(text), Style::PLAIN);
        return Step { range, shown, width: 1, style, is_space: text == " ", is_end: false };
    }
    let is_end = matches!(text, "\n" | "\r\n");
    let shown = fitting(harmless(text), room, paint);
    let strange = look.color && shown != text && text != "\t";
    let style = if strange { Style::PLAIN.color(Color::Yellow) } else { Style::PLAIN };
    Step { range, width: shown.width(), shown, style, is_space: matches!(text, " " | "\t"), is_end }
}

/// One grapheme, made harmless. A zero-width character is shown by its code point.
fn harmless(text: &str) -> Cow<'_, str> {
    if text == "\t" {
        return Cow::Borrowed(TAB);
    }
    let shown = plain::sanitize(text);
    if shown.width() > 0 {
        return shown;
    }
    Cow::Owned(text.chars().map(|c| format!("⟨U+{:04X}⟩", u32::from(c))).collect())
}

fn fitting(text: Cow<'_, str>, room: usize, paint: Paint) -> Cow<'_, str> {
    if text.width() <= room { text } else { Cow::Owned(cut(&text, room, paint)) }
}
