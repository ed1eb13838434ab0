//! Signs that are written with letters and digits, which must not be taken for the beginning of a word.
//!
//! `\n` in front of a token in a JSON string, `%3D` in a URL and the colours of a terminal would otherwise hide it: the
//! word would be `nghp_…`. Called by the scanner.

use super::bytes::{DIGIT, LETTER};
use super::look::{Look, More};
use super::{marker, token};

/// Returns the place after the backslash, percent sign or escape character at `at` and what belongs to it.
pub(super) fn end(look: Look<'_>, at: usize) -> Result<usize, More> {
    let next = look.get(at + 1)?;
    Ok(match look.get(at)? {
        Some(b'%') => behind_hex(look, at + 1, 2)?.unwrap_or(at + 1),
        Some(0x1b) => after_colour(look, at + 1)?,
        _ => match next {
            Some(b'n' | b'r' | b't' | b'b' | b'f' | b'v') => at + 2,
            Some(b'u') => coded(look, at, 4)?,
            Some(b'x') => coded(look, at, 2)?,
            Some(b'e') if look.is(at + 2, b'[')? => after_colour(look, at + 2)?,
            Some(b'0') if look.begins(at + 1, b"033[")? => after_colour(look, at + 4)?,
            _ => at + 1,
        },
    })
}

/// Skips `\u001b` or `\x1b` and the colour that may follow.
fn coded(look: Look<'_>, at: usize, digits: usize) -> Result<usize, More> {
    match behind_hex(look, at + 2, digits)? {
        Some(after) => after_colour(look, after),
        None => Ok(at + 1),
    }
}

fn behind_hex(look: Look<'_>, from: usize, digits: usize) -> Result<Option<usize>, More> {
    let to = look.run_of(from, digits, |byte| byte.is_ascii_hexdigit())?;
    Ok((to - from == digits).then_some(to))
}

/// Skips a colour sequence such as `[0;31m`, if there is one.
fn after_colour(look: Look<'_>, at: usize) -> Result<usize, More> {
    if !look.is(at, b'[')? || marker::end(look, at)?.is_some() {
        return Ok(at);
    }
    let to = look.run_of(at + 1, 24, |byte| DIGIT.has(byte) || b";:?".contains(&byte))?;
    let ends = if to > at + 1 {
        look.is_of(to, LETTER)?
    } else {
        matches!(look.get(to)?, Some(b'm' | b'H' | b'J' | b'K'))
    };
    let colour = ends && token::family(look, to)?.is_none();
    Ok(if colour { to + 1 } else { at })
}
