//! Personal data in an unambiguous form: Discord mentions and phone numbers.
//!
//! Both come from bridges to chats. A number is hidden in its international form only, of ten to fifteen digits, and
//! not at the beginning of a line, where a plus is a sign of a diff.

use super::bytes::{DIGIT, IDENT};
use super::hiding::{Hidden, Until};
use super::look::{Look, More};

/// Finds the mention `<@123…>`, `<@!123…>` or `<@&123…>` that begins at `at`.
pub(super) fn mention(look: Look<'_>, at: usize) -> Result<Option<Hidden>, More> {
    if !look.begins(at, b"<@")? {
        return Ok(None);
    }
    let number = if matches!(look.get(at + 2)?, Some(b'!' | b'&')) { at + 3 } else { at + 2 };
    let end = look.run(number, DIGIT, 22)?;
    if !(15..22).contains(&(end - number)) || !look.is(end, b'>')? {
        return Ok(None);
    }
    Ok(Some(Hidden { kind: "discord-mention", from: at, sure: end + 1, until: Until::Here }))
}

/// Finds the number of a phone whose plus is at `at`, after the byte `before`.
pub(super) fn phone(look: Look<'_>, at: usize, before: u8) -> Result<Option<Hidden>, More> {
    if IDENT.has(before) || matches!(before, b'\n' | b'+' | b'/' | b'=') {
        return Ok(None);
    }
    let end = look.run(at + 1, DIGIT, 16)?;
    if !(10..16).contains(&(end - at - 1)) || look.is(at + 1, b'0')? || look.is_of(end, IDENT)? {
        return Ok(None);
    }
    let goes_on = match look.get(end)? {
        Some(b'.') => look.is_of(end + 1, DIGIT)?,
        next => matches!(next, Some(b'/' | b'+')),
    };
    if goes_on {
        return Ok(None);
    }
    Ok(Some(Hidden { kind: "phone", from: at, sure: end, until: Until::Here }))
}
