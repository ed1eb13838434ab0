//! Private keys in PEM, complete or cut off, on lines of their own or with `\n` written out inside a string.
//!
//! A block is a key only if something that looks like its body follows the `BEGIN` line: a program that mentions the
//! line is left alone. A block without its `END` extends as far as its lines look like a key, so that a truncated key
//! does not hide the rest of the text.

use memchr::memmem;

use super::bytes::{BASE64, DIGIT, DOT, IDENT, LETTER, Set, WORD};
use super::hiding::{Hidden, Step, Until};
use super::look::{Look, More};

const DASHES: &[u8] = b"-----";
const BEGIN: &[u8] = b"-----BEGIN";
/// `RSA PRIVATE KEY`, `PGP PRIVATE KEY BLOCK` and the like are shorter.
const LONGEST_LABEL: usize = 40;
/// Separators between two lines of a key: line ends, quotation marks, indentation, signs of a diff.
const LONGEST_GAP: usize = 64;
/// A full line of a key is longer than this, and words are not.
const FULL_LINE: usize = 40;
/// Length of a full line.
const LINE: Set = BASE64.and(IDENT).and(DOT);
/// How far the end of a block is looked for from a short line.
const NEAR: usize = 256;
/// Headers inside a block.
const HEADERS: &[&str] = &["Proc-Type", "DEK-Info", "Version", "Comment", "Hash", "Charset"];
const LONGEST_HEADER: usize = 100;

/// Where inside the body of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// Between lines.
    Between,
    /// Inside a full line.
    Line,
    /// Following a short line, which is the last of a key that was cut off.
    Last,
    /// Following the end of the block.
    Done,
}

/// Finds the private key whose `BEGIN` is at `begin`.
pub(super) fn private_key(look: Look<'_>, begin: usize) -> Result<Option<Hidden>, More> {
    let Some(from) = begin.checked_sub(DASHES.len()) else { return Ok(None) };
    if look.slice(from, begin) != DASHES {
        return Ok(None);
    }
    let Some(mut at) = behind_label(look, begin, b"BEGIN ")? else { return Ok(None) };
    for _ in HEADERS {
        match behind_header(look, at)? {
            Some(after) => at = after,
            None => break,
        }
    }
    let mut body = Body::Between;
    match body.step(look, at)? {
        Step::Hide(sure) => Ok(Some(Hidden { kind: "private-key", from, sure, until: Until::Key(body) })),
        Step::Stop => Ok(None),
    }
}

/// Whether a private key begins inside another secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// None does.
    Nothing,
    /// None does in front of this place.
    NotBefore(usize),
    /// One begins at the first place.
    Key(Hidden),
}

/// Looks for a private key that begins between two places of another secret.
pub(super) fn within(look: Look<'_>, from: usize, to: usize) -> Result<Within, More> {
    let text = look.slice(from, to);
    let begin = match memmem::find(text, BEGIN) {
        Some(offset) => from + offset,
        // It may begin with the last bytes.
        None => match begin_at_end(look, text, to)? {
            Some(begin) => begin,
            None => return Ok(Within::Nothing),
        },
    };
    if begin > from {
        return Ok(Within::NotBefore(begin));
    }
    Ok(match private_key(look, from + DASHES.len())? {
        Some(key) => Within::Key(key),
        None => Within::NotBefore(to.min(from + BEGIN.len())),
    })
}

fn begin_at_end(look: Look<'_>, text: &[u8], to: usize) -> Result<Option<usize>, More> {
    for count in (1..BEGIN.len()).rev().filter(|count| text.ends_with(&BEGIN[..*count])) {
        if look.begins(to - count, BEGIN)? {
            return Ok(Some(to - count));
        }
    }
    Ok(None)
}

/// Returns the place after `word`, a label of a private key and the closing dashes.
fn behind_label(look: Look<'_>, at: usize, word: &[u8]) -> Result<Option<usize>, More> {
    if !look.begins(at, word)? {
        return Ok(None);
    }
    let from = at + word.len();
    let to = look
        .run_of(from, LONGEST_LABEL, |byte| byte.is_ascii_uppercase() || byte == b' ' || DIGIT.has(byte))?;
    let label = look.slice(from, to);
    let private = label.ends_with(b"PRIVATE KEY") || label.ends_with(b"PRIVATE KEY BLOCK");
    Ok((private && look.begins(to, DASHES)?).then_some(to + DASHES.len()))
}

/// Returns the place after a line `Name: value` that follows at `at`.
fn behind_header(look: Look<'_>, at: usize) -> Result<Option<usize>, More> {
    let name = behind_gap(look, at)?;
    let colon = look.run_of(name, 24, |byte| LETTER.has(byte) || byte == b'-')?;
    let known = HEADERS.iter().any(|header| header.as_bytes() == look.slice(name, colon));
    if !known || !look.begins(colon, b": ")? {
        return Ok(None);
    }
    let end = look.run_of(colon, LONGEST_HEADER, |byte| !matches!(byte, b'\n' | b'\\'))?;
    Ok(matches!(look.get(end)?, Some(b'\n' | b'\\')).then_some(end))
}

/// Skips what may be between two lines of a key.
pub(super) fn behind_gap(look: Look<'_>, from: usize) -> Result<usize, More> {
    let mut at = from;
    while at - from < LONGEST_GAP {
        at = match look.get(at)? {
            // A backslash and its letter are a line end that is written out.
            Some(b'\\') if matches!(look.get(at + 1)?, Some(b'n' | b'r' | b't')) => at + 2,
            Some(b'-') if look.is_of(at + 1, BASE64)? => at + 1,
            Some(byte) if byte.is_ascii_whitespace() || byte >= 0x80 || b"\\\"'`,|>#*;".contains(&byte) => {
                at + 1
            }
            Some(byte) if DIGIT.has(byte) || byte == b'L' => match behind_number(look, at)? {
                Some(after) => after,
                None => break,
            },
            _ => break,
        };
    }
    Ok(at)
}

/// Skips the number of a line, as printed by tools that show files: `12|`, `L12:`, a number and a tab or an arrow.
fn behind_number(look: Look<'_>, at: usize) -> Result<Option<usize>, More> {
    let from = if look.is(at, b'L')? { at + 1 } else { at };
    let to = look.run(from, DIGIT, 7)?;
    let ends = look.get(to)?.is_some_and(|byte| byte >= 0x80 || matches!(byte, b':' | b'|' | b'\t' | b' '));
    Ok((to > from && to - from < 7 && ends).then_some(to + 1))
}

impl Body {
    /// Takes one step through a body.
    pub(super) fn step(&mut self, look: Look<'_>, at: usize) -> Result<Step, More> {
        if *self == Self::Line {
            let to = look.stretch(at, |byte| LINE.has(byte));
            if to > at {
                return Ok(Step::Hide(to));
            }
            if look.is(at, b'-')? && look.is_of(at + 1, IDENT)? {
                return Ok(Step::Hide(at + 1));
            }
            *self = Self::Between;
        }
        if *self == Self::Done {
            return Ok(Step::Stop);
        }
        let line = behind_gap(look, at)?;
        if let Some(end) = behind_end(look, line)? {
            *self = Self::Done;
            return Ok(Step::Hide(end));
        }
        let to = look.run(line, BASE64, FULL_LINE)?;
        if *self == Self::Between && to - line == FULL_LINE {
            *self = Self::Line;
            return Ok(Step::Hide(to));
        }
        if to == line {
            return Ok(Step::Stop);
        }
        if let Some(end) = end_nearby(look, to)? {
            *self = Self::Done;
            return Ok(Step::Hide(end));
        }
        if *self == Self::Between && is_new_line(look.slice(at, line)) && is_end_of_line(look, to)? {
            *self = Self::Last;
            return Ok(Step::Hide(to));
        }
        Ok(Step::Stop)
    }
}

/// Returns the position after the `END` line at `at`.
fn behind_end(look: Look<'_>, at: usize) -> Result<Option<usize>, More> {
    if look.begins(at, DASHES)? { behind_label(look, at + DASHES.len(), b"END ") } else { Ok(None) }
}

/// Returns the place after the end of the block if only short lines of a key precede it.
fn end_nearby(look: Look<'_>, from: usize) -> Result<Option<usize>, More> {
    let mut at = from;
    while at - from < NEAR {
        let line = behind_gap(look, at)?;
        if let Some(end) = behind_end(look, line)? {
            return Ok(Some(end));
        }
        let to = look.run(line, BASE64, FULL_LINE)?;
        if to == at {
            return Ok(None);
        }
        at = to;
    }
    Ok(None)
}

/// Whether there is a line end between two lines, also a written one.
pub(super) fn is_new_line(gap: &[u8]) -> bool {
    gap.contains(&b'\n') || gap.windows(2).any(|pair| pair == b"\\n")
}

fn is_end_of_line(look: Look<'_>, at: usize) -> Result<bool, More> {
    Ok(look.get(at)?.is_none_or(|byte| !WORD.has(byte) && b"\n\r\\\"'`,".contains(&byte)))
}
