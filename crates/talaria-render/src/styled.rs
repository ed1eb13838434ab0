//! Styled text as a value: lines of spans. Every producer makes it, the screen lays it out, and `writer` turns it into
//! bytes for a terminal.
//!
//! A span contains text that is harmless already, without escape sequences and line ends. A text may end within a row:
//! that row is open, and the next piece continues there.

use std::borrow::Cow;
use std::ops::{Add, AddAssign};

use unicode_width::UnicodeWidthStr;

use super::style::Style;

/// Text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StyledSpan {
    /// The text, harmless, without ends of lines.
    pub text: String,
    /// Its style.
    pub style: Style,
}

/// One row, or a line that is yet to be broken into rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledLine {
    /// Its pieces, from left to right.
    pub spans: Vec<StyledSpan>,
}

/// Finished lines, and the open row for the next piece.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledText {
    ended: Vec<StyledLine>,
    open: StyledLine,
}

impl StyledLine {
    /// Makes a line of one span.
    pub fn of(style: Style, text: impl Into<String>) -> Self {
        Self { spans: vec![StyledSpan { text: text.into(), style }] }
    }

    /// Appends text without ends of lines. Plain text that follows plain text joins its span.
    pub fn push(&mut self, style: Style, text: &str) {
        match self.spans.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if style == Style::PLAIN && last.style == Style::PLAIN => last.text.push_str(text),
            _ => self.spans.push(StyledSpan { text: text.to_owned(), style }),
        }
    }

    /// Appends spaces.
    pub fn push_spaces(&mut self, count: usize) {
        const SPACES: &str = "                                ";
        let mut left = count;
        while left > 0 {
            let some = left.min(SPACES.len());
            self.push(Style::PLAIN, &SPACES[..some]);
            left -= some;
        }
    }

    /// Appends the spans of another line.
    pub fn append(&mut self, other: Self) {
        for span in other.spans {
            self.push_span(span);
        }
    }

    /// Drops spaces from the end.
    pub fn trim_end(&mut self) {
        while let Some(last) = self.spans.last_mut() {
            last.text.truncate(last.text.trim_end_matches(' ').len());
            if !last.text.is_empty() {
                break;
            }
            self.spans.pop();
        }
    }

    /// Returns whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.spans.iter().all(|span| span.text.is_empty())
    }

    /// Counts its columns.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// Returns the text without styles.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    fn push_span(&mut self, span: StyledSpan) {
        match self.spans.last_mut() {
            Some(last) if span.style == Style::PLAIN && last.style == Style::PLAIN => {
                last.text.push_str(&span.text);
            }
            _ if span.text.is_empty() => {}
            _ => self.spans.push(span),
        }
    }
}

impl StyledText {
    /// Makes a text in one style. A line feed ends a line.
    pub fn of(style: Style, text: &str) -> Self {
        let mut out = Self::default();
        out.push(style, text);
        out
    }

    /// Makes a text without styles. A line feed ends a line.
    pub fn plain(text: &str) -> Self {
        Self::of(Style::PLAIN, text)
    }

    /// Joins texts, each on its own row; the last row stays open.
    pub fn join(texts: impl IntoIterator<Item = Self>) -> Self {
        let mut out = Self::default();
        for (at, text) in texts.into_iter().enumerate() {
            if at > 0 {
                out.end_line();
            }
            out.append(text);
        }
        out
    }

    /// Appends text. A line feed ends a line.
    pub fn push(&mut self, style: Style, text: &str) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.end_line();
            }
            self.open.push(style, line);
        }
    }

    /// Appends text without a style. A line feed ends a line.
    pub fn push_plain(&mut self, text: &str) {
        self.push(Style::PLAIN, text);
    }

    /// Appends spaces to the open row.
    pub fn push_spaces(&mut self, count: usize) {
        self.open.push_spaces(count);
    }

    /// Appends the spans of a line to the open row, and leaves it open.
    pub fn push_line(&mut self, line: StyledLine) {
        self.open.append(line);
    }

    /// Appends another text; its first line continues in the open row.
    pub fn append(&mut self, other: Self) {
        let mut ended = other.ended.into_iter();
        if let Some(first) = ended.next() {
            self.open.append(first);
            self.end_line();
            self.ended.extend(ended);
        }
        self.open.append(other.open);
    }

    /// Ends the open row.
    pub fn end_line(&mut self) {
        self.ended.push(std::mem::take(&mut self.open));
    }

    /// Drops spaces from the end of the open row.
    pub fn trim_open(&mut self) {
        self.open.trim_end();
    }

    /// Returns the lines that have ended, and keeps the open row.
    pub fn take_ended(&mut self) -> Vec<StyledLine> {
        std::mem::take(&mut self.ended)
    }

    /// Counts the lines that have ended.
    pub fn ended_count(&self) -> usize {
        self.ended.len()
    }

    /// Returns whether nothing is in it, not even the end of a line.
    pub fn is_empty(&self) -> bool {
        self.ended.is_empty() && self.open.is_empty()
    }

    /// Iterates over the lines that have ended.
    pub fn ended(&self) -> &[StyledLine] {
        &self.ended
    }

    /// Returns the row for the next piece.
    pub fn open(&self) -> &StyledLine {
        &self.open
    }

    /// Returns the lines. The end of the last line begins no further one.
    pub fn into_lines(mut self) -> Vec<StyledLine> {
        if self.ended.is_empty() || !self.open.is_empty() {
            self.end_line();
        }
        self.ended
    }

    /// Keeps the first row and the last ones, at most `most` together.
    pub(crate) fn drop_middle(&mut self, most: usize) {
        let hidden = (self.ended.len() + 1).saturating_sub(most);
        if hidden > 0 && hidden < self.ended.len() {
            self.ended.drain(1..=hidden);
        }
    }

    /// Estimates what it takes in memory.
    pub fn weight(&self) -> usize {
        let spans = self.ended.iter().chain([&self.open]).flat_map(|line| &line.spans);
        spans.map(|span| size_of::<StyledSpan>() + span.text.len()).sum()
    }

    /// Returns the text without styles.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for line in &self.ended {
            line.spans.iter().for_each(|span| out.push_str(&span.text));
            out.push('\n');
        }
        self.open.spans.iter().for_each(|span| out.push_str(&span.text));
        out
    }
}

impl From<&str> for StyledText {
    fn from(text: &str) -> Self {
        Self::plain(text)
    }
}

impl From<String> for StyledText {
    fn from(text: String) -> Self {
        Self::plain(&text)
    }
}

impl From<Cow<'_, str>> for StyledText {
    fn from(text: Cow<'_, str>) -> Self {
        Self::plain(&text)
    }
}

impl<T: Into<StyledText>> AddAssign<T> for StyledText {
    fn add_assign(&mut self, other: T) {
        self.append(other.into());
    }
}

impl<T: Into<StyledText>> Add<T> for StyledText {
    type Output = Self;

    fn add(mut self, other: T) -> Self {
        self += other;
        self
    }
}

impl FromIterator<Self> for StyledText {
    fn from_iter<I: IntoIterator<Item = Self>>(texts: I) -> Self {
        texts.into_iter().fold(Self::default(), Self::add)
    }
}

impl From<StyledLine> for StyledText {
    fn from(open: StyledLine) -> Self {
        Self { ended: Vec::new(), open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(line: &StyledLine) -> Vec<(&str, Style)> {
        line.spans.iter().map(|span| (span.text.as_str(), span.style)).collect()
    }

    #[test]
    fn a_text_goes_on_in_its_open_row() {
        let mut text = StyledText::plain("a\nb");
        text.append(StyledText::of(Style::BOLD, "c\nd\n"));
        text.push_plain("e");
        text.push_plain("f");
        assert_eq!(text.text(), "a\nbc\nd\nef");
        let lines = text.into_lines();
        assert_eq!(spans(&lines[1]), [("b", Style::PLAIN), ("c", Style::BOLD)]);
        assert_eq!(spans(&lines[2]), [("d", Style::BOLD)], "a style goes on after the end of a line");
        assert_eq!(spans(&lines[3]), [("ef", Style::PLAIN)]);
    }

    #[test]
    fn the_end_of_the_last_line_begins_no_further_one() {
        let count = |text: &str| StyledText::plain(text).into_lines().len();
        assert_eq!(["", "\n", "a", "a\n", "a\n\n"].map(count), [1, 1, 1, 1, 2]);
    }

    #[test]
    fn spaces_at_the_end_of_a_row_are_dropped_across_spans() {
        let mut line = StyledLine::of(Style::BOLD, "a  ");
        line.push_spaces(70);
        assert_eq!(line.width(), 73);
        line.trim_end();
        assert_eq!(spans(&line), [("a", Style::BOLD)]);
    }
}
