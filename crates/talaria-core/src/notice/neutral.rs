//! Text of others made harmless for wherever a notice ends up: a terminal, a mail header, a lock screen.
//!
//! Control characters become their pictures (`␛`), invisible and bidirectional ones their code point
//! (`⟨U+202E⟩`). Called by the renderings of a notice.

use std::fmt::Write;

/// Joins text into one line: every run of white space becomes one space.
pub(super) fn line(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        word.chars().for_each(|c| push(c, &mut out));
    }
    out
}

/// Makes text harmless; ends of lines stay, blank ones around it go.
pub(super) fn block(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push('\n'),
            '\t' => out.push_str("    "),
            '\r' if chars.peek() == Some(&'\n') => {}
            _ => push(c, &mut out),
        }
    }
    out
}

fn push(c: char, out: &mut String) {
    match c {
        '\0'..='\u{1f}' => out.extend(char::from_u32(0x2400 + u32::from(c))),
        '\u{7f}' => out.push('␡'),
        // Writing into a string cannot fail.
        _ if is_hidden(c) => write!(out, "⟨U+{:04X}⟩", u32::from(c)).unwrap_or_default(),
        _ => out.push(c),
    }
}

/// Does this take no room, or change the order of what does? The joiners of emoji may pass.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}' // C1 controls; U+009B is CSI
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' // line separators, bidi embeddings and overrides
        | '\u{2060}'..='\u{206f}' // word joiner, bidi isolates, deprecated format characters
        | '\u{2800}' | '\u{3164}' | '\u{ffa0}' // blanks that are not spaces
        | '\u{fe00}'..='\u{fe0d}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' // tags and more variation selectors
    )
}
