//! A row of styled text, read back from the form in which `render` writes it.
//!
//! Styled text of ours is a string with the escape sequences of `render::style` and no others: the words of other
//! people have lost theirs before they get there. So what `render` makes is shown here too, and is not made twice.

use unicode_width::UnicodeWidthStr;

use talaria_render::Style;

/// One row, or a line that is yet to be broken into rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Its pieces, from left to right.
    pub spans: Vec<Span>,
}

/// Text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The text, without escapes.
    pub text: String,
    /// How it looks.
    pub style: Style,
}

impl Line {
    /// One piece of text.
    pub fn of(style: Style, text: impl Into<String>) -> Self {
        Self { spans: vec![Span { text: text.into(), style }] }
    }

    /// Reads a row that `render` wrote.
    pub fn read(text: &str) -> Self {
        let mut line = Self::default();
        let mut style = Style::PLAIN;
        for (at, part) in text.split("\x1b[").enumerate() {
            let shown = match part.split_once('m').filter(|_| at > 0) {
                Some((codes, shown)) => {
                    style = Style::from_codes(codes);
                    shown
                }
                None => part,
            };
            line.push(style, shown);
        }
        line
    }

    /// Reads all rows of a text that `render` wrote.
    pub fn read_all(text: &str) -> Vec<Self> {
        text.strip_suffix('\n').unwrap_or(text).split('\n').map(Self::read).collect()
    }

    /// Appends text.
    pub fn push(&mut self, style: Style, text: &str) {
        if !text.is_empty() {
            self.spans.push(Span { text: text.to_owned(), style });
        }
    }

    /// How many columns it takes.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// The text without looks.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }
}

/// Of the same words, the longest first, those that fit; the last ones if none do.
pub(super) fn fitting<'a>(words: &[&'a str], width: usize) -> &'a str {
    let fits = words.iter().find(|words| words.width() <= width);
    fits.or(words.last()).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use talaria_render::{Color, Look, Paint};

    #[test]
    fn what_render_writes_is_read_back() {
        let paint = Paint::new(Look { color: true, width: None, live: true, unicode: true });
        let strong = Style::BOLD.color(Color::Red).underline();
        let text =
            format!("a{}b{}", paint.text(strong, "m[x"), paint.text(Style::DIM.italic().strike(), "世"));
        let line = Line::read(&text);
        let told: Vec<_> = line.spans.iter().map(|span| (span.text.as_str(), span.style)).collect();
        let dim = Style::DIM.italic().strike();
        assert_eq!(told, [("a", Style::PLAIN), ("m[x", strong), ("b", Style::PLAIN), ("世", dim)]);
        assert_eq!((line.width(), line.text().as_str()), (7, "am[xb世"));
    }
}
