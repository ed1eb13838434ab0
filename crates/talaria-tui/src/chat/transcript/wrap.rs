//! Lines broken into rows that fit. The last word on width: whatever was laid out before, no row that leaves here is wider
//! than the window.
//!
//! Breaks between graphemes only, so that marks stay on their letters. Knows nothing of what the text means.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use talaria_render::{Style, StyledLine, StyledText};

/// Where a line may be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Break {
    /// Between words, where there are any. The space at the break is dropped.
    Words,
    /// Anywhere: nothing is left out.
    Anywhere,
}

/// What takes the place of a character that is wider than the window.
const TOO_WIDE: &str = "?";

struct Grapheme<'a> {
    text: &'a str,
    width: usize,
    style: Style,
}

/// Breaks a text into rows. Every row but a line's first is indented by `hang`.
pub(super) fn rows(text: StyledText, width: usize, hang: usize, at: Break) -> Vec<StyledLine> {
    let mut rows = Vec::new();
    for line in text.into_lines() {
        wrap(line, width, hang, at, &mut rows);
    }
    rows
}

/// Breaks one line into rows.
pub(super) fn wrap(line: StyledLine, width: usize, hang: usize, at: Break, out: &mut Vec<StyledLine>) {
    if line.width() <= width {
        out.push(line);
        return;
    }
    let width = width.max(1);
    let graphemes: Vec<Grapheme<'_>> = line
        .spans
        .iter()
        .flat_map(|span| {
            span.text.graphemes(true).map(|text| Grapheme { text, width: text.width(), style: span.style })
        })
        .collect();
    let hang = hang.min(width / 2);
    let (mut start, mut indent) = (0, 0);
    while start < graphemes.len() {
        let (row, end) = next_row(&graphemes[start..], width - indent, indent, at);
        out.push(row);
        start += end;
        indent = hang;
    }
}

/// The first row, and how many graphemes it uses up.
fn next_row(graphemes: &[Grapheme<'_>], room: usize, indent: usize, at: Break) -> (StyledLine, usize) {
    let mut used = 0;
    let over = graphemes.iter().position(|grapheme| {
        used += grapheme.width;
        used > room
    });
    let mut end = over.unwrap_or(graphemes.len()).max(1);
    let mut next = end;
    if over.is_some()
        && at == Break::Words
        && let Some(space) = graphemes.iter().take(end + 1).rposition(|grapheme| grapheme.text == " ")
        && graphemes[..space].iter().any(|grapheme| grapheme.text != " ")
    {
        (end, next) = (space, space + 1);
    }
    let mut row = join_graphemes(&graphemes[..end], room, indent);
    // Graphemes side by side can be wider than each by itself.
    while row.width() > room + indent && end > 1 {
        end -= 1;
        next = end;
        row = join_graphemes(&graphemes[..end], room, indent);
    }
    (row, next)
}

fn join_graphemes(graphemes: &[Grapheme<'_>], room: usize, indent: usize) -> StyledLine {
    let mut row = StyledLine::default();
    row.push(Style::PLAIN, &" ".repeat(indent));
    for grapheme in graphemes {
        let text = if grapheme.width > room { TOO_WIDE } else { grapheme.text };
        match row.spans.last_mut().filter(|last| last.style == grapheme.style) {
            Some(last) => last.text.push_str(text),
            None => row.push(grapheme.style, text),
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrap_plain(text: &str, width: usize, hang: usize, at: Break) -> Vec<String> {
        rows(StyledText::plain(text), width, hang, at).iter().map(StyledLine::text).collect()
    }

    #[test]
    fn rows_break_between_words_where_there_are_any() {
        assert_eq!(wrap_plain("one two three", 8, 2, Break::Words), ["one two", "  three"]);
        assert_eq!(wrap_plain("one  twothreefour", 8, 0, Break::Words), ["one ", "twothree", "four"]);
        assert_eq!(wrap_plain("one two three", 8, 0, Break::Anywhere), ["one two ", "three"]);
        assert_eq!(wrap_plain("a\n\nb\n", 8, 0, Break::Words), ["a", "", "b"]);
    }

    #[test]
    fn no_row_is_wider_than_the_window() {
        let mut text =
            StyledText::plain("世界 e\u{301}e\u{301}e\u{301} 👩\u{200d}🚀👩\u{200d}🚀 שלום عليكم لا ");
        text.push(Style::BOLD, "bold");
        for width in 1..30 {
            for at in [Break::Words, Break::Anywhere] {
                for row in rows(text.clone(), width, 2, at) {
                    assert!(row.width() <= width, "{width}: {row:?}");
                }
            }
        }
        assert_eq!(wrap_plain("世a", 1, 0, Break::Anywhere), ["?", "a"]);
    }

    #[test]
    fn looks_go_on_in_the_next_row() {
        let rows = rows(StyledText::of(Style::BOLD, "abcdef"), 4, 0, Break::Anywhere);
        assert_eq!(rows, [StyledLine::of(Style::BOLD, "abcd"), StyledLine::of(Style::BOLD, "ef")]);
    }
}
