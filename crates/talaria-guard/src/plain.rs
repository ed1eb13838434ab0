//! Text of others made harmless: nothing in it may move the cursor, change its own order on screen, or hide.
//!
//! Control characters become their pictures (`␛`), bidi controls and characters without width their numbers
//! (`⟨U+202E⟩`), tabs become spaces; `\r\n` is an end of line like `\n`. What people approve passes `reveal`, which
//! lets through no joiner and no space but the plain one. Clean text is borrowed, not copied.

use std::borrow::Cow;
use std::fmt::Write;

const TAB: &str = "    ";

/// Makes text harmless; ends of lines stay.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    clean(text, Strictness::Prose)
}

/// Makes text harmless; ends of lines and tabs stay, because code has them.
pub fn with_tabs(text: &str) -> Cow<'_, str> {
    if !text.contains('\t') {
        return sanitize(text);
    }
    Cow::Owned(text.split('\t').map(sanitize).collect::<Vec<_>>().join("\t"))
}

/// Makes text harmless and everything in it visible: for commands, paths and changes that people approve.
pub fn reveal(text: &str) -> Cow<'_, str> {
    clean(text, Strictness::Approval)
}

/// Makes text harmless and joins it into one line.
pub fn one_line(text: &str) -> Cow<'_, str> {
    joined(sanitize(text))
}

/// Makes text harmless and wholly visible, and joins it into one line.
pub fn reveal_line(text: &str) -> Cow<'_, str> {
    joined(reveal(text))
}

fn joined(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains('\n') { Cow::Owned(text.replace('\n', "␊")) } else { text }
}

fn clean(text: &str, strictness: Strictness) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) {
        return Cow::Borrowed(text);
    }
    let mut cleaner = Cleaner { strictness, before: '\n' };
    let mut out = String::with_capacity(text.len());
    cleaner.push(text, &mut out);
    cleaner.finish(&mut out);
    if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strictness {
    Prose,
    Approval,
}

/// Makes a stream of text harmless; any chunking of it has the same result.
#[derive(Clone, Debug)]
pub struct Cleaner {
    strictness: Strictness,
    before: char,
}

impl Default for Cleaner {
    fn default() -> Self {
        Self { strictness: Strictness::Prose, before: '\n' }
    }
}

impl Cleaner {
    /// Takes the next piece.
    pub fn push(&mut self, text: &str, out: &mut String) {
        for c in text.chars() {
            if self.before == '\r' && c != '\n' {
                out.push('␍');
            }
            match c {
                // Held back until it is known whether it begins an end of line.
                '\r' => {}
                '\n' | ' '..='~' => out.push(c),
                '\t' => out.push_str(TAB),
                _ => self.push_rare(c, out),
            }
            self.before = c;
        }
    }

    /// Ends the stream.
    pub fn finish(&mut self, out: &mut String) {
        if self.before == '\r' {
            out.push('␍');
        }
        self.before = '\n';
    }

    fn push_rare(&self, c: char, out: &mut String) {
        let shown = match c {
            '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)),
            '\u{7f}' => Some('␡'),
            _ if is_hidden(c) && !self.joins_emoji(c) => None,
            _ if self.strictness == Strictness::Approval && c.is_whitespace() => None,
            _ => Some(c),
        };
        match shown {
            Some(c) => out.push(c),
            // Writing into a string cannot fail.
            None => write!(out, "⟨U+{:04X}⟩", u32::from(c)).unwrap_or_default(),
        }
    }

    /// The two hidden characters that ordinary prose needs, and only after a picture.
    fn joins_emoji(&self, c: char) -> bool {
        self.strictness == Strictness::Prose
            && match c {
                '\u{fe0e}' | '\u{fe0f}' => is_picture(self.before),
                '\u{200d}' => is_picture(self.before) || self.before == '\u{fe0f}',
                _ => false,
            }
    }
}

fn is_picture(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Does this take no room on screen, or change the order of what does?
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}' // C1 controls; U+009B is CSI
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' // zero-width space, joiners, direction marks
        | '\u{2028}'..='\u{202e}' // line separators, bidi embeddings and overrides
        | '\u{2060}'..='\u{206f}' // word joiner, bidi isolates, deprecated format characters
        | '\u{2800}' | '\u{3164}' | '\u{ffa0}' // blanks that are not spaces
        | '\u{fe00}'..='\u{fe0f}' // variation selectors
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' // tags and more variation selectors
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_text_is_borrowed() {
        for text in ["plain\ntext", "Grüße, 世界 ✔\u{fe0f} 👩\u{200d}🚀"] {
            assert!(matches!(sanitize(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn nothing_hostile_comes_through() {
        let cases = [
            ("\u{1b}[2Jx", "␛[2Jx"),
            ("a\u{9b}2Jb", "a⟨U+009B⟩2Jb"),
            ("rm \u{202e}fdp.exe", "rm ⟨U+202E⟩fdp.exe"),
            ("r\u{200b}m", "r⟨U+200B⟩m"),
            ("x\u{fe0f}y", "x⟨U+FE0F⟩y"),
            ("\u{e0061}", "⟨U+E0061⟩"),
            ("a\tb", "a    b"),
            ("a\r\nb", "a\nb"),
            ("safe\revil", "safe␍evil"),
            ("end\r", "end␍"),
            ("\u{8}\u{7f}\0", "␈␡␀"),
        ];
        for (hostile, harmless) in cases {
            assert_eq!(sanitize(hostile), harmless);
        }
    }

    #[test]
    fn what_is_approved_hides_nothing() {
        assert_eq!(reveal("rm\u{a0}-rf 👩\u{200d}🚀"), "rm⟨U+00A0⟩-rf 👩⟨U+200D⟩🚀");
        assert_eq!(reveal_line("a\nb"), "a␊b");
    }

    #[test]
    fn code_keeps_its_tabs() {
        assert_eq!(with_tabs("all:\n\tcc \u{1b}[1m\tx\r\n"), "all:\n\tcc ␛[1m\tx\n");
        assert!(matches!(with_tabs("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn any_chunking_gives_the_same_text() {
        let text = "a\r\nb\rc\u{1b}[0m👩\u{200d}🚀 ✔\u{fe0f}\t\r";
        for cut in (0..=text.len()).filter(|&cut| text.is_char_boundary(cut)) {
            let (mut cleaner, mut out) = (Cleaner::default(), String::new());
            cleaner.push(&text[..cut], &mut out);
            cleaner.push(&text[cut..], &mut out);
            cleaner.finish(&mut out);
            assert_eq!(out, sanitize(text), "cut at {cut}");
        }
    }
}
