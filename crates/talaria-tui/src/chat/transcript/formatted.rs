//! A message formatted for a width, as far as it has come: rows that stay, and a draft below them.
//!
//! Fed with what is new only. Lines of code are made here, since their colours come later, when they are in view.

use std::ops::Range;

use super::cell::Page;
use super::code::{Budget, Code, Looks, Place};
use super::wrap::{Break, rows, wrap};
use talaria_render::markdown::{CodeLine, Markdown};
use talaria_render::{Highlighter, Paint, Style, StyledLine, StyledText};

/// A message in rows.
#[derive(Debug)]
pub(super) struct Formatted {
    width: usize,
    base: Style,
    paint: Option<Paint>,
    markdown: Markdown,
    fed: usize,
    /// Output of the formatter whose line has not ended.
    open: StyledText,
    rows: Vec<StyledLine>,
    /// How many rows stay; the others are a draft.
    settled: usize,
    code: Vec<CodeRows>,
    is_ended: bool,
}

/// The rows of one line of code.
#[derive(Debug)]
struct CodeRows {
    rows: Range<usize>,
    place: Place,
    indent: usize,
    state: Light,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Light {
    Off,
    On,
}

impl Formatted {
    /// Nothing yet.
    pub(super) fn new(markdown: Markdown, width: usize, base: Style) -> Self {
        Self {
            width,
            base,
            paint: None,
            markdown,
            fed: 0,
            open: StyledText::default(),
            rows: Vec::new(),
            settled: 0,
            code: Vec::new(),
            is_ended: false,
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn rows(&self) -> &[StyledLine] {
        &self.rows
    }

    /// Feeds the new part of a text, which has two parts.
    pub(super) fn feed(&mut self, parts: [&str; 2], page: &Page<'_>, code: &mut Code) {
        self.rows.truncate(self.settled);
        self.paint = Some(page.paint);
        let mut before = 0;
        for part in parts {
            let from = self.fed.saturating_sub(before);
            if let Some(new) = part.get(from..).filter(|new| !new.is_empty()) {
                self.markdown.push(new, &mut self.open);
                self.fed = before + part.len();
                self.settle(page, code);
            }
            before += part.len();
        }
    }

    /// The text is complete.
    pub(super) fn finish(&mut self, page: &Page<'_>, code: &mut Code) {
        if !std::mem::replace(&mut self.is_ended, true) {
            self.markdown.finish(&mut self.open);
            self.settle(page, code);
        }
    }

    pub(super) fn draft(&self, page: &Page<'_>) -> Vec<StyledLine> {
        let mut text = self.open.clone();
        text.append(self.markdown.draft());
        if text.is_empty() { Vec::new() } else { rows(text, page.width, 0, Break::Anywhere) }
    }

    /// Shows this below the settled text.
    pub(super) fn put_draft(&mut self, draft: Vec<StyledLine>) {
        self.rows.truncate(self.settled);
        self.rows.extend(draft);
    }

    /// Highlights the code in these rows, within the budget. Returns whether more work remains.
    pub(super) fn light(
        &mut self,
        shown: Range<usize>,
        code: &mut Code,
        lights: &Highlighter,
        budget: &mut Budget,
    ) -> bool {
        let Some(paint) = self.paint else { return false };
        let first = self.code.partition_point(|line| line.rows.end <= shown.start);
        let mut is_more = false;
        for line in self.code[first..].iter_mut().take_while(|line| line.rows.start < shown.end) {
            if line.state == Light::On || !code.is_known(line.place, lights) {
                continue;
            }
            if !code.read(line.place, lights, budget) {
                is_more = true;
                break;
            }
            line.state = Light::On;
            let looks = Looks { paint, lights: Some(lights) };
            let lit = code_rows(code.line(line.place, self.base, looks), line.indent, self.width);
            if let Some(rows) = self.rows.get_mut(line.rows.clone()).filter(|rows| rows.len() == lit.len()) {
                rows.clone_from_slice(&lit);
            }
        }
        is_more
    }

    /// Makes rows of the lines that have ended.
    fn settle(&mut self, page: &Page<'_>, code: &mut Code) {
        let noted = self.markdown.take_code();
        let mut noted = noted.iter().peekable();
        for (at, line) in self.open.take_ended().into_iter().enumerate() {
            match noted.next_if(|noted| noted.at == at) {
                Some(noted) => self.put_code(noted, page, code),
                None => wrap(line, self.width, 0, Break::Anywhere, &mut self.rows),
            }
        }
        self.settled = self.rows.len();
    }

    fn put_code(&mut self, noted: &CodeLine, page: &Page<'_>, code: &mut Code) {
        let place = code.note(self.code.last().map(|line| line.place), noted);
        if let Some(lights) = page.lights {
            code.is_known(place, lights);
        }
        let looks = Looks { paint: page.paint, lights: page.lights };
        let start = self.rows.len();
        let rows = code_rows(code.line(place, self.base, looks), noted.indent, self.width);
        self.rows.extend(rows);
        let state = if code.is_read(place) { Light::On } else { Light::Off };
        self.code.push(CodeRows { rows: start..self.rows.len(), place, indent: noted.indent, state });
    }
}

/// Breaks a line of code; the rows that it continues in are indented as far.
fn code_rows(mut line: StyledLine, indent: usize, width: usize) -> Vec<StyledLine> {
    let mut rows = Vec::new();
    if !line.spans.is_empty() {
        let space = StyledLine::of(Style::PLAIN, " ".repeat(indent));
        line.spans.splice(..0, space.spans);
    }
    wrap(line, width, indent, Break::Anywhere, &mut rows);
    rows
}
