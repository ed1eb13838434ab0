//! Emphasis, code, links: what Markdown means inside a line, as styled spans.
//!
//! `is_settled` makes streaming possible: a piece of a line whose marks are all closed looks the same whatever
//! follows it, so it can be printed permanently.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::sanitize::sanitize;
use super::style::{Color, Style};
use super::styled::StyledSpan;

/// Reads a piece of a line. Marks that are not closed within it stay as they are.
pub(crate) fn spans(source: &str, base: Style) -> Vec<StyledSpan> {
    let core = source.trim_matches(' ');
    if core.is_empty() {
        return vec![plain(source, base)];
    }
    // The parser trims; the spaces around belong to the row.
    let (before, _) = source.split_at(source.len() - source.trim_start_matches(' ').len());
    let (_, after) = source.split_at(source.trim_end_matches(' ').len());
    let mut spans = vec![plain(before, base)];
    match marked(core, base) {
        Some(marked) => spans.extend(marked),
        None => spans.push(plain(core, base)),
    }
    spans.push(plain(after, base));
    spans.retain(|span| !span.text.is_empty());
    spans
}

fn plain(text: &str, style: Style) -> StyledSpan {
    // Also after the parser: `&#27;` is harmless only until it is decoded.
    StyledSpan { text: sanitize(text).replace('\n', " "), style }
}

/// Returns `None` where the parser sees more than a paragraph: block marks were dealt with before, so it is text.
fn marked(core: &str, base: Style) -> Option<Vec<StyledSpan>> {
    if !core.bytes().any(|byte| b"*_`[~<\\&!".contains(&byte)) {
        return None;
    }
    let mut spans = Vec::new();
    let mut styles = vec![base];
    let mut links: Vec<(String, usize)> = Vec::new();
    let mut is_paragraph = false;
    for event in Parser::new_ext(core, Options::ENABLE_STRIKETHROUGH) {
        let style = styles.last().copied().unwrap_or(base);
        match event {
            Event::Start(Tag::Paragraph) if !is_paragraph => is_paragraph = true,
            Event::End(TagEnd::Paragraph) => {}
            _ if !is_paragraph => return None,
            Event::Start(Tag::Emphasis) => styles.push(style.italic()),
            Event::Start(Tag::Strong) => styles.push(style.bold()),
            Event::Start(Tag::Strikethrough) => styles.push(style.strike()),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push((dest_url.into_string(), spans.len()));
                styles.push(style.underline());
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                styles.pop();
                spans.extend(links.pop().and_then(|(url, first)| address(&url, spans.get(first..)?, base)));
            }
            Event::End(_) => {
                styles.pop();
            }
            Event::Code(code) => spans.push(plain(&code, style.color(Color::Cyan))),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                spans.push(plain(&text, style));
            }
            Event::SoftBreak | Event::HardBreak => spans.push(plain(" ", style)),
            _ => return None,
        }
    }
    is_paragraph.then_some(spans)
}

/// The address of a link, where its text does not show it already.
fn address(url: &str, shown: &[StyledSpan], base: Style) -> Option<StyledSpan> {
    let text: String = shown.iter().map(|span| span.text.as_str()).collect();
    let is_shown = text == url || url.strip_prefix("mailto:") == Some(&text);
    (!is_shown && !url.is_empty()).then(|| plain(&format!(" ({url})"), base.dim()))
}

/// Is every mark in this piece of a line closed, so that nothing after it can change its look?
pub(crate) fn is_settled(piece: &str) -> bool {
    if !piece.bytes().any(|byte| b"*_`[~".contains(&byte)) {
        return true;
    }
    let bytes = piece.as_bytes();
    let mut open = [0_usize; 3]; // Of `*`, `_`, `~`.
    let (mut brackets, mut index) = (0_usize, 0);
    while let Some(&byte) = bytes.get(index) {
        let run = bytes[index..].iter().take_while(|&&other| other == byte).count();
        match byte {
            b'\\' => index += 2,
            b'`' => match code_end(&bytes[index + run..], run) {
                Some(length) => index += run + length,
                None => return false,
            },
            b'*' | b'_' | b'~' => {
                let slot = &mut open[match byte {
                    b'*' => 0,
                    b'_' => 1,
                    _ => 2,
                }];
                let before = index.checked_sub(1).and_then(|at| bytes.get(at));
                let closes = before.is_some_and(|byte| !byte.is_ascii_whitespace());
                let opens = bytes.get(index + run).is_some_and(|byte| !byte.is_ascii_whitespace());
                if closes && *slot > 0 {
                    *slot = slot.saturating_sub(run);
                } else if opens && !(byte == b'_' && before.is_some_and(u8::is_ascii_alphanumeric)) {
                    *slot += run;
                }
                index += run;
            }
            b'[' => (brackets, index) = (brackets + 1, index + 1),
            b']' if bytes.get(index + 1) == Some(&b'(') => {
                match bytes[index..].iter().position(|&b| b == b')') {
                    Some(length) => (brackets, index) = (brackets.saturating_sub(1), index + length),
                    None => return false,
                }
            }
            b']' => (brackets, index) = (brackets.saturating_sub(1), index + 1),
            _ => index += 1,
        }
    }
    brackets == 0 && open == [0; 3]
}

/// Where the code that `ticks` backticks opened ends, its closing backticks included.
fn code_end(bytes: &[u8], ticks: usize) -> Option<usize> {
    let mut index = 0;
    while index < bytes.len() {
        let run = bytes[index..].iter().take_while(|&&byte| byte == b'`').count();
        if run == ticks {
            return Some(index + run);
        }
        index += run.max(1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::super::styled::StyledLine;
    use super::super::writer;
    use super::*;

    fn painted(source: &str) -> String {
        let line = StyledLine { spans: spans(source, Style::PLAIN) };
        writer::encode(&line.into(), sample::TERMINAL)
    }

    #[test]
    fn marks_become_looks() {
        assert_eq!(painted("a **b** "), "a \x1b[1mb\x1b[0m ");
        assert_eq!(painted("`x*y`"), "\x1b[36mx*y\x1b[0m");
        assert_eq!(painted("[docs](http://a.b)"), "\x1b[4mdocs\x1b[0m\x1b[2m (http://a.b)\x1b[0m");
        assert_eq!(painted("<http://a.b>"), "\x1b[4mhttp://a.b\x1b[0m");
    }

    #[test]
    fn text_that_only_looks_like_marks_is_kept() {
        for text in
            ["*.rs", "a * b", "snake_case_name", "- x", "# x", "[a]: http://b", "<div>", "2. x", "!x", "***"]
        {
            assert_eq!(painted(text), text);
        }
    }

    #[test]
    fn an_entity_cannot_smuggle_a_control_character() {
        assert_eq!(painted("&#27;[2J &#x202E;"), "␛[2J ⟨U+202E⟩");
    }

    #[test]
    fn a_piece_is_settled_when_its_marks_are_closed() {
        for piece in ["word ", "**b** ", "`a b` ", "a * b ", "[t](u) ", "snake_case ", r"\* "] {
            assert!(is_settled(piece), "{piece}");
        }
        for piece in ["**b ", "`a ", "[t ", "[t](u ", "~~a ", "_a "] {
            assert!(!is_settled(piece), "{piece}");
        }
    }
}
