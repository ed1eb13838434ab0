//! Single lines: notices of the turn, and messages of the chat itself.

use super::cell::{Page, Section};
use super::kept::{Kept, Limits};
use super::wrap::{Break, rows, wrap};
use super::{Note, Tone};
use talaria_render::{Color, Style, StyledLine, StyledText, counted, cut, plain, plain_line};

const LIMITS: Limits = Limits { head: 64 * 1024, tail: 16 * 1024 };

/// How wide the names are in what is in force.
const HEAD_COLUMNS: usize = 10;

/// Words with a weight.
#[derive(Debug)]
pub(super) struct Remark {
    weight: Weight,
    text: StyledText,
    count: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// It is dimmed.
    Aside,
    /// It is worth a look.
    Warning,
    /// The settings in force, styled.
    Head,
    /// A word of the chat, in its own styles.
    Ours(Tone),
    /// A command that was typed.
    Echo,
}

impl Remark {
    /// A dimmed line. The words may be anyone's.
    pub(super) fn aside(text: &str) -> Self {
        Self::new(Weight::Aside, text)
    }

    /// A line worth a look. The words may be anyone's.
    pub(super) fn warning(text: &str) -> Self {
        Self::new(Weight::Warning, text)
    }

    /// The settings in force.
    pub(super) fn head(text: StyledText) -> Self {
        Self { weight: Weight::Head, text, count: 1 }
    }

    /// A word of the chat.
    pub(super) fn ours(note: Note) -> Self {
        Self { weight: Weight::Ours(note.tone), text: shortened(note.text), count: 1 }
    }

    /// A command that was typed, so that what follows can be distinguished from earlier output.
    pub(super) fn echo(text: &str) -> Self {
        Self { weight: Weight::Echo, text: plain_line(text).as_ref().into(), count: 1 }
    }

    fn new(weight: Weight, text: &str) -> Self {
        let text = Kept::of(text.trim_end(), LIMITS).shown();
        Self { weight, text: plain(&text).as_ref().into(), count: 1 }
    }

    /// The same was said again.
    pub(super) fn repeat(&mut self) {
        self.count += 1;
    }

    /// Kind of block, for spacing.
    pub(super) fn section(&self) -> Section {
        match self.weight {
            Weight::Head => Section::Head,
            Weight::Echo => Section::Echo,
            Weight::Ours(Tone::Info) => Section::Reply,
            Weight::Aside | Weight::Warning | Weight::Ours(_) => Section::Step,
        }
    }

    /// Its memory use.
    pub(super) fn weight(&self) -> usize {
        self.text.weight()
    }

    pub(super) fn rows(&self, page: &Page<'_>) -> Vec<StyledLine> {
        let style = match self.weight {
            Weight::Head => return rows(self.text.clone(), page.width, HEAD_COLUMNS, Break::Words),
            Weight::Echo => {
                let sign = page.paint.sign("›", ">");
                let line = cut(&format!("{sign} {}", self.text.text()), page.width, page.paint);
                return rows(page.paint.text(Style::DIM, &line), page.width, 0, Break::Anywhere);
            }
            Weight::Ours(Tone::Info) => return rows(self.text.clone(), page.width, 0, Break::Words),
            Weight::Aside => Style::DIM,
            Weight::Warning | Weight::Ours(Tone::Warn) => Style::PLAIN.color(Color::Yellow),
            Weight::Ours(Tone::Bad) => Style::PLAIN.color(Color::Red),
        };
        let mut out = Vec::new();
        for line in counted(&self.text.text(), self.count, page.paint).split('\n') {
            wrap(page.paint.line(style, line), page.width, 2, Break::Words, &mut out);
        }
        out
    }
}

/// A text that is too long without its middle, and then without its styles.
fn shortened(text: StyledText) -> StyledText {
    if text.weight() <= LIMITS.head + LIMITS.tail {
        return text;
    }
    match text.text() {
        long if long.len() > LIMITS.head + LIMITS.tail => Kept::of(&long, LIMITS).shown().into(),
        _ => text,
    }
}
