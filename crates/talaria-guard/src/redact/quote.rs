//! Quotation marks, also escaped ones: `"`, `'`, a backtick, `\"` in JSON inside a JSON string, `\\\"` one level deeper.
//!
//! Owns where a quoted text begins and ends. A mark with as many backslashes as the opening one ends it; with more it
//! belongs to the text; with fewer the surrounding text has ended.

use super::look::{Look, More};

/// Backslashes in front of a mark that are told apart: four levels of JSON in JSON.
const DEEPEST: usize = 15;
/// Backslashes are read in runs of this length; a multiple of the period of every level.
const RUN: usize = 32;

/// How a quoted text was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quote {
    mark: u8,
    slashes: usize,
}

/// What stands at one place of a quoted text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// Text up to there.
    Text(usize),
    /// The end.
    End,
}

impl Quote {
    /// Reads a quotation mark at `at`; gives it and the place behind it.
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

    /// Reads the opening of a literal at `at`, also `f"`, `rb'` and `"""`; gives it and the place behind it.
    pub(super) fn open(look: Look<'_>, at: usize) -> Result<Option<(Self, usize)>, More> {
        let letters = look.run_of(at, 3, |byte| b"bfruBFRU".contains(&byte))? - at;
        if letters > 2 {
            return Ok(None);
        }
        let Some((quote, behind)) = Self::at(look, at + letters)? else { return Ok(None) };
        if letters > 0 && (quote.slashes > 0 || quote.mark == b'`') {
            return Ok(None);
        }
        let tripled =
            quote.slashes == 0 && look.is(behind, quote.mark)? && look.is(behind + 1, quote.mark)?;
        Ok(Some((quote, if tripled { behind + 2 } else { behind })))
    }

    /// Whether a further mark with `slashes` in front ends the text.
    fn is_closed_by(self, slashes: usize) -> bool {
        slashes < self.slashes || slashes % (2 * self.slashes + 2) == self.slashes
    }

    /// Says what stands at `at` inside the text. A line end ends the text too: a mark that nobody closes must not
    /// swallow what follows.
    pub(super) fn inside(self, look: Look<'_>, at: usize) -> Result<Inside, More> {
        let to = look.stretch(at, |byte| byte != self.mark && !matches!(byte, b'\\' | b'\n' | b'\r'));
        if to > at {
            return Ok(Inside::Text(to));
        }
        if look.get(at)? != Some(b'\\') {
            return Ok(Inside::End);
        }
        let behind = look.run_of(at, RUN, |byte| byte == b'\\')?;
        let slashes = behind - at;
        if slashes == RUN || !look.is(behind, self.mark)? {
            return Ok(Inside::Text(behind));
        }
        if !self.is_closed_by(slashes) {
            return Ok(Inside::Text(behind + 1));
        }
        // The backslashes of the closing mark are not part of the text, those of the text itself are.
        let own = slashes.saturating_sub(self.slashes);
        Ok(if slashes < self.slashes || own == 0 { Inside::End } else { Inside::Text(at + own) })
    }

    /// Gives the end of the text that begins at `from`, or none if it is longer than `limit`.
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
