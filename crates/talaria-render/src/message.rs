//! Messages as they are written: deltas by item, the completed text as the truth.
//!
//! Produces text and drafts; the caller writes them. Markdown is formatted if there are colours, and unchanged
//! otherwise: a log or a pipe then has the model's own text.

use std::collections::HashMap;

use talaria_core::ids::ItemId;

use super::Look;
use super::markdown::Markdown;
use super::paint::Paint;
use super::sanitize::Cleaner;
use super::style::Style;
use super::styled::StyledText;

/// Role of a message for its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Voice {
    /// Meant for the reader.
    Answer,
    /// Said along the way.
    Commentary,
    /// The model's thinking.
    Reasoning,
}

/// A message that is being written.
#[derive(Debug)]
pub(crate) struct Message {
    item: ItemId,
    voice: Voice,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Formatted(Box<Markdown>),
    AsItCame { cleaner: Cleaner, margin: &'static str, is_row_begun: bool },
}

impl Message {
    /// Begins a message at the beginning of a row.
    pub(crate) fn new(item: ItemId, voice: Voice, look: Look, paint: Paint) -> Self {
        let (style, margin) = match voice {
            Voice::Answer => (Style::PLAIN, ""),
            Voice::Commentary if look.color => (Style::DIM, ""),
            Voice::Commentary => (Style::DIM, paint.sign("· ", "- ")),
            Voice::Reasoning => (Style::DIM.italic(), paint.sign("┆ ", ": ")),
        };
        let body = if look.color {
            Body::Formatted(Box::new(Markdown::new(paint, look.width, style, margin)))
        } else {
            Body::AsItCame { cleaner: Cleaner::default(), margin, is_row_begun: false }
        };
        Self { item, voice, body }
    }

    /// Whose deltas it takes.
    pub(crate) fn is(&self, item: &ItemId, voice: Voice) -> bool {
        self.item == *item && self.voice == voice
    }

    /// Processes a piece and appends the settled text.
    pub(crate) fn push(&mut self, text: &str, out: &mut StyledText) {
        match &mut self.body {
            Body::Formatted(markdown) => markdown.push(text, out),
            Body::AsItCame { cleaner, margin, is_row_begun } => {
                let mut clean = String::with_capacity(text.len());
                cleaner.push(text, &mut clean);
                for row in clean.split_inclusive('\n') {
                    if !std::mem::replace(is_row_begun, !row.ends_with('\n')) {
                        out.push_plain(margin);
                    }
                    out.push_plain(row);
                }
            }
        }
    }

    /// Lays out what follows in this width.
    pub(crate) fn resize(&mut self, width: usize) {
        match &mut self.body {
            Body::Formatted(markdown) => markdown.resize(width),
            Body::AsItCame { .. } => {}
        }
    }

    /// Ends the message.
    pub(crate) fn finish(mut self, out: &mut StyledText) {
        match &mut self.body {
            Body::Formatted(markdown) => markdown.finish(out),
            Body::AsItCame { cleaner, .. } => {
                let mut clean = String::new();
                cleaner.finish(&mut clean);
                out.push_plain(&clean);
            }
        }
    }

    pub(crate) fn draft(&self) -> StyledText {
        match &self.body {
            Body::Formatted(markdown) => markdown.draft(),
            Body::AsItCame { .. } => StyledText::default(),
        }
    }
}

/// The streamed text of each incomplete message.
#[derive(Debug, Default)]
pub(crate) struct Streamed(HashMap<ItemId, String>);

/// The rest of a completed message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Remainder<'a> {
    /// Everything was shown.
    Nothing,
    /// This follows what was shown.
    End(&'a str),
    /// Nothing was shown: all of it.
    Whole(&'a str),
    /// Something else was shown: all of it, and a word about that.
    Instead(&'a str),
}

impl Streamed {
    /// Notes a piece.
    pub(crate) fn push(&mut self, item: &ItemId, delta: &str) {
        match self.0.get_mut(item) {
            Some(text) => text.push_str(delta),
            None => {
                self.0.insert(item.clone(), delta.to_owned());
            }
        }
    }

    /// Was any of it shown?
    pub(crate) fn take(&mut self, item: &ItemId) -> Option<String> {
        self.0.remove(item)
    }

    /// Compares a completed text with what was shown of it, and forgets it.
    pub(crate) fn complete<'a>(&mut self, item: &ItemId, text: &'a str) -> Remainder<'a> {
        let shown = self.take(item).unwrap_or_default();
        match text.strip_prefix(shown.as_str()) {
            Some("") => Remainder::Nothing,
            Some(_) if shown.is_empty() => Remainder::Whole(text),
            Some(end) => Remainder::End(end),
            None if text.trim_end() == shown.trim_end() => Remainder::Nothing,
            None => Remainder::Instead(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_completed_text_is_the_truth() {
        let item = ItemId::new("m");
        let cases = [
            ("", "all", Remainder::Whole("all")),
            ("al", "all", Remainder::End("l")),
            ("all", "all", Remainder::Nothing),
            ("all\n", "all", Remainder::Nothing),
            ("retried", "all", Remainder::Instead("all")),
            ("", "", Remainder::Nothing),
        ];
        for (shown, text, expected) in cases {
            let mut streamed = Streamed::default();
            streamed.push(&item, shown);
            assert_eq!(streamed.complete(&item, text), expected, "{shown:?} then {text:?}");
            assert_eq!(streamed.take(&item), None);
        }
    }
}
