//! A position in a text of shell, one character at a time.
//!
//! Owns line continuation: a backslash before an end of line is nothing at all, except where characters are read raw
//! (single quotes, comments, here-documents). Used by the readers in `shell` alone.

/// A text and how far it has been read.
pub(super) struct Source<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Source<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The unread rest.
    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The next character, continued lines joined.
    pub(super) fn peek(&mut self) -> Option<char> {
        while self.rest().starts_with("\\\n") {
            self.at += 2;
        }
        self.peek_raw()
    }

    /// Reads the next character, continued lines joined.
    pub(super) fn bump(&mut self) -> Option<char> {
        self.peek();
        self.bump_raw()
    }

    pub(super) fn peek_raw(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn bump_raw(&mut self) -> Option<char> {
        let c = self.peek_raw()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Is this exactly what follows in the text?
    pub(super) fn looking_at(&mut self, wanted: &str) -> bool {
        self.peek();
        self.rest().starts_with(wanted)
    }

    /// Reads `wanted` if the text continues with it.
    pub(super) fn take(&mut self, wanted: &str) -> bool {
        let found = self.looking_at(wanted);
        if found {
            self.at += wanted.len();
        }
        found
    }

    /// Reads the longest run of characters of one kind.
    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        self.peek();
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Reads `bytes` bytes that have been looked at.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.at += self.rest().floor_char_boundary(bytes);
    }

    /// Reads blanks, not ends of lines.
    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.bump_raw();
        }
    }

    /// Reads up to the end of the line, without it.
    pub(super) fn take_line(&mut self) -> &'t str {
        let rest = self.rest();
        let end = rest.find('\n').unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Does what follows an opened `((` close with `))`? Otherwise the two are subshells.
    pub(super) fn closes_as_arithmetic(&self) -> bool {
        let mut depth = 1;
        let mut chars = self.rest().chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => drop(chars.next()),
                '\'' => drop(chars.find(|c| *c == '\'')),
                '"' => {
                    while let Some(c) = chars.next() {
                        match c {
                            '\\' => drop(chars.next()),
                            '"' => break,
                            _ => {}
                        }
                    }
                }
                '(' => depth += 1,
                ')' => {
                    depth -= 1;
                    if depth == 0 {
                        return chars.next() == Some(')');
                    }
                }
                _ => {}
            }
        }
        false
    }
}
