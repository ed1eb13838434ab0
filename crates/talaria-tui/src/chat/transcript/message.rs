//! Messages of the model: growing Markdown, and reasoning, which is folded.
//!
//! The text is fed to the formatter piece by piece; only another width, or a replaced text, restarts. Of a giant text the
//! beginning and the end are shown.

use std::ops::Range;

use super::cell::{Folding, Page};
use super::code::{Budget, Code};
use super::formatted::Formatted;
use super::kept::{Kept, Limits, missing_note};
use super::printed::KEY;
use super::wrap::{Break, rows, wrap};
use talaria_render::markdown::Markdown;
use talaria_render::{Color, Highlighter, Paint, Style, StyledLine, StyledText, cut, plain_line};

const LIMITS: Limits = Limits { head: 64 * 1024, tail: 8 * 1024 };

/// In front of what is struck out.
const INDENT: &str = "  ";

/// A window in which a thought in short does not name its key.
const NARROW: usize = 40;

/// Role of a message for its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    /// Meant for the reader.
    Answer,
    /// Said along the way.
    Commentary,
    /// The model's thinking.
    Thought,
}

/// Something that the model says.
#[derive(Debug)]
pub(super) struct Message {
    voice: Voice,
    text: Kept,
    is_ended: bool,
    /// Whether its end contained the whole text.
    is_whole: bool,
    /// Why it does not count, if it does not.
    void: Option<String>,
    sheet: Option<Formatted>,
    /// The one row of a thought that is shown in short.
    short: Vec<StyledLine>,
    code: Code,
}

impl Message {
    /// Nothing said yet.
    pub(super) fn new(voice: Voice) -> Self {
        Self {
            voice,
            text: Kept::new(LIMITS),
            is_ended: false,
            is_whole: false,
            void: None,
            sheet: None,
            short: Vec::new(),
            code: Code::default(),
        }
    }

    /// Takes a piece.
    pub(super) fn push(&mut self, delta: &str) {
        let was_whole = self.text.parts().missing == 0;
        self.text.push(delta);
        if was_whole && self.text.parts().missing > 0 {
            self.sheet = None;
        }
    }

    /// The next piece may not be contiguous.
    pub(super) fn cut(&mut self) {
        self.push(self.text.cut());
    }

    /// Prepends earlier text.
    pub(super) fn push_front(&mut self, earlier: &str) {
        self.text.push_front(earlier);
        self.sheet = None;
    }

    /// Ends it with the whole text. Nothing said at the end leaves what was said before.
    pub(super) fn complete(&mut self, text: &str) {
        self.is_ended = true;
        self.is_whole = !text.is_empty() || self.text.total() == 0;
        if text.is_empty() {
            return;
        }
        let whole = Kept::of(text, LIMITS);
        if whole.total() != self.text.total() || whole.parts() != self.text.parts() {
            self.text = whole;
            self.sheet = None;
        }
    }

    /// Says that it is not part of the conversation.
    pub(super) fn make_void(&mut self, why: &str) {
        self.void = Some(why.to_owned());
        self.sheet = None;
    }

    /// Nothing more will come.
    pub(super) fn leave(&mut self) {
        self.is_ended = true;
    }

    /// Sets its role for the reader.
    pub(super) fn speak(&mut self, voice: Voice) {
        if self.voice != voice {
            self.voice = voice;
            self.sheet = None;
        }
    }

    /// May more come?
    pub(super) fn is_open(&self) -> bool {
        !self.is_ended
    }

    /// Whether its end contained the whole text, so that no piece can be missing.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether it is meant for the reader.
    pub(super) fn is_answer(&self) -> bool {
        self.voice == Voice::Answer && self.void.is_none()
    }

    /// Is it shown in short until it is unfolded?
    pub(super) fn is_foldable(&self) -> bool {
        self.is_thought() || self.void.is_some()
    }

    /// Is it the model's thinking?
    pub(super) fn is_thought(&self) -> bool {
        self.voice == Voice::Thought
    }

    /// Its memory use, without rows.
    pub(super) fn weight(&self) -> usize {
        size_of::<Self>()
            + self.void.as_ref().map_or(0, String::len)
            + self.text.weight()
            + self.code.weight()
    }

    /// Forgets its rows.
    pub(super) fn forget(&mut self) {
        self.sheet = None;
        self.short = Vec::new();
        self.code.clear();
    }

    /// Its rows; laid out before.
    pub(super) fn rows(&self) -> &[StyledLine] {
        self.sheet.as_ref().map_or(&self.short, Formatted::rows)
    }

    /// Lays out what has come since.
    pub(super) fn lay_out(&mut self, page: &Page<'_>) {
        if let Some(why) = &self.void {
            self.sheet = None;
            self.short = self.struck_out(why, page);
            return;
        }
        if self.is_thought() && page.fold == Folding::Folded {
            self.sheet = None;
            self.short = vec![self.in_short(page)];
            return;
        }
        self.short = Vec::new();
        let mut sheet = match self.sheet.take().filter(|sheet| sheet.width() == page.width) {
            Some(sheet) => sheet,
            None => Formatted::new(self.markdown(page), page.width, page.paint.seen(self.style())),
        };
        self.feed(&mut sheet, page);
        self.sheet = Some(sheet);
    }

    /// Highlights the code in these rows, within the budget. Returns whether more work remains.
    pub(super) fn light(&mut self, shown: Range<usize>, lights: &Highlighter, budget: &mut Budget) -> bool {
        self.sheet.as_mut().is_some_and(|sheet| sheet.light(shown, &mut self.code, lights, budget))
    }

    fn style(&self) -> Style {
        match self.voice {
            Voice::Answer => Style::PLAIN,
            Voice::Commentary => Style::DIM,
            Voice::Thought => Style::DIM.italic(),
        }
    }

    fn margin(&self, paint: Paint) -> &'static str {
        if self.is_thought() { paint.sign("┆ ", ": ") } else { "" }
    }

    fn markdown(&self, page: &Page<'_>) -> Markdown {
        let markdown = Markdown::new(page.paint, Some(page.paper()), self.style(), self.margin(page.paint));
        // Rebuilt lines of code have no margin.
        if self.is_thought() { markdown } else { markdown.with_code() }
    }

    fn feed(&mut self, sheet: &mut Formatted, page: &Page<'_>) {
        let parts = self.text.parts();
        // With a gap, only the beginning of the text is fed.
        let follows = if parts.missing == 0 { parts.tail } else { "" };
        sheet.feed([parts.head, follows], page, &mut self.code);
        if self.is_ended || parts.missing > 0 {
            sheet.finish(page, &mut self.code);
        }
        let mut draft = sheet.draft(page);
        if let Some(note) = missing_note(parts.missing) {
            draft.extend(rows(page.paint.text(Style::DIM, &note), page.width, 2, Break::Words));
            let mut out = StyledText::default();
            let mut markdown = self.markdown(page);
            markdown.push(parts.tail, &mut out);
            if self.is_ended {
                markdown.finish(&mut out);
            }
            out.append(markdown.draft());
            draft.extend(rows(out, page.width, 0, Break::Anywhere));
        }
        sheet.put_draft(draft);
    }

    /// That it does not count and why, and below it its words, struck out: the first ones, or all.
    fn struck_out(&self, why: &str, page: &Page<'_>) -> Vec<StyledLine> {
        let what = if self.is_thought() { "thought" } else { "text" };
        let mark = page.paint.sign("✗", "x");
        let notice = plain_line(&format!("{mark} this {what} does not count: {why}")).into_owned();
        let notice = page.paint.line(Style::PLAIN.color(Color::Yellow), &notice);
        let mut out = Vec::new();
        wrap(notice, page.width, INDENT.len(), Break::Words, &mut out);
        let struck = Style::DIM.strike();
        let parts = self.text.parts();
        if page.fold == Folding::Unfolded {
            let missing = missing_note(parts.missing).unwrap_or_default();
            for text in [parts.head, &missing, parts.tail] {
                for line in text.lines() {
                    let line = format!("{INDENT}{}", plain_line(line));
                    wrap(page.paint.line(struck, &line), page.width, INDENT.len(), Break::Words, &mut out);
                }
            }
            return out;
        }
        let words = parts.head.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let more = page.paint.sign(" …", " ...");
        let key = if page.width < NARROW { String::new() } else { format!(" ({KEY})") };
        let text = format!("{INDENT}{}{more}", plain_line(words.trim()));
        let text = cut(&text, page.width.saturating_sub(key.len()), page.paint);
        let mut row = page.paint.line(struck, &text);
        row.append(page.paint.line(Style::DIM, &key));
        wrap(row, page.width, 0, Break::Anywhere, &mut out);
        out
    }

    /// One row: that there is a thought, and its first words.
    fn in_short(&self, page: &Page<'_>) -> StyledLine {
        let is_mark = |c: char| matches!(c, '*' | '#' | '_' | '`' | ' ');
        let parts = self.text.parts();
        let words = parts.head.lines().map(|line| line.trim_matches(is_mark)).find(|line| !line.is_empty());
        let more = if self.is_ended { "" } else { page.paint.sign(" …", " ...") };
        let text = format!("{}{}{more}", self.margin(page.paint), plain_line(words.unwrap_or("thinking")));
        let key = format!(" ({KEY})");
        // In a narrow window its words have the row.
        let key = if page.width < NARROW { "" } else { key.as_str() };
        let text = cut(&text, page.width.saturating_sub(key.len()), page.paint) + key;
        let mut row = Vec::new();
        wrap(page.paint.line(self.style(), &text), page.width, 0, Break::Anywhere, &mut row);
        row.into_iter().next().unwrap_or_default()
    }
}
