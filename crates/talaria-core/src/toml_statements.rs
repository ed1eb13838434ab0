//! Where the statements of a TOML text begin and end: headers, keys with their values, comments, blank lines.
//!
//! Only for text that a parser has accepted: nothing is checked here, and what is not TOML makes nonsense (but neither
//! a panic nor an endless loop). Together the statements are the text after its byte order mark, byte for byte, which is
//! what makes an edit possible that leaves all other bytes alone. `edit` and Codex's `codex_config` both edit by it.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;
use toml_edit::Key;

use crate::toml_text::TomlText;

/// One statement with the line break that ends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlStatement {
    /// Its bytes in the text.
    pub bytes: Range<usize>,
    /// What it is.
    pub kind: StatementKind,
}

/// Kind of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatementKind {
    /// Lines of white space.
    Blank,
    /// A line that is a comment.
    Comment,
    /// `[name]`; the range is the name.
    Table(Range<usize>),
    /// `[[name]]`; the range is the name.
    ArrayOfTables(Range<usize>),
    /// `name = value`; the range is the name.
    Value(Range<usize>),
}

impl StatementKind {
    /// Where the name is; blank lines and comments have none.
    pub fn name(&self) -> Option<Range<usize>> {
        match self {
            Self::Table(name) | Self::ArrayOfTables(name) | Self::Value(name) => Some(name.clone()),
            Self::Blank | Self::Comment => None,
        }
    }

    /// Returns whether it begins a table.
    pub fn is_header(&self) -> bool {
        matches!(self, Self::Table(_) | Self::ArrayOfTables(_))
    }
}

/// Splits a text into statements.
pub fn statements(text: &str) -> Vec<TomlStatement> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut start = TomlText::new(text).start();
    while start < bytes.len() {
        let first = start + bytes[start..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if matches!(bytes.get(first), None | Some(b'\n' | b'\r')) {
            let end = end_of_line(bytes, first, |_| {});
            match found.last_mut() {
                Some(TomlStatement { bytes, kind: StatementKind::Blank }) => bytes.end = end,
                _ => found.push(TomlStatement { bytes: start..end, kind: StatementKind::Blank }),
            }
            start = end;
            continue;
        }
        let (kind, rest) = match bytes.get(first) {
            Some(b'#') => (StatementKind::Comment, first),
            Some(b'[') if bytes.get(first + 1) == Some(&b'[') => {
                let name = first + 2..until(bytes, first + 2, b']');
                (StatementKind::ArrayOfTables(name.clone()), (name.end + 2).min(bytes.len()))
            }
            Some(b'[') => {
                let name = first + 1..until(bytes, first + 1, b']');
                (StatementKind::Table(name.clone()), (name.end + 1).min(bytes.len()))
            }
            _ => {
                let name = first..until(bytes, first, b'=');
                (StatementKind::Value(name.clone()), name.end)
            }
        };
        let end = end_of_line(bytes, rest, |_| {});
        found.push(TomlStatement { bytes: start..end, kind });
        start = end;
    }
    found
}

/// The parts of a name as it is written, in headers and before the equals sign.
pub fn parts(name: &str) -> Vec<Cow<'_, str>> {
    if name.contains(['"', '\'']) {
        let keys = Key::parse(name.trim()).unwrap_or_default();
        return keys.iter().map(|key| Cow::Owned(key.get().to_owned())).collect();
    }
    name.split('.').map(|part| Cow::Borrowed(part.trim())).collect()
}

/// The first of the parts of a name.
pub fn first_part(name: &str) -> Cow<'_, str> {
    let name = name.trim_start();
    if name.starts_with(['"', '\'']) {
        return parts(name).into_iter().next().unwrap_or_default();
    }
    Cow::Borrowed(name.split('.').next().unwrap_or_default().trim_end())
}

/// The comments inside one statement, each from its number sign to the end of its line.
pub fn comments(statement: &str) -> Vec<&str> {
    let mut found = Vec::new();
    end_of_line(statement.as_bytes(), 0, |range| {
        found.extend(statement.get(range).map(str::trim_end));
    });
    found
}

/// Where the line ends on which the statement ends; line breaks in strings, arrays and inline tables do not count.
fn end_of_line(bytes: &[u8], from: usize, mut comment: impl FnMut(Range<usize>)) -> usize {
    let mut at = from;
    let mut depth = 0_usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' | b'\'' => at = end_of_string(bytes, at),
            b'#' => {
                let end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |length| at + length);
                comment(at..end);
                at = end;
            }
            b'\n' if depth == 0 => return at + 1,
            b'[' | b'{' => (depth, at) = (depth + 1, at + 1),
            b']' | b'}' => (depth, at) = (depth.saturating_sub(1), at + 1),
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The first position of a byte outside a string.
fn until(bytes: &[u8], from: usize, wanted: u8) -> usize {
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match byte {
            byte if *byte == wanted => return at,
            b'"' | b'\'' => at = end_of_string(bytes, at),
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The position after the string that begins here, of any of the four kinds.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let has_lines = bytes.get(start + 1) == Some(&quote) && bytes.get(start + 2) == Some(&quote);
    let mut at = start + if has_lines { 3 } else { 1 };
    while let Some(byte) = bytes.get(at) {
        if *byte == b'\\' && quote == b'"' {
            at += 2;
        } else if *byte != quote {
            at += 1;
        } else if !has_lines {
            return at + 1;
        } else {
            // Up to two quotation marks may be right before the three that end it.
            let run = bytes[at..].iter().take(5).take_while(|byte| **byte == quote).count();
            at += run;
            if run >= 3 {
                return at;
            }
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(&str, &str)> {
        let named = |statement: &TomlStatement| match statement.kind {
            StatementKind::Blank => "",
            StatementKind::Comment => "#",
            _ => &text[statement.kind.name().unwrap()],
        };
        statements(text).iter().map(|one| (named(one), &text[one.bytes.clone()])).collect()
    }

    #[test]
    fn statements_are_the_text_and_end_where_toml_says() {
        assert_eq!(
            kinds(
                "\u{20}\r\n\n\ta.'b=' = [ # ]\n '[', ]\n# c\n[ \"x]\" . y ] # t\n[[z]]\ns = \"\"\"\"a\\\"\"\"\n#\"\"\"\"\"\nlast = {}"
            ),
            [
                ("", " \r\n\n"),
                ("a.'b=' ", "\ta.'b=' = [ # ]\n '[', ]\n"),
                ("#", "# c\n"),
                (" \"x]\" . y ", "[ \"x]\" . y ] # t\n"),
                ("z", "[[z]]\n"),
                ("s ", "s = \"\"\"\"a\\\"\"\"\n#\"\"\"\"\"\n"),
                ("last ", "last = {}"),
            ]
        );
    }

    #[test]
    fn names_are_read_like_toml_reads_them() {
        assert_eq!(parts(" \"\\u006dcp\" . 'a.b'. c "), ["mcp", "a.b", "c"]);
        assert_eq!(parts("a . b.c "), ["a", "b", "c"]);
        assert_eq!((first_part(" a . b"), first_part(" 'a.b' . c")), ("a".into(), "a.b".into()));
    }

    #[test]
    fn comments_are_found_but_not_in_strings() {
        assert_eq!(comments("a = [ '#', # one\n 1 ] # two\r\n"), ["# one", "# two"]);
    }
}
