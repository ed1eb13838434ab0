//! Markdown formatted while it streams in.
//!
//! Settled text is written permanently: a word as soon as no later mark can change its style, a table at its end.
//! The rest is a draft, which `canvas` shows and erases. Every decision is taken character by character, so that any
//! chunking of the same text produces the same output.

use super::block::{self, Block, Extent, Fence};
use super::flow::Flow;
use super::inline;
use super::paint::Paint;
use super::sanitize::sanitize;
use super::style::Style;
use super::styled::{StyledLine, StyledText};
use super::table;

mod code;
mod draft;

pub use code::CodeLine;
#[cfg(test)]
use draft::DRAFT_ROWS;

/// Maximum length of text that an unclosed mark delays.
const LONGEST_PIECE: usize = 2048;
/// A longer table is laid out in parts.
const LONGEST_TABLE: usize = 200;

/// Formats a stream of Markdown.
#[derive(Debug)]
pub struct Markdown {
    paint: Paint,
    base: Style,
    margin: StyledLine,
    flow: Flow,
    place: Place,
    /// The line so far, or its unsettled piece.
    pending: String,
    table: Vec<String>,
    /// An empty line is owed before the next text.
    gap: Gap,
    /// The language of the block of code.
    language: String,
    is_code_begun: bool,
    /// The lines of code that were written, for the highlighter.
    code: Option<Vec<CodeLine>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At a line whose kind is open.
    Start,
    /// Inside a line of text.
    Text(Style),
    /// Between fences.
    Code(Fence),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    /// Nothing was written yet, so nothing needs a distance.
    Unwanted,
    No,
    Owed,
}

impl Markdown {
    /// Starts at the beginning of a row. Each row begins with the margin.
    pub fn new(paint: Paint, width: Option<usize>, base: Style, margin: &str) -> Self {
        let margin = paint.line(base, margin);
        let flow = Flow::new(paint, width, margin.clone());
        Self {
            paint,
            base,
            margin,
            flow,
            place: Place::Start,
            pending: String::new(),
            table: Vec::new(),
            gap: Gap::Unwanted,
            language: String::new(),
            is_code_begun: false,
            code: None,
        }
    }

    /// Takes the next piece and appends what is now certain.
    pub fn push(&mut self, text: &str, out: &mut StyledText) {
        for c in text.chars() {
            if c == '\n' {
                self.end_line(out);
                continue;
            }
            self.pending.push(c);
            match self.place {
                Place::Start => {
                    if self.pending.len() >= LONGEST_PIECE {
                        self.begin(&Block::Text { indent: 0 }, 0, out);
                    } else if let Some((block, start)) = block::classify(&self.pending, Extent::Growing) {
                        self.begin(&block, start, out);
                    }
                }
                Place::Text(style) => {
                    let is_long = self.pending.len() >= LONGEST_PIECE;
                    if is_long || (c == ' ' && inline::is_settled(&self.pending)) {
                        self.settle(style, out);
                    }
                }
                Place::Code(_) => {}
            }
        }
    }

    /// Ends the text. The output ends with a line end, if there is any.
    pub fn finish(&mut self, out: &mut StyledText) {
        if !self.pending.is_empty() || matches!(self.place, Place::Text(_)) {
            self.end_line(out);
        }
        self.end_table(out);
        self.place = Place::Start;
    }

    /// Lays out what follows in this width.
    pub(crate) fn resize(&mut self, width: usize) {
        self.flow.resize(width);
    }

    fn end_line(&mut self, out: &mut StyledText) {
        if self.pending.ends_with('\r') {
            self.pending.pop();
        }
        match self.place {
            Place::Code(fence) if fence.is_closed_by(&self.pending) => self.place = Place::Start,
            Place::Code(fence) => self.code_line(fence, out),
            Place::Text(style) => {
                self.settle(style, out);
                self.end_text(out);
            }
            Place::Start => {
                if let Some((block, start)) = block::classify(&self.pending, Extent::Whole) {
                    self.begin(&block, start, out);
                    if let Place::Text(style) = self.place {
                        self.settle(style, out);
                        self.end_text(out);
                    }
                }
            }
        }
        self.pending.clear();
    }

    /// Enters a line whose kind is known; its text begins at `start` of what is pending.
    fn begin(&mut self, block: &Block, start: usize, out: &mut StyledText) {
        if *block != Block::TableRow {
            self.end_table(out);
        }
        if *block == Block::Blank {
            if self.gap == Gap::No {
                self.gap = Gap::Owed;
            }
            return;
        }
        if *block == Block::TableRow {
            self.table.push(self.pending.clone());
            if self.table.len() >= LONGEST_TABLE {
                self.end_table(out);
            }
            return;
        }
        self.owe_gap(out);
        let base = self.base;
        match block {
            Block::Blank | Block::TableRow => {}
            Block::Fence(fence) => {
                let word = self.pending.trim().trim_start_matches(['`', '~']).trim_start();
                word.split([' ', ',', '{']).next().unwrap_or_default().clone_into(&mut self.language);
                self.is_code_begun = false;
                self.place = Place::Code(*fence);
            }
            Block::Rule => {
                self.flow.begin(0, self.paint.sign("────────", "--------"), base.dim(), out);
                self.end_text(out);
            }
            Block::Heading(level) => {
                let style = if *level == 1 { base.bold().underline() } else { base.bold() };
                self.enter(0, "", style, style, out);
            }
            Block::Quote => self.enter(0, self.paint.sign("│ ", "| "), base.dim(), base.dim(), out),
            Block::Item { indent, number } => {
                let mark = match number {
                    Some(number) => format!("{} ", sanitize(number)),
                    None => self.paint.sign("• ", "- ").to_owned(),
                };
                self.enter(*indent, &mark, base, base, out);
            }
            Block::Text { indent } => self.enter(*indent, "", base, base, out),
        }
        self.pending.drain(..start.min(self.pending.len()));
    }

    fn enter(&mut self, indent: usize, lead: &str, lead_style: Style, style: Style, out: &mut StyledText) {
        self.flow.begin(indent, lead, lead_style, out);
        self.place = Place::Text(style);
    }

    fn settle(&mut self, style: Style, out: &mut StyledText) {
        let spans = inline::spans(&self.pending, style);
        self.flow.put(&spans, out);
        self.pending.clear();
    }

    fn end_text(&mut self, out: &mut StyledText) {
        self.flow.end(out);
        self.place = Place::Start;
    }

    fn end_table(&mut self, out: &mut StyledText) {
        let rows = std::mem::take(&mut self.table);
        if rows.is_empty() {
            return;
        }
        self.owe_gap(out);
        for line in table::lay_out(&rows, self.flow.room(), self.base, self.paint) {
            out.push_line(self.margin.clone());
            out.push_line(line);
            out.end_line();
        }
    }

    fn owe_gap(&mut self, out: &mut StyledText) {
        self.push_gap(out);
        self.gap = Gap::No;
    }

    fn push_gap(&self, out: &mut StyledText) {
        if self.gap == Gap::Owed {
            out.push_line(self.margin.clone());
            out.trim_open();
            out.end_line();
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::sample;
    use super::*;

    const TEXT: &str = "# Title\n\nSome **bold words** and `code with spaces`, a [link](http://a.b/c) and \
        a glob *.rs that stays as it is while the line goes on.\r\n\n\n- first item that is long enough to be \
        wrapped at sixty columns\n  - nested _item_\n10. ten\n\n> quoted\n```rust\nfn main() {\n\n\tlet *x = 1;\n}\n\
        ```\n| a | b |\n|---|---|\n| 1 | **2** |\n\n---\n世界 unclosed **mark\u{1b}[2J &#27;x\n\n";

    fn formatted(chunks: &[&str], look: super::super::Look) -> StyledText {
        let mut markdown = Markdown::new(Paint::new(look), Some(60), Style::PLAIN, "");
        let mut out = StyledText::default();
        for chunk in chunks {
            markdown.push(chunk, &mut out);
            markdown.draft();
        }
        markdown.finish(&mut out);
        assert!(markdown.draft().is_empty());
        out
    }

    #[test]
    fn blocks_are_laid_out() {
        expect![[r#"
            Title

            Some bold words and code with spaces, a link (http://a.b/c)
            and a glob *.rs that stays as it is while the line goes on.

            • first item that is long enough to be wrapped at sixty
              columns
              • nested item
            10. ten

            │ quoted
              fn main() {

                  let *x = 1;
              }
            a │ b
            ──┼──
            1 │ 2

            ────────
            世界 unclosed **mark␛[2J ␛x
        "#]]
        .assert_eq(&formatted(&[TEXT], sample::PIPE).text());
    }

    #[test]
    fn any_chunking_gives_the_same_output() {
        let whole = formatted(&[TEXT], sample::TERMINAL);
        for cut in (0..TEXT.len()).filter(|&cut| TEXT.is_char_boundary(cut)) {
            assert_eq!(formatted(&[&TEXT[..cut], &TEXT[cut..]], sample::TERMINAL), whole, "cut at {cut}");
        }
        let single: Vec<&str> = TEXT.split_inclusive(|_| true).collect();
        assert_eq!(formatted(&single, sample::TERMINAL), whole);
    }

    #[test]
    fn a_word_is_certain_at_its_end_and_a_draft_before() {
        let mut markdown = Markdown::new(Paint::new(sample::PIPE), Some(60), Style::PLAIN, "");
        let mut out = StyledText::default();
        markdown.push("one tw", &mut out);
        assert_eq!((out.text().as_str(), markdown.draft().text().as_str()), ("one", " tw"));
        markdown.push("o **thr", &mut out);
        assert_eq!((out.text().as_str(), markdown.draft().text().as_str()), ("one two", " **thr"));
        markdown.push("ee** ", &mut out);
        assert_eq!((out.text().as_str(), markdown.draft().text().as_str()), ("one two three", ""));
    }

    #[test]
    fn an_endless_line_with_an_open_mark_is_neither_held_back_nor_lost() {
        let text = format!("*open {}", "word ".repeat(10_000));
        let mut markdown = Markdown::new(Paint::new(sample::PIPE), Some(60), Style::PLAIN, "");
        let mut out = StyledText::default();
        markdown.push(&text, &mut out);
        assert!(markdown.draft().text().len() < LONGEST_PIECE * 2);
        assert!(markdown.draft().into_lines().len() <= DRAFT_ROWS);
        markdown.finish(&mut out);
        assert_eq!(out.text().matches("word").count(), 10_000);
    }
}
