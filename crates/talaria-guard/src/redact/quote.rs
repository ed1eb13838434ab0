//! Quotation marks, also escaped ones: `"`, `'`, a backtick, `\"` in JSON inside a JSON string, `\\\"` one level
//! deeper.
//!
//! Owns where a quoted text begins and ends. A mark with as many backslashes as the opening one ends it; with more it
//! belongs to the text; with fewer the surrounding text has ended.

use super::look::{Look, More};

/// Maximum number of backslashes before a mark that are distinguished: four levels of JSON in JSON.
const DEEPEST: usize = 15;
/// Backslashes are read in runs of this length; a multiple of the period of every level.
const RUN: usize = 32;

/// How a quoted text was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quote {
    mark: u8,
    slashes: usize,
}

/// One position of a quoted text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// Text up to there.
    Text(usize),
    /// The end.
    End,
}

impl Quote {
    /// Reads a quotation mark at `at`; returns it and the place after it.
    pub(super) fn at(look: Look<'_>, at: usize) -> Result<Option<(Self, usize)>, More> {
        let mark = look.run_of(at, DEEPEST + 1, |byte| byte == b'\\')?;
        let slashes = mark - at;
        Ok(match look.get(mark)? {
            Some(byte @ (b'"' | b'\'' | b'`')) if slashes <= DEEPEST => {
                Some((Self { mark: byte, slashes }, mark + 1))
            }
            _ => None,
        })
    }

    /// Reads the opening of a literal at `at`, also `f"`, `rb'` and `"""`; returns it and the place after it.
    pub(super) fn open(look: Look<'_>, at: usize) -> Result<Option<(Self, usize)>, More> {
        let letters = look.run_of(at, 3, |byte| b"bfruBFRU".contains(&byte))? - at;
        if letters > 2 {
            return Ok(None);
        }
        let Some((quote, after)) = Self::at(look, at + letters)? else { return Ok(None) };
        if letters > 0 && (quote.slashes > 0 || quote.mark == b'`') {
            return Ok(None);
        }
        let tripled = quote.slashes == 0 && look.is(after, quote.mark)? && look.is(after + 1, quote.mark)?;
        Ok(Some((quote, if tripled { after + 2 } else { after })))
    }

    /// Whether a further mark with `slashes` in front ends the text.
    fn is_closed_by(self, slashes: usize) -> bool {
        slashes < self.slashes || slashes % (2 * self.slashes + 2) == self.slashes
    }

    /// Returns what is at `at` inside the text. A line end ends the text too: an unclosed mark must not
    /// swallow what follows.
    pub(super) fn inside(self, look: Look<'_>, at: usize) -> Result<Inside, More> {
        let to = look.stretch(at, |byte| byte != self.mark && !matches!(byte, b'\\' | b'\n' | b'\r'));
        if to > at {
            return Ok(Inside::Text(to));
        }
        if look.get(at)? != Some(b'\\') {
            return Ok(Inside::End);
        }
        let after = look.run_of(at, RUN, |byte| byte == b'\\')?;
        let slashes = after - at;
        if slashes == RUN || !look.is(after, self.mark)? {
            return Ok(Inside::Text(after));
        }
        if !self.is_closed_by(slashes) {
            return Ok(Inside::Text(after + 1));
        }
        // The backslashes of the closing mark are not part of the text, those of the text itself are.
        let own = slashes.saturating_sub(self.slashes);
        Ok(if slashes < self.slashes || own == 0 { Inside::End } else { Inside::Text(at + own) })
    }

    /// Returns the end of the text that begins at `from`, or none if it is longer than `limit`.
    pub(super) fn end(self, look: Look<'_>, from: usize, limit: usize) -> Result<Option<usize>, More> {
        let mut at = from;
        while at - from <= limit {
            match self.inside(look, at)? {
                Inside::Text(to) => at = to,
                Inside::End => return Ok(Some(at)),
            }
        }
        Ok(None)
    }
}
