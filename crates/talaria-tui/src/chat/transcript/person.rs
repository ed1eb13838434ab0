//! Input of the person, with a bar in front. Long pastes are folded.

use talaria_core::item::Attachment;
use talaria_guard::plain::reveal_line;

use super::cell::{Folding, Page};
use super::kept::{Kept, Limits};
use super::printed::more_lines;
use super::wrap::{Break, wrap};
use crate::chat::images;
use talaria_render::{Color, Style, StyledLine, plain, plain_line};

const LIMITS: Limits = Limits { head: 32 * 1024, tail: 8 * 1024 };
/// Lines that are shown of a long one.
const FEW: usize = 12;

/// Input of the person.
#[derive(Debug)]
pub(super) struct Person {
    text: Kept,
    /// Parts that the text does not name.
    attachments: Vec<String>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Typed here; no event has confirmed it.
    Pending,
    /// Codex has it.
    Said,
}

impl Person {
    /// Sent input that is not confirmed.
    pub(super) fn pending(text: &str, images: &[String]) -> Self {
        let image = |path: &String| Attachment { kind: "image".to_owned(), name: Some(path.clone()) };
        let attachments: Vec<_> = images.iter().map(image).collect();
        Self { state: State::Pending, ..Self::said(text, &attachments) }
    }

    /// Input confirmed by Codex.
    pub(super) fn said(text: &str, attachments: &[Attachment]) -> Self {
        let told = |one: &Attachment| match &one.name {
            Some(name) => named(&one.kind, name),
            None => plain_line(&one.to_string()).into_owned(),
        };
        let images: Vec<&str> = attachments.iter().filter_map(image_path).collect();
        let mut places = images::places(text, &images).into_iter();
        let is_unnamed = |one: &&Attachment| image_path(one).is_none() || places.next().flatten().is_none();
        let attachments = attachments.iter().filter(is_unnamed).map(told).collect();
        Self { text: Kept::of(text, LIMITS), attachments, state: State::Said }
    }

    /// Is it yet to be confirmed?
    pub(super) fn is_pending(&self) -> bool {
        self.state == State::Pending
    }

    pub(super) fn is(&self, text: &str) -> bool {
        let other = Kept::of(text, LIMITS);
        (self.text.total(), self.text.parts()) == (other.total(), other.parts())
            || self.text.text().trim() == other.text().trim()
    }

    /// The text, as far as it is here.
    pub(super) fn text(&self) -> String {
        self.text.text()
    }

    /// Is it shown in short?
    pub(super) fn is_long(&self) -> bool {
        self.text.lines() > FEW
    }

    /// Its memory use.
    pub(super) fn weight(&self) -> usize {
        self.text.weight() + self.attachments.iter().map(String::len).sum::<usize>()
    }

    pub(super) fn rows(&self, page: &Page<'_>) -> Vec<StyledLine> {
        let (bar, text_style, note) = match self.state {
            State::Pending => (Style::DIM, Style::DIM, Some("not confirmed yet")),
            State::Said => (Style::PLAIN.color(Color::Cyan), Style::BOLD, None),
        };
        let paint = page.paint;
        let shown = self.text.shown();
        let text = plain(shown.trim_end());
        let lines: Vec<&str> = text.split('\n').collect();
        let few =
            if page.fold == Folding::Folded && self.is_long() { FEW.min(lines.len()) } else { lines.len() };
        let mut rows = Vec::new();
        let mut put = |style: Style, text: &str| {
            wrap(paint.line(style, text), page.width.saturating_sub(2).max(1), 0, Break::Words, &mut rows);
        };
        let has_text = !text.is_empty() || self.attachments.is_empty();
        lines[..few].iter().filter(|_| has_text).for_each(|line| put(text_style, line));
        if few < lines.len() {
            put(Style::DIM, &more_lines(lines.len() - few, page));
        }
        self.attachments.iter().for_each(|attachment| put(Style::DIM, attachment));
        note.into_iter().for_each(|note| put(Style::DIM, note));
        if page.width < 4 {
            return rows;
        }
        let bar = paint.line(bar, paint.sign("▌ ", "> "));
        rows.iter_mut().for_each(|row| row.spans.splice(..0, bar.spans.iter().cloned()).for_each(drop));
        rows
    }
}

fn image_path(attachment: &Attachment) -> Option<&str> {
    attachment.name.as_deref().filter(|_| attachment.kind == "image")
}

/// Something that was sent along, by the last part of its name, as the input line shows it.
fn named(kind: &str, name: &str) -> String {
    let short = name.rsplit('/').find(|part| !part.is_empty()).unwrap_or(name);
    reveal_line(&format!("[{kind} {short}]")).into_owned()
}
