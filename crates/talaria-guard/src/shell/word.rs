//! A word of a command line, as far as it is known before the shell runs.
//!
//! Owns the difference between text that is certain and text that only the running shell knows, and how a partly known
//! text is handed to another reading (`sh -c "…"`). Called by everything in `shell` and by `rules`.

use std::fmt;

/// Represents text that is not known, when a text is read a second time; refused in lines themselves.
const UNKNOWN: char = '\u{FDD0}';
/// Represents the home directory, likewise.
const HOME: char = '\u{FDD1}';

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordPiece {
    /// Exactly this text.
    Text(String),
    /// The home directory: `~`, `$HOME`.
    Home,
    /// `*`, `?` or `[…]` as written: names of files.
    Glob(String),
    /// The value of the variable with this name.
    Variable(String),
    /// Any text.
    Unknown,
}

/// How many words of the running shell a word can become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordExtent {
    /// Exactly one.
    One,
    /// None, one or several.
    Many,
}

/// A word, in pieces; neighbouring texts are joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pieces: Vec<WordPiece>,
    extent: WordExtent,
}

impl Word {
    /// Makes a word of pieces.
    pub(crate) fn new(pieces: Vec<WordPiece>, extent: WordExtent) -> Self {
        let mut joined: Vec<WordPiece> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match (joined.last_mut(), piece) {
                (Some(WordPiece::Text(before)), WordPiece::Text(text)) => before.push_str(&text),
                (_, WordPiece::Text(text)) if text.is_empty() => {}
                (_, piece) => joined.push(piece),
            }
        }
        Self { pieces: joined, extent }
    }

    /// Makes a word that is known.
    pub(crate) fn known(text: &str) -> Self {
        Self::new(vec![WordPiece::Text(text.to_owned())], WordExtent::One)
    }

    /// Makes what may be any number of any words.
    pub(crate) fn anything() -> Self {
        Self { pieces: vec![WordPiece::Unknown], extent: WordExtent::Many }
    }

    /// The parts.
    pub fn pieces(&self) -> &[WordPiece] {
        &self.pieces
    }

    /// How many words it can become.
    pub fn extent(&self) -> WordExtent {
        self.extent
    }

    /// The text, if every part of it is known and it is one word.
    pub fn text(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [WordPiece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Is the text exactly this?
    pub fn is(&self, wanted: &str) -> bool {
        self.text() == Some(wanted)
    }

    /// The known text that the word begins with.
    pub(crate) fn start(&self) -> &str {
        match self.pieces.first() {
            Some(WordPiece::Text(text)) => text,
            _ => "",
        }
    }

    /// The word without the first `bytes` bytes of its known beginning.
    pub(crate) fn without_start(&self, bytes: usize) -> Self {
        let mut pieces = self.pieces.clone();
        if let Some(WordPiece::Text(text)) = pieces.first_mut() {
            *text = text.get(bytes..).unwrap_or_default().to_owned();
        }
        Self::new(pieces, self.extent)
    }

    /// The word with `mark` in its known parts replaced by something unknown.
    pub(crate) fn with_unknown(&self, mark: &str) -> Self {
        let mut pieces = Vec::new();
        for piece in &self.pieces {
            match piece {
                WordPiece::Text(text) if !mark.is_empty() => {
                    for (index, part) in text.split(mark).enumerate() {
                        if index > 0 {
                            pieces.push(WordPiece::Unknown);
                        }
                        pieces.push(WordPiece::Text(part.to_owned()));
                    }
                }
                other => pieces.push(other.clone()),
            }
        }
        Self::new(pieces, self.extent)
    }

    /// Is every part known, the home directory counted as known?
    pub(crate) fn is_settled(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, WordPiece::Text(_) | WordPiece::Home))
    }

    /// The text for another reading, with marks where it is not known.
    pub(crate) fn marked(&self) -> String {
        self.pieces.iter().fold(String::new(), |mut text, piece| {
            match piece {
                WordPiece::Text(known) => text.push_str(known),
                WordPiece::Home => text.push(HOME),
                WordPiece::Glob(_) | WordPiece::Variable(_) | WordPiece::Unknown => text.push(UNKNOWN),
            }
            text
        })
    }
}

/// Returns the piece that a mark in a text represents.
pub(super) fn mark(c: char) -> Option<WordPiece> {
    match c {
        UNKNOWN => Some(WordPiece::Unknown),
        HOME => Some(WordPiece::Home),
        _ => None,
    }
}

/// Shows what is known as quoted text, and what is not as `⟨…⟩`.
impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pieces.is_empty() {
            return f.write_str("''");
        }
        for piece in &self.pieces {
            match piece {
                WordPiece::Text(text)
                    if text.contains(|c: char| c.is_whitespace() || "'\"⟨⟩".contains(c)) =>
                {
                    write!(f, "{text:?}")?;
                }
                WordPiece::Text(text) => f.write_str(text)?,
                WordPiece::Home => f.write_str("⟨home⟩")?,
                WordPiece::Glob(glob) => write!(f, "⟨{glob}⟩")?,
                WordPiece::Variable(name) => write!(f, "⟨${name}⟩")?,
                WordPiece::Unknown => f.write_str("⟨?⟩")?,
            }
        }
        if self.extent == WordExtent::Many { f.write_str("…") } else { Ok(()) }
    }
}
