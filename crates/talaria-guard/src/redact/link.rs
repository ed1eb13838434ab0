//! Credentials in URLs: `scheme://user:password@host`, also of databases, and tokens in the place of the user.
//!
//! The query of a URL is not looked at here: its parts are names with values, with or without a URL around them.

use super::bytes::{DIGIT, all, is_mixed};
use super::hiding::{Hidden, Until};
use super::look::{Look, More};
use super::marker;
use super::placeholder::{is_placeholder, is_template};
use super::token;

/// Longer is no host. If it has a colon it counts as a password that continues.
const LONGEST_AUTHORITY: usize = 512;
/// A user of which the name may be shown.
const LONGEST_USER: usize = 64;

/// Schemes whose passwords are often written without escaping their slashes.
const DATABASES: &[&str] =
    &["postgres", "postgresql", "mysql", "mariadb", "mongodb", "srv", "redis", "rediss", "amqp", "amqps"];

/// Finds the credentials in a URL of `scheme` whose host, or user, begins at `from`.
pub(super) fn credentials(look: Look<'_>, scheme: &[u8], from: usize) -> Result<Option<Hidden>, More> {
    let database = DATABASES.iter().any(|known| scheme.eq_ignore_ascii_case(known.as_bytes()));
    let (mut colon, mut sign) = (None, None);
    let mut at = from;
    while at - from < LONGEST_AUTHORITY {
        match look.get(at)? {
            Some(b'@') => sign = Some(at),
            Some(b':') if colon.is_none() && sign.is_none() => colon = Some(at),
            Some(b'/' | b'?' | b'#') => match colon {
                Some(colon) if database && sign.is_none() && !is_port(look.slice(colon + 1, at)) => {}
                _ => break,
            },
            // Either this was redacted before, or the address of a host in version 6 of the protocol begins.
            Some(b'[') if at == from || marker::end(look, at)?.is_some() => return Ok(None),
            None | Some(b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'|' | 0..=b' ') => break,
            Some(_) => {}
        }
        at += 1;
    }
    let goes_on = at - from == LONGEST_AUTHORITY;
    let (end, until) = match sign {
        Some(sign) => (sign, Until::Here),
        None if goes_on && colon.is_some() => {
            // The decided part must not end inside a character.
            let ascii = look.slice(from, at).iter().rposition(u8::is_ascii);
            (from + ascii.map_or(0, |last| last + 1), Until::Bare)
        }
        None => return Ok(None),
    };
    if is_secret_user(look, from, colon.unwrap_or(end))? {
        let kind = token::family(look, from)?.map_or("url-credential", |family| family.kind);
        return Ok(Some(Hidden { kind, from, sure: end, until }));
    }
    let Some(from) = colon.map(|colon| colon + 1) else { return Ok(None) };
    let password = look.slice(from, end);
    if is_placeholder(password) || is_template(password) {
        return Ok(None);
    }
    let kind = token::family(look, from)?.map_or("url-password", |family| family.kind);
    Ok(Some(Hidden { kind, from, sure: end, until }))
}

fn is_port(text: &[u8]) -> bool {
    text.len() <= 5 && all(text, DIGIT)
}

/// Whether a token is used as the user name.
fn is_secret_user(look: Look<'_>, from: usize, to: usize) -> Result<bool, More> {
    let user = look.slice(from, to);
    let secret = user.len() > LONGEST_USER
        || user.iter().any(|byte| b"=&".contains(byte))
        || user.len() >= 16 && is_mixed(user) && token::is_dense(user)
        || token::family(look, from)?.is_some();
    Ok(secret && !is_placeholder(user))
}
