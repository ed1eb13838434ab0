//! Styled words laid into rows of a given width. Knows nothing of Markdown.
//!
//! Rows break between words; a word wider than a row breaks where the row ends. Every row begins with the margin, and
//! every row but a block's first with its indent. One column is left free, since terminals treat it differently.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::paint::Paint;
use super::style::Style;
use super::styled::{StyledLine, StyledSpan, StyledText};

/// Position of the next word.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    paint: Paint,
    limit: Option<usize>,
    margin: StyledLine,
    indent: usize,
    column: usize,
    /// Spaces owed before the next word; dropped where a row breaks.
    spaces: usize,
    /// Does a word that is too wide for the indent get a row with less of it?
    outdents: bool,
}

impl Flow {
    /// Starts at the beginning of a row.
    pub(crate) fn new(paint: Paint, width: Option<usize>, margin: StyledLine) -> Self {
        let limit = width.map(limit);
        Self { paint, limit, margin, indent: 0, column: 0, spaces: 0, outdents: false }
    }

    /// From now on a word that fits a row only with less indent gets such a row, instead of being broken.
    pub(crate) fn outdenting(self) -> Self {
        Self { outdents: true, ..self }
    }

    /// Indents the following rows of the block by this much.
    pub(crate) fn hang(&mut self, indent: usize) {
        self.indent = indent;
    }

    /// Starts in the first column of a part of a row that is so wide. Every row but the first is indented.
    pub(crate) fn within(paint: Paint, room: usize, indent: usize) -> Self {
        let flow = Self { limit: Some(room), ..Self::new(paint, None, StyledLine::default()) };
        Self { indent: indent.min(flow.deepest()), ..flow }
    }

    /// Breaks rows at this width from now on. A row that is too wide already takes no further word.
    pub(crate) fn resize(&mut self, width: usize) {
        self.limit = Some(limit(width));
        self.indent = self.indent.min(self.deepest());
    }

    /// Begins a block: its first row starts with `lead` in a style, the others are indented as far.
    pub(crate) fn begin(&mut self, indent: usize, lead: &str, style: Style, out: &mut StyledText) {
        let indent = indent.min(self.deepest());
        self.start_row(indent, out);
        self.paint.push(out, style, lead);
        self.column += lead.width();
        self.indent = indent + lead.width();
    }

    /// Adds text. Words that touch stay together, across spans too.
    pub(crate) fn put(&mut self, spans: &[StyledSpan], out: &mut StyledText) {
        let mut word: Vec<(Style, &str)> = Vec::new();
        for span in spans {
            let mut rest = span.text.as_str();
            while !rest.is_empty() {
                let end = rest.find(' ').unwrap_or(rest.len());
                if end > 0 {
                    word.push((span.style, &rest[..end]));
                }
                if end == rest.len() {
                    break;
                }
                self.put_word(&word, out);
                word.clear();
                self.spaces += 1;
                rest = &rest[end + 1..];
            }
        }
        self.put_word(&word, out);
    }

    /// Ends the row.
    pub(crate) fn end(&mut self, out: &mut StyledText) {
        out.end_line();
        self.column = 0;
        self.spaces = 0;
        self.indent = 0;
    }

    /// The room that a row leaves to its text, where rows have a width.
    pub(crate) fn room(&self) -> Option<usize> {
        self.limit.map(|limit| limit.saturating_sub(self.margin.width()))
    }

    fn put_word(&mut self, word: &[(Style, &str)], out: &mut StyledText) {
        if word.is_empty() {
            return;
        }
        let width: usize = word.iter().map(|(_, text)| text.width()).sum();
        let is_row_used = self.column > self.row_start();
        let is_over = self.limit.is_some_and(|limit| self.column + self.spaces + width > limit);
        match self.outdented(width) {
            Some(indent) if is_over => {
                // What only set the word apart from its lead would end the row.
                out.trim_open();
                self.break_row_to(indent, out);
            }
            None if is_over && is_row_used => self.break_row(out),
            _ => {}
        }
        out.push_spaces(self.spaces);
        self.column += std::mem::take(&mut self.spaces);
        for (style, text) in word {
            self.put_text(*style, text, out);
        }
    }

    fn put_text(&mut self, style: Style, mut text: &str, out: &mut StyledText) {
        while let Some(limit) = self.limit
            && self.column + text.width() > limit
        {
            let fits = fitting(text, limit.saturating_sub(self.column));
            self.paint.push(out, style, &text[..fits]);
            text = &text[fits..];
            if text.is_empty() {
                return;
            }
            self.break_row(out);
            if fits == 0 && self.column + 2 > limit {
                break; // Not even one character fits a row: let the terminal cope.
            }
        }
        self.paint.push(out, style, text);
        self.column += text.width();
    }

    /// The indent of the only row that fits a word of this width, if smaller than usual.
    fn outdented(&self, width: usize) -> Option<usize> {
        let room = self.room().filter(|_| self.outdents)?;
        room.checked_sub(width).filter(|indent| *indent < self.indent)
    }

    fn break_row(&mut self, out: &mut StyledText) {
        self.break_row_to(self.indent, out);
    }

    fn break_row_to(&mut self, indent: usize, out: &mut StyledText) {
        out.end_line();
        self.start_row(indent, out);
        self.spaces = 0;
    }

    fn start_row(&mut self, indent: usize, out: &mut StyledText) {
        out.push_line(self.margin.clone());
        out.push_spaces(indent);
        self.column = self.margin.width() + indent;
        self.spaces = 0;
    }

    /// A deep indent must leave room for words.
    fn deepest(&self) -> usize {
        self.limit.map_or(40, |limit| limit / 2)
    }

    fn row_start(&self) -> usize {
        self.margin.width() + self.indent
    }
}

/// The columns of a row that take text.
fn limit(width: usize) -> usize {
    width.saturating_sub(1).max(20)
}

/// How many bytes of the text fit into this many columns.
fn fitting(text: &str, columns: usize) -> usize {
    let mut used = 0;
    let over = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > columns
    });
    over.map_or(text.len(), |(index, _)| index)
}

/// Breaks a line into rows of at most `room` columns, anywhere: nothing may be left out or moved.
pub(crate) fn break_anywhere(line: &str, room: usize) -> Vec<&str> {
    let mut rows = Vec::new();
    let (mut from, mut columns) = (0, 0);
    for (at, character) in line.char_indices() {
        let width = character.width().unwrap_or(0);
        if columns + width > room {
            rows.push(&line[from..at]);
            (from, columns) = (at, 0);
        }
        columns += width;
    }
    rows.push(&line[from..]);
    rows
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::sample;
    use super::*;

    fn laid(width: usize, lead: &str, words: &[&str]) -> String {
        let mut out = StyledText::default();
        let margin = StyledLine::of(Style::PLAIN, "| ");
        let mut flow = Flow::new(Paint::new(sample::PIPE), Some(width), margin);
        flow.begin(0, lead, Style::PLAIN, &mut out);
        let span = |text: &&str| StyledSpan { text: (*text).to_owned(), style: Style::PLAIN };
        let spans: Vec<StyledSpan> = words.iter().map(span).collect();
        flow.put(&spans, &mut out);
        flow.end(&mut out);
        out.text()
    }

    #[test]
    fn rows_break_between_words_and_keep_the_indent() {
        expect![[r#"
            | - one two
            |   threefour five
            |   six
        "#]]
        .assert_eq(&laid(21, "- ", &["one two ", "three", "four five six"]));
    }

    #[test]
    fn wide_and_endless_words_stay_inside_the_row() {
        let text = laid(21, "", &["世界世界世界世界世界世界 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]);
        assert!(text.lines().all(|row| row.width() <= 20), "{text}");
        assert_eq!(text.matches('a').count(), 32);
    }

    #[test]
    fn a_long_line_is_broken_into_rows_that_lose_nothing() {
        assert_eq!(break_anywhere("", 8), [""]);
        assert_eq!(break_anywhere("12345678", 8), ["12345678"]);
        assert_eq!(break_anywhere("123456789", 8), ["12345678", "9"]);
        assert_eq!(break_anywhere("漢字漢字漢", 8), ["漢字漢字", "漢"]);
        let padded = format!("echo{}→ accepted by you", " ".repeat(100));
        assert_eq!(break_anywhere(&padded, 20).concat(), padded);
    }
}
