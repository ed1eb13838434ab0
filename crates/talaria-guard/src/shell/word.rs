//! A word of a command line, as far as it is known before the shell runs.
//!
//! Owns the difference between text that is certain and text that only the running shell knows, and how a partly known
//! text is handed to another reading (`sh -c "…"`). Called by everything in `shell` and by `rules`.

use std::fmt;

/// Stands for text that is not known, when a text is read a second time; refused in lines themselves.
const UNKNOWN: char = '\u{FDD0}';
/// Stands for the home directory, likewise.
const HOME: char = '\u{FDD1}';

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
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
pub enum Extent {
    /// Exactly one.
    One,
    /// None, one or several.
    Many,
}

/// A word, in pieces; neighbouring texts are joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pieces: Vec<Piece>,
    extent: Extent,
}

impl Word {
    /// Makes a word of pieces.
    pub(crate) fn new(pieces: Vec<Piece>, extent: Extent) -> Self {
        let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match (joined.last_mut(), piece) {
                (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
                (_, Piece::Text(text)) if text.is_empty() => {}
                (_, piece) => joined.push(piece),
            }
        }
        Self { pieces: joined, extent }
    }

    /// Makes a word that is known.
    pub(crate) fn known(text: &str) -> Self {
        Self::new(vec![Piece::Text(text.to_owned())], Extent::One)
    }

    /// Makes what may be any number of any words.
    pub(crate) fn anything() -> Self {
        Self { pieces: vec![Piece::Unknown], extent: Extent::Many }
    }

    /// The parts.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// How many words it can become.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// The text, if every part of it is known and it is one word.
    pub fn text(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
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
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    /// The word without the first `bytes` bytes of its known beginning.
    pub(crate) fn without_start(&self, bytes: usize) -> Self {
        let mut pieces = self.pieces.clone();
        if let Some(Piece::Text(text)) = pieces.first_mut() {
            *text = text.get(bytes..).unwrap_or_default().to_owned();
        }
        Self::new(pieces, self.extent)
    }

    /// The word with `mark` in its known parts replaced by something unknown.
    pub(crate) fn with_unknown(&self, mark: &str) -> Self {
        let mut pieces = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) if !mark.is_empty() => {
                    for (index, part) in text.split(mark).enumerate() {
                        if index > 0 {
                            pieces.push(Piece::Unknown);
                        }
                        pieces.push(Piece::Text(part.to_owned()));
                    }
                }
                other => pieces.push(other.clone()),
            }
        }
        Self::new(pieces, self.extent)
    }

    /// Is every part known, the home directory counted as known?
    pub(crate) fn is_settled(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Text(_) | Piece::Home))
    }

    /// The text for another reading, with marks where it is not known.
    pub(crate) fn marked(&self) -> String {
        self.pieces.iter().fold(String::new(), |mut text, piece| {
            match piece {
                Piece::Text(known) => text.push_str(known),
                Piece::Home => text.push(HOME),
                Piece::Glob(_) | Piece::Variable(_) | Piece::Unknown => text.push(UNKNOWN),
            }
            text
        })
    }
}

/// The piece that a mark in a text stands for.
pub(super) fn mark(c: char) -> Option<Piece> {
    match c {
        UNKNOWN => Some(Piece::Unknown),
        HOME => Some(Piece::Home),
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
                Piece::Text(text) if text.contains(|c: char| c.is_whitespace() || "'\"⟨⟩".contains(c)) => {
                    write!(f, "{text:?}")?;
                }
                Piece::Text(text) => f.write_str(text)?,
                Piece::Home => f.write_str("⟨home⟩")?,
                Piece::Glob(glob) => write!(f, "⟨{glob}⟩")?,
                Piece::Variable(name) => write!(f, "⟨${name}⟩")?,
                Piece::Unknown => f.write_str("⟨?⟩")?,
            }
        }
        if self.extent == Extent::Many { f.write_str("…") } else { Ok(()) }
    }
}
