//! Redacts text that arrives in pieces, and returns as much as can be decided.
//!
//! The results together equal `redact` of the whole text, however it was cut. Used for everything that streams:
//! answers, reasoning, output of commands.

use super::look::Tail;
use super::scanner::Scanner;

/// Memory that a stream keeps between pieces, so that a large piece is not paid for to the end.
const KEPT: usize = 16 * 1024;

/// Redacts one streamed text.
///
/// In ordinary text only the last word is held, and after the name of a secret its possible value. At most 8 KiB are
/// held for a word that begins like a JWT, and otherwise less than 2 KiB: undecided text of that length is not a JWT
/// and is emitted, or is a secret and is hidden. A detected secret is only counted, so one without an end takes no
/// memory; its marker is emitted when it ends.
///
/// After `finish` the stream is ready for another text.
#[derive(Debug)]
pub struct Stream {
    scanner: Scanner,
    /// The held text.
    held: String,
}

impl Stream {
    /// A stream at the beginning of a text.
    pub fn new() -> Self {
        Self { scanner: Scanner::after(b'\n'), held: String::new() }
    }

    /// Takes the next piece and appends to `out` what is decided.
    pub fn push(&mut self, piece: &str, out: &mut String) {
        self.held.push_str(piece);
        self.scanner.run(&self.held, Tail::GoesOn, out);
        let decided = self.scanner.held_from();
        if decided == 0 {
            return;
        }
        let last = self.held.as_bytes()[decided - 1];
        out.push_str(&self.held[self.scanner.written().min(decided)..decided]);
        self.held.drain(..decided);
        self.held.shrink_to(KEPT);
        self.scanner.forget(decided, last);
    }

    /// Ends the text and appends the rest to `out`.
    pub fn finish(&mut self, out: &mut String) {
        self.scanner.run(&self.held, Tail::Ends, out);
        out.push_str(&self.held[self.scanner.written()..]);
        *self = Self::new();
    }

    /// Number of held bytes.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }
}

impl Default for Stream {
    fn default() -> Self {
        Self::new()
    }
}
