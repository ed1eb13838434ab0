//! Our own lines on a terminal: broken between words instead of cut at the edge, and indented below the beginning of
//! their text. A word that fits a row only without the indent, such as a path or an id, has its own row.
//!
//! Pure. Where there is no width, in a pipe or a file, lines stay as they are.

use unicode_width::UnicodeWidthStr;

use super::Look;
use super::flow::Flow;
use super::paint::Paint;
use super::style::Style;
use super::styled::{StyledLine, StyledSpan, StyledText};

/// The indent of rows where the line itself suggests none, or one that leaves no room.
const HANG: usize = 2;

/// Breaks lines that are wider than the terminal. Lines that fit are left alone.
pub fn in_rows(text: &str, width: Option<usize>) -> String {
    match width {
        Some(_) => styled_in_rows(StyledText::plain(text), width).text(),
        None => text.to_owned(),
    }
}

/// The same for a text in which lines with a style were laid out already: they are left alone too.
pub fn styled_in_rows(mut text: StyledText, width: Option<usize>) -> StyledText {
    let Some(columns) = width else { return text };
    let paint = Paint::new(Look { color: false, width, live: false, unicode: true });
    let put = |out: &mut StyledText, line: StyledLine| {
        if line.width() < columns || line.spans.iter().any(|span| span.style != Style::PLAIN) {
            out.push_line(line);
        } else {
            let line = line.text();
            let (lead, rest) = line.split_at(lead(&line));
            out.append(rows((lead, Style::PLAIN), (rest, Style::PLAIN), width, paint));
        }
    };
    let mut out = StyledText::default();
    for line in text.take_ended() {
        put(&mut out, line);
        out.end_line();
    }
    put(&mut out, text.open().clone());
    out
}

/// A field of a page: its padded name, and a value that is broken between words where it is too wide.
pub fn field(name: &str, value: &str, look: Look) -> StyledText {
    let mut out = rows((name, Style::DIM), (value, Style::PLAIN), look.width, Paint::new(look));
    out.end_line();
    out
}

/// One line in as many rows as it needs: what leads it, and the text that follows. Without an end of the last row.
pub(crate) fn rows(
    (lead, lead_style): (&str, Style),
    (text, style): (&str, Style),
    width: Option<usize>,
    paint: Paint,
) -> StyledText {
    let mut out = StyledText::default();
    let mut flow = Flow::new(paint, width, StyledLine::default()).outdenting();
    flow.begin(0, lead, lead_style, &mut out);
    // A wide label would leave a narrow column.
    if width.is_some_and(|width| lead.width() * 2 > width) {
        flow.hang(HANG);
    }
    flow.put(&[StyledSpan { text: text.to_owned(), style }], &mut out);
    out
}

/// Where the text of a line begins, in bytes: after its indent, a label (`hint: `), a sign (`-> `) or columns that two
/// spaces set apart.
fn lead(line: &str) -> usize {
    let indent = line.len() - line.trim_start().len();
    let text = &line[indent..];
    // Columns begin a line; later runs of spaces belong to the text.
    let columns = text.char_indices().take(COLUMNS).filter(|(at, _)| text[*at..].starts_with("  "));
    let after_columns = columns.last().map(|(at, _)| text.len() - text[at..].trim_start().len());
    let (first, _) = text.split_once(' ').unwrap_or((text, ""));
    let is_label = first.ends_with(':') || first == "->";
    indent + after_columns.unwrap_or(if is_label { first.len() + 1 } else { 0 }).min(text.len())
}

/// Columns are searched for in this many characters.
const COLUMNS: usize = 24;

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn lines_break_between_words_and_hang_below_their_text() {
        let text = "error: cannot start the turn because there is no Codex\n\
                    hint: install it with npm or with your package manager\n\
                    short\n\
                    ok       config        the file is valid and everything in it is known\n\
                    \x20                      -> look at the file again and correct it\n\
                    the last one has no end and no label, and is longer than the row";
        expect![[r#"
            error: cannot start the turn because
                   there is no Codex
            hint: install it with npm or with your
                  package manager
            short
            ok       config        the file is
              valid and everything in it is known
                                   -> look at the
              file again and correct it
            the last one has no end and no label,
            and is longer than the row"#]]
        .assert_eq(&in_rows(text, Some(40)));
        expect![[r#"
            ok       config        the file is valid and everything in
                                   it is known
        "#]]
        .assert_eq(&in_rows(
            "ok       config        the file is valid and everything in it is known\n",
            Some(60),
        ));
    }

    #[test]
    fn a_word_is_broken_only_if_no_row_holds_it() {
        let id = "01a1e141-3320-7674-9810-cb7a9c489bdb";
        let line = format!("cwd       {id}, and more\n");
        assert_eq!(in_rows(&line, Some(40)), format!("cwd\n  {id},\n          and more\n"));
        let path = "/home/ada/a/path/that/no/row/of/forty/columns/can/hold";
        let text = in_rows(&format!("hint: look at {path}\n"), Some(40));
        assert!(text.lines().all(|row| row.width() < 40), "{text}");
        assert_eq!(text.replace("\n      ", ""), format!("hint: look at{path}\n"));
    }

    #[test]
    fn without_a_width_nothing_changes() {
        let text = "error: long \u{2026}  words\n".repeat(20);
        assert_eq!(in_rows(&text, None), text);
        assert_eq!(in_rows(&text, Some(80)), text);
    }
}
