//! Styles and signs as far as the output can show them: without colour every style is plain, and without Unicode our own
//! signs are ASCII. Foreign text is unchanged.

use unicode_width::UnicodeWidthStr;

use super::Look;
use super::style::Style;
use super::styled::{StyledLine, StyledText};

/// Applies styles to text, as far as the output can show them.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    color: bool,
    unicode: bool,
}

impl Paint {
    /// Takes what the output can do.
    pub fn new(look: Look) -> Self {
        Self { color: look.color, unicode: look.unicode }
    }

    /// Appends text in a style. A line feed ends a line.
    pub fn push(self, out: &mut StyledText, style: Style, text: &str) {
        out.push(self.seen(style), text);
    }

    /// Returns text in a style. A line feed ends a line.
    pub fn text(self, style: Style, text: &str) -> StyledText {
        StyledText::of(self.seen(style), text)
    }

    /// Returns one line in a style.
    pub fn line(self, style: Style, text: &str) -> StyledLine {
        let mut line = StyledLine::default();
        line.push(self.seen(style), text);
        line
    }

    /// Returns how much of a style the output can show.
    pub fn seen(self, style: Style) -> Style {
        if self.color { style } else { Style::PLAIN }
    }

    /// Picks one of two spellings of a sign of ours.
    pub fn sign(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }
}

/// Cuts text to a width, with a sign where something is missing.
pub fn cut(text: &str, width: usize, paint: Paint) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mark = paint.sign("…", "~");
    let (mut out, mut used) = (String::new(), mark.width());
    for c in text.chars() {
        used += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if used > width {
            break;
        }
        out.push(c);
    }
    out + mark
}

#[cfg(test)]
mod tests {
    use super::super::{Color, sample};
    use super::*;

    #[test]
    fn without_colour_every_style_is_plain() {
        let style = Style::BOLD.color(Color::Red).underline();
        assert_eq!(Paint::new(sample::PIPE).text(style, "x"), StyledText::plain("x"));
        assert_eq!(Paint::new(sample::TERMINAL).text(style, "x"), StyledText::of(style, "x"));
    }

    #[test]
    fn a_cut_text_fits_with_its_mark() {
        assert_eq!(cut("世界世界", 5, Paint::new(sample::TERMINAL)), "世界…");
    }
}
