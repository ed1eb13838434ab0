//! Words after which a secret follows without a sign: `Bearer …`, `-u user:password`, `login user password …`,
//! `docker login -p …`, `sshpass -p …`, `mysql -p…`, `seed phrase is …`.
//!
//! Called by the scanner for words that a blank follows, so `is_one` is asked for nearly every word.

use super::bytes::{ALNUM, BLANK, DIGIT, TOKEN68, WORD, all, is_mixed};
use super::foreign;
use super::hiding::{Hidden, Step, Until, step_bare};
use super::look::{Look, More};
use super::marker;
use super::mysql;
use super::phrase;
use super::placeholder::{is_placeholder, is_template};
use super::quote::Quote;
use super::token;

/// How much of a secret is looked at.
pub(super) const SEEN: usize = 64;
/// Maximum number of words between a command and its password.
const WORDS_BETWEEN: usize = 6;

/// Whether `find` knows `word`, which does not begin with a dash.
#[inline]
pub(super) fn is_one(word: &[u8]) -> bool {
    let is_known = match word.len() {
        5 => word == b"login",
        6 => word.eq_ignore_ascii_case(b"bearer"),
        7 => word == b"sshpass",
        _ => false,
    };
    is_known || mysql::is_client(word) || phrase::is_label(word) || foreign::is_first(word)
}

/// Finds the secret after `word`, which ends at `end` and is followed by a blank.
pub(super) fn find(look: Look<'_>, word: &[u8], end: usize) -> Result<Option<Hidden>, More> {
    match word {
        b"-u" | b"--user" | b"--proxy-user" => user(look, end),
        b"login" | b"sshpass" => password(look, end),
        _ if mysql::is_client(word) => mysql::in_shell(look, end),
        _ if foreign::is_first(word) => foreign::spaced(look, word, end),
        _ if phrase::is_label(word) => phrase::after_label(look, end),
        _ if is_one(word) => bearer(look, end),
        _ => Ok(None),
    }
}

/// Finds the password after `-p` or `password` among the words after a command.
fn password(look: Look<'_>, end: usize) -> Result<Option<Hidden>, More> {
    let mut at = end;
    for _ in 0..WORDS_BETWEEN {
        let from = look.run(at, BLANK, 4)?;
        let to = look.run_of(from, SEEN, |byte| byte > b' ' && !b"\"'`\\".contains(&byte))?;
        let word = look.slice(from, to);
        if from == at
            || word.is_empty()
            || token::is_dense(word)
            || word.iter().any(|byte| b"=[".contains(byte))
        {
            return Ok(None);
        }
        if matches!(word, b"-p" | b"password") {
            return value(look, to);
        }
        at = to;
    }
    Ok(None)
}

/// Finds the secret in the word after `end`. Words of a sentence are none.
fn value(look: Look<'_>, end: usize) -> Result<Option<Hidden>, More> {
    let from = look.run(end, BLANK, 4)?;
    let (from, until, to) = match Quote::at(look, from)? {
        _ if from == end => return Ok(None),
        Some((quote, from)) => (from, Until::Quote(quote), quote.end(look, from, SEEN)?),
        None => (from, Until::Bare, bare_end(look, from)?),
    };
    let to = to.unwrap_or(from + SEEN);
    let text = look.slice(from, to);
    let secret = text.len() >= 4
        && (is_mixed(text) || !all(text, WORD))
        && !is_placeholder(text)
        && !is_template(text)
        && !text.starts_with(b"{");
    let secret = secret && !marker::is_within(look, from, to)?;
    Ok(secret.then_some(Hidden { kind: "password", from, sure: from, until }))
}

/// Finds the token after the word `Bearer`, which ends at `end`.
fn bearer(look: Look<'_>, end: usize) -> Result<Option<Hidden>, More> {
    let from = look.run(end, BLANK, 4)?;
    if from == end || marker::end(look, from)?.is_some() {
        return Ok(None);
    }
    let to = look.run(from, TOKEN68, SEEN)?;
    let text = look.slice(from, to);
    let secret = text.len() >= 16 && is_mixed(text) || text.len() >= 32 && token::is_dense(text);
    Ok(secret.then_some(Hidden { kind: "bearer-token", from, sure: from, until: Until::Chars(TOKEN68) }))
}

/// Finds the password after the option `-u`, which ends at `end`: `-u user:password`.
fn user(look: Look<'_>, end: usize) -> Result<Option<Hidden>, More> {
    let at = look.run(end, BLANK, 4)?;
    if at == end {
        return Ok(None);
    }
    let (user, until) = match Quote::at(look, at)? {
        Some((quote, after)) => (after, Until::Quote(quote)),
        None => (at, Until::Bare),
    };
    let colon = look.run_of(user, SEEN, |byte| WORD.has(byte) || matches!(byte, b'@' | b'+'))?;
    if !look.is_of(user, ALNUM)? || !look.is(colon, b':')? || look.is(colon + 1, b':')? {
        return Ok(None);
    }
    let from = colon + 1;
    let to = match until {
        Until::Quote(quote) => quote.end(look, from, SEEN)?,
        _ => bare_end(look, from)?,
    };
    let name = look.slice(user, colon);
    if token::is_dense(name) {
        return Ok(Some(Hidden { kind: "credential", from: user, sure: user, until }));
    }
    if marker::is_within(look, from, to.unwrap_or(from + SEEN))? {
        return Ok(None);
    }
    if let Some(to) = to {
        let (user, text) = (name, look.slice(from, to));
        let group = all(text, DIGIT) || text == user || text.len() < 4 && all(text, ALNUM);
        if group || is_placeholder(text) || is_template(text) {
            return Ok(None);
        }
    }
    Ok(Some(Hidden { kind: "password", from, sure: from, until }))
}

/// Returns the end of the value without quotation marks at `from`; none if it is longer than `SEEN`.
pub(super) fn bare_end(look: Look<'_>, from: usize) -> Result<Option<usize>, More> {
    let mut end = from;
    while end - from < SEEN {
        match step_bare(look, end)? {
            Step::Hide(to) => end = to,
            Step::Stop => return Ok(Some(end)),
        }
    }
    Ok(None)
}
