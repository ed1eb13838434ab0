//! Colours and signs. The one place that knows escape sequences for looks; `canvas` knows those that move the cursor.
//!
//! Without colour nothing here writes an escape. Without Unicode our own signs are ASCII; the text of others stays.

use unicode_width::UnicodeWidthStr;

use super::Look;

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    strike: bool,
    color: Option<Color>,
}

/// The colours in use, from the terminal's own palette.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Bad, or taken away.
    Red,
    /// Good, or added.
    Green,
    /// Worth a look.
    Yellow,
    /// Code, and places.
    Cyan,
    /// Names of what is done, in code.
    Blue,
    /// Words of a language, in code.
    Magenta,
}

impl Style {
    /// As the terminal has it.
    pub const PLAIN: Self =
        Self { bold: false, dim: false, italic: false, underline: false, strike: false, color: None };
    /// Stands back.
    pub const DIM: Self = Self::PLAIN.dim();
    /// Stands out.
    pub const BOLD: Self = Self::PLAIN.bold();

    /// Adds bold.
    pub const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// Adds faint.
    pub const fn dim(self) -> Self {
        Self { dim: true, ..self }
    }

    /// Adds italic.
    pub const fn italic(self) -> Self {
        Self { italic: true, ..self }
    }

    /// Adds a line below.
    pub const fn underline(self) -> Self {
        Self { underline: true, ..self }
    }

    /// Adds a line through.
    pub const fn strike(self) -> Self {
        Self { strike: true, ..self }
    }

    /// Sets the colour.
    pub const fn color(self, color: Color) -> Self {
        Self { color: Some(color), ..self }
    }

    /// Does it stand out?
    pub const fn is_bold(self) -> bool {
        self.bold
    }

    /// Does it stand back?
    pub const fn is_dim(self) -> bool {
        self.dim
    }

    /// Is it italic?
    pub const fn is_italic(self) -> bool {
        self.italic
    }

    /// Is there a line below?
    pub const fn is_underlined(self) -> bool {
        self.underline
    }

    /// Is there a line through it?
    pub const fn is_struck(self) -> bool {
        self.strike
    }

    /// Its colour, if it has one.
    pub const fn hue(self) -> Option<Color> {
        self.color
    }

    /// Reads the numbers between `ESC [` and `m`, as `codes` gives them.
    pub fn from_codes(codes: &str) -> Self {
        codes.split(';').fold(Self::PLAIN, |style, code| match code {
            "1" => style.bold(),
            "2" => style.dim(),
            "3" => style.italic(),
            "4" => style.underline(),
            "9" => style.strike(),
            "31" => style.color(Color::Red),
            "32" => style.color(Color::Green),
            "33" => style.color(Color::Yellow),
            "34" => style.color(Color::Blue),
            "35" => style.color(Color::Magenta),
            "36" => style.color(Color::Cyan),
            _ => style,
        })
    }

    fn codes(self) -> impl Iterator<Item = &'static str> {
        let color = self.color.map(|color| match color {
            Color::Red => "31",
            Color::Green => "32",
            Color::Yellow => "33",
            Color::Cyan => "36",
            Color::Blue => "34",
            Color::Magenta => "35",
        });
        let flags = [
            (self.bold, "1"),
            (self.dim, "2"),
            (self.italic, "3"),
            (self.underline, "4"),
            (self.strike, "9"),
        ];
        flags.into_iter().filter_map(|(is_set, code)| is_set.then_some(code)).chain(color)
    }
}

/// Puts looks on text, as far as the output can show them.
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

    /// Appends text in a style.
    pub fn push(self, out: &mut String, style: Style, text: &str) {
        if !self.color || style == Style::PLAIN || text.is_empty() {
            out.push_str(text);
            return;
        }
        out.push_str("\x1b[");
        for (index, code) in style.codes().enumerate() {
            if index > 0 {
                out.push(';');
            }
            out.push_str(code);
        }
        out.push('m');
        out.push_str(text);
        out.push_str("\x1b[0m");
    }

    /// Gives text in a style.
    pub fn text(self, style: Style, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 8);
        self.push(&mut out, style, text);
        out
    }

    /// How much of a style the output can show.
    pub fn seen(self, style: Style) -> Style {
        if self.color { style } else { Style::PLAIN }
    }

    /// Picks one of two spellings of a sign of ours.
    pub fn sign(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }
}

/// Counts the columns that text takes, escape sequences for looks left out.
pub(crate) fn visible_width(text: &str) -> usize {
    shown(text).map(UnicodeWidthStr::width).sum()
}

/// Gives the pieces of text between escape sequences for looks.
pub(crate) fn shown(text: &str) -> impl Iterator<Item = &str> {
    let mut parts = text.split('\x1b');
    let first = parts.next();
    first.into_iter().chain(parts.filter_map(|part| part.split_once('m').map(|(_, shown)| shown)))
}

/// Cuts text without escapes to a width, with a sign where something is missing.
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
    use super::super::sample;
    use super::*;

    #[test]
    fn without_colour_no_escape_is_written() {
        let style = Style::BOLD.color(Color::Red).underline();
        assert_eq!(Paint::new(sample::PIPE).text(style, "x"), "x");
        assert_eq!(Paint::new(sample::TERMINAL).text(style, "x"), "\x1b[1;4;31mx\x1b[0m");
    }

    #[test]
    fn width_counts_wide_characters_and_no_escapes() {
        assert_eq!(visible_width("\x1b[1;4;31m世界\x1b[0m!"), 5);
        assert_eq!(cut("世界世界", 5, Paint::new(sample::TERMINAL)), "世界…");
    }
}
