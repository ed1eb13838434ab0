//! A word while it is being read: its parts, and what has been noticed about it.
//!
//! Owns when a word is plain, an assignment, a pattern, or several words. Filled by the lexer, used by the grammar.

use super::brace::{self, Part};
use super::word::{self, Word, WordExtent, WordPiece};

/// A word as it was read, before its braces are expanded.
#[derive(Default)]
pub(super) struct Lexed {
    parts: Vec<Part>,
    is_many: bool,
    is_touched: bool,
    /// An open bracket that only a closing one makes a pattern.
    has_bracket: bool,
    closes_bracket: bool,
    /// Does something in it mean something else once braces are expanded, which happens first?
    is_fragile: bool,
    /// How much of the word is `NAME=`, if it begins so.
    assigns: Option<Name>,
}

/// The name that a word assigns to.
#[derive(Clone)]
struct Name {
    name: String,
    /// Bytes up to and with the `=`.
    length: usize,
}

impl Lexed {
    pub(super) fn push(&mut self, c: char) {
        match (word::mark(c), self.parts.last_mut()) {
            (Some(piece), _) => self.parts.push(Part::Piece(piece)),
            (None, Some(Part::Piece(WordPiece::Text(text)))) => text.push(c),
            (None, _) => self.parts.push(Part::Piece(WordPiece::Text(c.to_string()))),
        }
    }

    /// Adds something that only the running shell knows.
    pub(super) fn expand(&mut self, piece: WordPiece, extent: WordExtent) {
        self.is_touched = true;
        self.is_many |= extent == WordExtent::Many;
        self.parts.push(Part::Piece(piece));
    }

    /// Notes that a quote or an escape was used: the word exists even if empty, and is no keyword.
    pub(super) fn touch(&mut self) {
        self.is_touched = true;
    }

    /// Has anything in it been quoted or expanded?
    pub(super) fn is_touched(&self) -> bool {
        self.is_touched
    }

    /// The text, if the word is plain: not quoted, nothing to expand.
    pub(super) fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Piece(WordPiece::Text(text))] if !self.is_touched => Some(text),
            [Part::Open] => Some("{"),
            [Part::Close] => Some("}"),
            _ => None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty() && !self.is_touched
    }

    fn extent(&self) -> WordExtent {
        if self.is_many { WordExtent::Many } else { WordExtent::One }
    }

    /// The words that it becomes.
    pub(super) fn words(self) -> Vec<Word> {
        let extent = self.extent();
        if self.is_fragile && self.parts.iter().any(|part| matches!(part, Part::Open)) {
            return vec![Word::anything()];
        }
        let mut words = brace::expand(self.parts, extent);
        // `{,x}` is one word, unless something in it was quoted: then it is unknown here which one.
        if words.len() > 1 && words.iter().any(|word| word.is("")) {
            if self.is_touched {
                return vec![Word::anything()];
            }
            words.retain(|word| !word.is(""));
        }
        words
    }

    /// Notes that braces around it would change what it is.
    pub(super) fn note_fragile(&mut self) {
        self.is_fragile = true;
    }

    /// The one word that it is where braces and splitting have no meaning.
    pub(super) fn word(self) -> Word {
        brace::literal(self.parts, WordExtent::One)
    }

    /// Name and value, if it is an assignment.
    pub(super) fn assignment(&self) -> Option<(String, Word)> {
        let Name { name, length } = self.assigns.clone()?;
        let value = brace::literal(self.parts.clone(), WordExtent::One).without_start(length);
        Some((name, value))
    }

    /// Is it `NAME=` and nothing more?
    pub(super) fn is_bare_assignment(&self) -> bool {
        match (&self.assigns, self.parts.as_slice()) {
            (Some(name), [Part::Piece(WordPiece::Text(text))]) => name.length == text.len(),
            _ => false,
        }
    }

    /// Returns whether a `~` here means a directory. At the start, after `NAME=`, after a colon in its value.
    pub(super) fn leads_to_home(&self) -> bool {
        match self.parts.as_slice() {
            [] => !self.is_touched,
            [.., Part::Piece(WordPiece::Text(text))] => self.assigns.is_some() && text.ends_with([':', '=']),
            _ => false,
        }
    }

    pub(super) fn push_brace(&mut self, brace: Part) {
        self.parts.push(brace);
    }

    pub(super) fn open_bracket(&mut self) {
        self.has_bracket = true;
        self.parts.push(Part::Piece(WordPiece::Glob("[".to_owned())));
    }

    pub(super) fn close_bracket(&mut self) {
        self.closes_bracket |= self.has_bracket;
        self.push(']');
    }

    /// Takes note of an unquoted `=`.
    pub(super) fn note_equals(&mut self) {
        if self.assigns.is_some() {
            return;
        }
        if let Some(text) = self.plain() {
            let name = text.strip_suffix('+').unwrap_or(text);
            if is_name(name) {
                self.assigns = Some(Name { name: name.to_owned(), length: text.len() + 1 });
            }
        }
    }

    /// Decides, at the end of the word, whether its open bracket began a pattern.
    pub(super) fn settle_brackets(&mut self) {
        if self.closes_bracket {
            self.is_many = true;
            self.is_touched = true;
            return;
        }
        for part in &mut self.parts {
            if matches!(part, Part::Piece(WordPiece::Glob(glob)) if glob == "[") {
                *part = Part::Piece(WordPiece::Text("[".to_owned()));
            }
        }
    }
}

/// Is it a name that a variable can have?
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
