//! Base64 of a text that has a secret in it: `OPENAI_API_KEY=sk-…` after `base64`, a file of settings in a manifest.
//!
//! A run of base64 whose first bytes are readable text is decoded and redacted; if that finds something, the rest of
//! the run is hidden, also on the following lines where a tool has wrapped it. A long run is read in windows that
//! overlap, so little text is held and the work stays linear. Random data (hashes, images, keys) ends at the first
//! group: every fourth letter of encoded ASCII has bits that are never set. Called by the scanner at the beginning of
//! words.

use super::bytes::{BASE64, BASE64URL, IDENT};
use super::hiding::{Hidden, Step, Until, is_joint};
use super::look::{Look, More, Tail};
use super::marker;
use super::pem::{behind_gap, is_new_line};
use super::scanner::Scanner;
use super::token::{self, Opening};

/// How much of a run must be letters and digits that decode to text, before anything is decoded.
pub(super) const LEAST: usize = 16;
/// How much of a run is decoded at once.
const WINDOW: usize = 512;
/// How far the next window begins from this one. What both have is longer than any rule looks ahead.
const STRIDE: usize = 256;
/// Lines of at least this length continue in the next line.
const FULL_LINE: usize = 60;
/// Words are shorter than this.
const LONG_LINE: usize = 40;

/// State of a run of base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoded {
    /// It is none, or nothing in it is secret.
    Nothing,
    /// There is nothing secret up to this place, where the rest of the run begins.
    Searched(usize),
    /// There is a secret in it.
    Secret(Hidden),
}

/// Whether encoded text may begin with `letter`: with a printable character, a tab or a line end.
#[inline]
pub(super) const fn may_open(letter: u8) -> bool {
    matches!(letter, b'C' | b'D' | b'I'..=b'Z' | b'a'..=b'f')
}

/// Whether the first four of `bytes` may be encoded text.
#[inline]
pub(super) fn may_begin(bytes: &[u8]) -> bool {
    let Some([a, b, c, d]) = bytes.first_chunk() else { return false };
    group([*a, *b, *c, *d]).is_some_and(|group| group.iter().all(|byte| is_text(*byte)))
}

/// Looks into the run that begins at `from`.
pub(super) fn find(look: Look<'_>, from: usize) -> Result<Encoded, More> {
    if !begins_as_text(look, from)? {
        return Ok(Encoded::Nothing);
    }
    let (mut at, mut next, mut line, mut is_wrapped) = (from, from, 0, false);
    let mut letters = Vec::with_capacity(WINDOW);
    let tail = loop {
        match look.get(at)?.filter(|byte| value_of(*byte).is_some()) {
            Some(_) if letters.len() == WINDOW => break Tail::GoesOn,
            Some(letter) => {
                letters.push(letter);
                (at, line) = (at + 1, line + 1);
                if letters.len() == STRIDE && !is_wrapped {
                    next = at;
                }
            }
            None => match next_line(look, at, line)? {
                Some(begin) if !begins_a_secret(look, begin)? => {
                    (at, line, is_wrapped) = (begin, 0, true);
                    if letters.len() <= STRIDE {
                        next = begin;
                    }
                }
                _ => break Tail::Ends,
            },
        }
    };
    Ok(if holds_secret(&decode(&letters), tail) {
        let until = Until::Encoded(Rest { line: 0 });
        Encoded::Secret(Hidden { kind: "encoded-secret", from, sure: from, until })
    } else if tail == Tail::GoesOn {
        Encoded::Searched(next)
    } else if is_wrapped {
        Encoded::Searched(at)
    } else {
        Encoded::Nothing
    })
}

/// Where inside the rest of a run: how much of its line has been hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rest {
    line: usize,
}

impl Rest {
    /// Takes one step through the run.
    pub(super) fn step(&mut self, look: Look<'_>, at: usize) -> Result<Step, More> {
        let to = look.stretch(at, |byte| BASE64.has(byte) || BASE64URL.has(byte));
        if to > at {
            self.line = self.line.saturating_add(to - at);
            return Ok(Step::Hide(to));
        }
        if is_joint(look, at)? {
            return Ok(Step::Hide(at + 1));
        }
        Ok(match next_line(look, at, self.line)? {
            Some(begin) => {
                self.line = 0;
                Step::Hide(begin)
            }
            None => Step::Stop,
        })
    }
}

/// Whether the first letters of a run decode to readable text.
fn begins_as_text(look: Look<'_>, from: usize) -> Result<bool, More> {
    for first in (from..from + LEAST).step_by(4) {
        let mut letters = [0; 4];
        for (letter, at) in letters.iter_mut().zip(first..) {
            match look.get(at)? {
                Some(byte) if IDENT.has(byte) => *letter = byte,
                _ => return Ok(false),
            }
        }
        if !may_begin(&letters) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns where the run continues after the line that ends at `at` with `line` letters.
fn next_line(look: Look<'_>, at: usize, line: usize) -> Result<Option<usize>, More> {
    if line < FULL_LINE || !matches!(look.get(at)?, Some(b'\n' | b'\r' | b'\\')) {
        return Ok(None);
    }
    let begin = behind_gap(look, at)?;
    if !is_new_line(look.slice(at, begin)) {
        return Ok(None);
    }
    let end = look.run_of(begin, LONG_LINE, |byte| value_of(byte).is_some())?;
    let line = look.slice(begin, end);
    // A short line is the last one. It must be encoded text as a whole, because a word on its own line looks the same.
    let is_encoded = if line.len() == LONG_LINE {
        !decode(&line[..4]).contains(|char: char| char.is_ascii_control() && !char.is_ascii_whitespace())
    } else {
        let is_last = look.get(end)?.is_none_or(|byte| b"=\n\r\\\"'`".contains(&byte));
        is_last && line.len() > 1 && decode(line).bytes().all(is_text)
    };
    Ok(is_encoded.then_some(begin))
}

/// Whether the line that begins at `at` is a separate secret after a run that fills its last line: its letters may
/// all be letters of base64, and decoding it would find nothing.
fn begins_a_secret(look: Look<'_>, at: usize) -> Result<bool, More> {
    Ok(Opening::at(look, at)? == Some(Opening::JWT) || token::by_family(look, at)?.is_some())
}

/// Whether the redactor would hide something in `text` other than personal data.
fn holds_secret(text: &str, tail: Tail) -> bool {
    let mut out = String::new();
    let mut scanner = Scanner::after(b'\n');
    scanner.run(text, tail, &mut out);
    let look = Look::whole(out.as_bytes());
    scanner.is_hiding()
        || memchr::memchr_iter(b'[', out.as_bytes()).any(|at| marker::is_word(look, at) == Ok(true))
}

fn decode(letters: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3 + 3);
    for chunk in letters.chunks(4) {
        let mut padded = [b'A'; 4];
        padded[..chunk.len()].copy_from_slice(chunk);
        let whole = chunk.len().saturating_sub(1);
        bytes.extend(group(padded).iter().flatten().take(whole));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Decodes four letters.
#[inline]
fn group(letters: [u8; 4]) -> Option<[u8; 3]> {
    let [a, b, c, d] = letters.map(value_of);
    let (a, b, c, d) = (a?, b?, c?, d?);
    Some([a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d])
}

/// Returns the value of a letter, in either alphabet.
#[inline]
const fn value_of(letter: u8) -> Option<u8> {
    Some(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

const fn is_text(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')
}
