//! The replacement of a secret: `[redacted:github-token:40]`, its kind and its length in bytes.
//!
//! Owns writing and recognising it. Recognising matters: text that was redacted before is unchanged. Only kinds that
//! this redactor writes are recognised, so no secret can be disguised as a marker.

use std::fmt::Write as _;

use super::families::{FAMILIES, KINDS};
use super::look::{Look, More};

const OPENING: &[u8] = b"[redacted:";
/// Longer than any kind.
const LONGEST_KIND: usize = 32;
/// As many digits as a length can have.
const LONGEST_COUNT: usize = 20;

/// Appends the marker for `length` bytes of `kind`.
///
/// It has no quote, backslash or control character, so it is valid inside a JSON string.
pub(super) fn write(kind: &str, length: usize, out: &mut String) {
    // Writing into a string does not fail.
    let _ = write!(out, "[redacted:{kind}:{length}]");
}

/// Whether a marker begins between two places. The text around it was checked when the marker was written.
pub(super) fn is_within(look: Look<'_>, from: usize, to: usize) -> Result<bool, More> {
    for at in memchr::memchr_iter(b'[', look.slice(from, to)) {
        if end(look, from + at)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a marker begins at `at` that replaces a word, or what begins like one.
pub(super) fn is_word(look: Look<'_>, at: usize) -> Result<bool, More> {
    let found = read(look, at)?;
    Ok(found.is_some_and(|(kind, _)| !matches!(kind, b"discord-mention" | b"phone")))
}

/// Returns the end of the marker that begins at `at`, if one does.
pub(super) fn end(look: Look<'_>, at: usize) -> Result<Option<usize>, More> {
    Ok(read(look, at)?.map(|(_, end)| end))
}

/// Returns the kind and the end of the marker that begins at `at`, if one does.
fn read(look: Look<'_>, at: usize) -> Result<Option<(&[u8], usize)>, More> {
    if !look.begins(at, OPENING)? {
        return Ok(None);
    }
    let from = at + OPENING.len();
    let to = look.run_of(from, LONGEST_KIND, |byte| byte.is_ascii_lowercase() || byte == b'-')?;
    if !look.is(to, b':')? {
        return Ok(None);
    }
    let count = look.run_of(to + 1, LONGEST_COUNT, |byte| byte.is_ascii_digit())?;
    if count == to + 1 || !look.is(count, b']')? {
        return Ok(None);
    }
    let kind = look.slice(from, to);
    let known = KINDS.iter().copied().chain(FAMILIES.iter().map(|family| family.kind));
    Ok(known.map(str::as_bytes).any(|known| known == kind).then_some((kind, count + 1)))
}
