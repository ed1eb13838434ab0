//! Styled text as bytes for a terminal: the one place that writes escape sequences.
//!
//! Called where a terminal or a pipe is written, never by a producer of text. Without colour no escape is written.

use std::fmt::Write as _;

use super::Look;
use super::style::{Color, Style};
use super::styled::{StyledLine, StyledText};

/// Returns to the beginning of the row and erases it: for a line that is redrawn repeatedly.
pub const ERASE_ROW: &str = "\r\x1b[K";

/// Returns a text as an output with this look takes it.
pub fn encode(text: &StyledText, look: Look) -> String {
    let mut out = String::new();
    push_text(&mut out, text, look);
    out
}

/// Appends a text.
pub(crate) fn push_text(out: &mut String, text: &StyledText, look: Look) {
    for line in text.ended() {
        push_line(out, line, look);
        out.push('\n');
    }
    push_line(out, text.open(), look);
}

/// Appends a line without its end.
pub(crate) fn push_line(out: &mut String, line: &StyledLine, look: Look) {
    for span in &line.spans {
        if !look.color || span.style == Style::PLAIN || span.text.is_empty() {
            out.push_str(&span.text);
            continue;
        }
        out.push_str("\x1b[");
        for (index, code) in codes(span.style).enumerate() {
            if index > 0 {
                out.push(';');
            }
            out.push_str(code);
        }
        out.push('m');
        out.push_str(&span.text);
        out.push_str("\x1b[0m");
    }
}

/// Appends the way back: this many rows up, to a column, and everything from there on erased.
pub(crate) fn push_erasure(out: &mut String, up: usize, column: usize) {
    // Writing into a string cannot fail.
    if up > 0 {
        write!(out, "\x1b[{up}A").unwrap_or_default();
    }
    out.push('\r');
    if column > 0 {
        write!(out, "\x1b[{column}C").unwrap_or_default();
    }
    out.push_str("\x1b[J");
}

fn codes(style: Style) -> impl Iterator<Item = &'static str> {
    let color = style.hue().map(|color| match color {
        Color::Red => "31",
        Color::Green => "32",
        Color::Yellow => "33",
        Color::Cyan => "36",
        Color::Blue => "34",
        Color::Magenta => "35",
    });
    let flags = [
        (style.is_bold(), "1"),
        (style.is_dim(), "2"),
        (style.is_italic(), "3"),
        (style.is_underlined(), "4"),
        (style.is_struck(), "9"),
    ];
    flags.into_iter().filter_map(|(is_set, code)| is_set.then_some(code)).chain(color)
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn without_colour_no_escape_is_written() {
        let mut text = StyledText::of(Style::BOLD.color(Color::Red).underline(), "x\ny");
        text.push_plain("z");
        assert_eq!(encode(&text, sample::PIPE), "x\nyz");
        assert_eq!(encode(&text, sample::TERMINAL), "\x1b[1;4;31mx\x1b[0m\n\x1b[1;4;31my\x1b[0mz");
    }
}
