//! A TOML text as it lies in a file, with what a parser forgets: the mark at its beginning and how each line ends.
//!
//! Owns lines, their ends and the splicing of pieces; every byte outside a piece stays. Knows nothing of keys and values:
//! `edit` and Codex's `codex_config` say where, by `toml_statements` and by the spans of a parser.

use std::ops::Range;

const BOM: &str = "\u{feff}";

/// A text and its lines. All offsets are bytes of the whole text, the mark included, as `toml_edit` counts them.
#[derive(Debug, Clone, Copy)]
pub struct TomlText<'a> {
    text: &'a str,
}

/// One change: replaces `range` by `new`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The removed range; empty for an insertion.
    pub range: Range<usize>,
    /// The replacement.
    pub new: String,
}

impl<'a> TomlText<'a> {
    /// Looks at a text.
    pub fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// The whole text.
    pub fn as_str(&self) -> &'a str {
        self.text
    }

    /// Where the first line begins: after the byte order mark, if there is one.
    pub fn start(&self) -> usize {
        if self.text.starts_with(BOM) { BOM.len() } else { 0 }
    }

    /// How lines end in this file: as most of them do, `\n` if there is none.
    pub fn newline(&self) -> &'static str {
        let all = self.text.matches('\n').count();
        let windows = self.text.matches("\r\n").count();
        if windows * 2 > all { "\r\n" } else { "\n" }
    }

    /// How the line ends in which `offset` lies; a last line without an end is as the others.
    pub fn newline_at(&self, offset: usize) -> &'static str {
        let end = self.line_end(offset);
        match self.text.get(..end) {
            Some(line) if line.ends_with("\r\n") => "\r\n",
            Some(line) if line.ends_with('\n') => "\n",
            _ => self.newline(),
        }
    }

    /// Where the line begins in which `offset` lies.
    pub fn line_start(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or(self.text);
        before.rfind('\n').map_or(self.start(), |end| end + 1).max(self.start())
    }

    /// Where the line ends in which `offset` lies, its end included.
    pub fn line_end(&self, offset: usize) -> usize {
        let rest = self.text.get(offset..).unwrap_or("");
        rest.find('\n').map_or(self.text.len(), |end| offset + end + 1)
    }

    /// The line in which `offset` lies, without its end.
    pub fn line(&self, offset: usize) -> &'a str {
        let line = self.text.get(self.line_start(offset)..self.line_end(offset)).unwrap_or("");
        let line = line.strip_suffix('\n').unwrap_or(line);
        line.strip_suffix('\r').unwrap_or(line)
    }

    /// Where the line before the one begins that begins at `line_start`.
    pub fn line_before(&self, line_start: usize) -> Option<usize> {
        (line_start > self.start()).then(|| self.line_start(line_start - 1))
    }

    /// Returns whether the last line has an end; a file without lines counts as whole.
    pub fn is_ended(&self) -> bool {
        self.text.len() == self.start() || self.text.ends_with('\n')
    }

    /// Where the last line ends, without its line break.
    pub fn end_of_last_line(&self) -> usize {
        let end =
            self.text.strip_suffix("\r\n").or_else(|| self.text.strip_suffix('\n')).unwrap_or(self.text);
        end.len().max(self.start())
    }

    /// The piece that writes whole lines at `at`, where a line begins or the text ends.
    ///
    /// A file whose last line has no end stays such a file.
    pub fn insert(&self, at: usize, lines: &str) -> Piece {
        if at < self.text.len() || self.is_ended() {
            return Piece { range: at..at, new: lines.to_owned() };
        }
        let body = &lines[..TomlText::new(lines).end_of_last_line()];
        Piece { range: at..at, new: format!("{}{body}", self.newline()) }
    }

    /// The piece that writes `lines` (which end with `\n` each) below the line in which `offset` lies, with its line end.
    pub fn below(&self, offset: usize, lines: &str) -> Piece {
        self.insert(self.line_end(offset), &lines.replace('\n', self.newline_at(offset)))
    }

    /// The piece that removes the lines from `start` to `end`; the end of the file is unchanged.
    pub fn without(&self, start: usize, end: usize) -> Piece {
        let mut start = start;
        if end == self.text.len() && !self.is_ended() {
            start = TomlText::new(self.text.get(..start).unwrap_or("")).end_of_last_line();
        }
        Piece { range: start..end, new: String::new() }
    }

    /// Applies pieces to the text; of overlapping pieces the later one is cut.
    pub fn splice(&self, mut pieces: Vec<Piece>) -> String {
        pieces.sort_by_key(|piece| (piece.range.start, piece.range.end));
        let mut out = String::with_capacity(self.text.len() + 64);
        let mut done = 0;
        for piece in pieces {
            out.push_str(self.text.get(done..piece.range.start.max(done)).unwrap_or(""));
            out.push_str(&piece.new);
            done = piece.range.end.max(done);
        }
        out.push_str(self.text.get(done..).unwrap_or(""));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_behind_the_mark_and_in_mixed_endings() {
        let text = TomlText::new("\u{feff}ab\r\nc\n\nd");
        assert_eq!((text.start(), text.line_start(4), text.line_end(4)), (3, 3, 7));
        assert_eq!((text.line(3), text.line(7), text.line(9), text.line(10)), ("ab", "c", "", "d"));
        assert_eq!((text.newline_at(3), text.newline_at(7), text.newline_at(10)), ("\r\n", "\n", "\n"));
        assert_eq!((text.line_before(7), text.line_before(3)), (Some(3), None));
        assert!(!text.is_ended());
        assert!(TomlText::new("\u{feff}").is_ended());
    }

    #[test]
    fn a_line_put_below_ends_as_its_neighbour_and_goes_without_a_trace() {
        for text in ["a\r\nb\n", "a\nb\r\nc", "a", "\u{feff}a\r\n", "\n", ""] {
            for offset in (TomlText::new(text).start()..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let before = TomlText::new(text);
                let with = before.splice(vec![before.below(offset, "new\n")]);
                let after = TomlText::new(&with);
                let at = with.find("new").unwrap();
                let without = after.splice(vec![after.without(after.line_start(at), after.line_end(at))]);
                assert_eq!(without, text, "{with:?}");
            }
        }
        let text = TomlText::new("a\r\nb");
        assert_eq!(text.splice(vec![text.below(0, "x\n")]), "a\r\nx\r\nb");
        assert_eq!(text.splice(vec![text.below(3, "x\n")]), "a\r\nb\r\nx");
    }
}
