//! Headers of HTTP whose value is a secret by definition: `Authorization` of any scheme, and `Cookie`.
//!
//! Owns where the secret begins: the scheme of `Authorization` is kept. Prose that only mentions a header is left
//! alone.

use super::bytes::{BLANK, DIGIT, LETTER, WORD, all, any, is_mixed};
use super::hiding::{Extent, Hidden, Until};
use super::look::{Look, More};
use super::marker;
use super::placeholder::{
    is_identifier, is_placeholder, is_template, is_word, names_a_secret, without_punctuation,
};
use super::quote::Quote;
use super::token;
use super::value::is_url;

const LONGEST_SCHEME: usize = 32;
/// How much of the credentials is looked at.
const SEEN: usize = 64;

/// Schemes after which anything is a secret. Others need credentials that look like one.
#[rustfmt::skip]
const SCHEMES: &[&str] = &[
    "apikey", "api-key", "aws4-hmac-sha256", "basic", "bearer", "digest", "dpop", "geniekey", "hawk",
    "hmac", "key", "mac", "negotiate", "ntlm", "oauth", "psk", "scram-sha-256", "sharedkey", "signature",
    "sso-key", "ssws", "token",
];

/// Finds the credentials in the value of an `Authorization` header that begins at `at`.
pub(super) fn authorization(look: Look<'_>, at: usize) -> Result<Option<Hidden>, More> {
    if marker::end(look, at)?.is_some() {
        return Ok(None);
    }
    // Lists of values, as some languages print headers.
    let at = if look.is(at, b'[')? { at + 1 } else { at };
    let (from, until) = match Quote::open(look, at)? {
        Some((quote, from)) => (from, Until::Quote(quote)),
        None => (at, Until::Header(Extent::Credentials, None)),
    };
    credentials(look, from, until)
}

/// Finds the credentials in the value of an `Authorization` header that begins at `from` and ends by `until`.
pub(super) fn credentials(look: Look<'_>, from: usize, until: Until) -> Result<Option<Hidden>, More> {
    let end = look.run(from, WORD, LONGEST_SCHEME)?;
    let scheme = look.slice(from, end);
    let credentials = look.run(end, BLANK, 4)?;
    let known = SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known.as_bytes()));
    let begins = |at: usize| Ok(look.get(at)?.is_some_and(|byte| !b"\"'`\\\r\n".contains(&byte)));
    if credentials > end && end > from && begins(credentials)? {
        let text = credentials_at(look, credentials)?;
        if marker::is_within(look, credentials, credentials + text.len())?
            || is_placeholder(text)
            || is_template(text)
        {
            return Ok(None);
        }
        let readable = known || scheme.len() <= 16 && !any(scheme, DIGIT);
        let secret = match until {
            _ if known => !(is_word(text) || all(text, LETTER) && names_a_secret(text)),
            Until::Header(..) => text.len() >= 8 && (is_mixed(text) || text.len() >= 20),
            _ => true,
        };
        let from = if readable { credentials } else { from };
        return Ok(secret.then_some(Hidden { kind: "authorization", from, sure: from, until }));
    }
    let text = credentials_at(look, from)?;
    if marker::is_within(look, from, from + text.len())? {
        return Ok(None);
    }
    if is_url(text) || known && text.len() == scheme.len() || is_placeholder(text) || is_template(text) {
        return Ok(None);
    }
    let secret = match until {
        Until::Header(..) => {
            text.len() >= 8 && is_mixed(text) && !text.contains(&b'(') && !is_identifier(text)
                || text.len() >= 20 && token::is_dense(text)
        }
        _ => text.len() >= 8 && !names_a_secret(text) && !is_identifier(text),
    };
    Ok(secret.then_some(Hidden { kind: "authorization", from, sure: from, until }))
}

/// Returns the text at `at` up to a blank or a quotation mark.
fn credentials_at(look: Look<'_>, at: usize) -> Result<&[u8], More> {
    let end = look.run_of(at, SEEN, |byte| !byte.is_ascii_whitespace() && !b"\"'`\\".contains(&byte))?;
    Ok(without_punctuation(look.slice(at, end)))
}

/// Finds the cookies in the value of a `Cookie` or `Set-Cookie` header that begins at `at`.
pub(super) fn cookie(look: Look<'_>, at: usize) -> Result<Option<Hidden>, More> {
    if marker::end(look, at)?.is_some() {
        return Ok(None);
    }
    let at = if look.is(at, b'[')? { at + 1 } else { at };
    let (from, until) = match Quote::open(look, at)? {
        Some((quote, from)) => (from, Until::Quote(quote)),
        None => (at, Until::Header(Extent::Line, None)),
    };
    let sign = look.run_of(from, 64, |byte| WORD.has(byte) || byte == b'%')?;
    let value = sign + 1;
    if sign == from || !look.is(sign, b'=')? || marker::end(look, value)?.is_some() {
        return Ok(None);
    }
    let text = credentials_at(look, value)?;
    if text.is_empty() || is_placeholder(text) || is_template(text) || text.starts_with(b"=") {
        return Ok(None);
    }
    Ok(Some(Hidden { kind: "cookie", from, sure: from, until }))
}
