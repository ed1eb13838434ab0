//! Passwords on the command line of MySQL and MariaDB, which follow `-p` without a blank: `mysql -uroot -phunter2`.
//!
//! Reads the words after the name of a client, in a shell (`mysql -h db -p'…'`) and in a list (`["mysql", "-p…"]`),
//! over a bounded stretch. `-p` alone asks for the password, and `-P` is a port. Called by the scanner.

use super::bytes::{BLANK, DIGIT, LOWER, any};
use super::commands::{SEEN, bare_end};
use super::hiding::{Hidden, Until};
use super::look::{Look, More};
use super::marker;
use super::placeholder::{is_placeholder, is_template, names_a_secret};
use super::quote::Quote;

/// How far the option is looked for.
const FAR: usize = 256;
/// How many words that are no options may follow each other: the value of an option, a database, a table.
const PLAIN_WORDS: usize = 3;

/// Whether `word` names a client: `mysql`, `mysqldump`, `mariadb-admin`.
#[inline]
pub(super) fn is_client(word: &[u8]) -> bool {
    match word.len() {
        5 => word == b"mysql",
        7 => word == b"mariadb",
        8..=16 => word.starts_with(b"mysql") || word.starts_with(b"mariadb-"),
        _ => false,
    }
}

/// Finds the password among the words of a shell after the name of a client, which ends at `end`.
pub(super) fn in_shell(look: Look<'_>, end: usize) -> Result<Option<Hidden>, More> {
    let (mut at, mut plain) = (end, 0);
    while at - end < FAR && plain <= PLAIN_WORDS {
        let from = after_blanks(look, at)?;
        let Some(first) = look.get(from)? else { return Ok(None) };
        if from == at || first < b' ' || b";|&<>#)".contains(&first) {
            return Ok(None);
        }
        if look.begins(from, b"-p")? {
            return password(look, from + 2);
        }
        plain = if first == b'-' { 0 } else { plain + 1 };
        match end_of_word(look, from)? {
            // The next client has its own options.
            Some(to) if !is_client(look.slice(from, to)) => at = to,
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// Finds the password in a list of quoted words; the name of the client in front of it ends at the mark at `end`.
pub(super) fn in_list(look: Look<'_>, end: usize) -> Result<Option<Hidden>, More> {
    let mut at = end;
    while at - end < FAR {
        let Some((_, after)) = Quote::at(look, at)? else { return Ok(None) };
        let next = look.run_of(after, 16, |byte| byte == b',' || byte.is_ascii_whitespace())?;
        let Some((quote, from)) = Quote::at(look, next)?.filter(|_| next > after) else { return Ok(None) };
        let Some(to) = quote.end(look, from, FAR)? else { return Ok(None) };
        if look.begins(from, b"-p")? && to > from + 2 {
            return judge(look, from + 2, Some(to), Until::Quote(quote));
        }
        at = to;
    }
    Ok(None)
}

/// Skips blanks, and the ends of lines that a backslash continues.
fn after_blanks(look: Look<'_>, from: usize) -> Result<usize, More> {
    let at = look.run(from, BLANK, 8)?;
    if at > from && look.begins(at, b"\\\n")? { look.run(at + 2, BLANK, 16) } else { Ok(at) }
}

/// Returns the end of the shell word at `from`; none if it does not end nearby, or if the surrounding text ends in it.
fn end_of_word(look: Look<'_>, from: usize) -> Result<Option<usize>, More> {
    let is_option = look.is(from, b'-')?;
    let mut at = from;
    while at - from < FAR {
        at = look.run_of(at, FAR, |byte| byte > b' ' && !b"\"'`\\;|&".contains(&byte))?;
        if let Some((quote, inside)) = Quote::at(look, at)? {
            let opens = at == from || is_option && look.is(at - 1, b'=')? || is_option && at == from + 2;
            let Some(end) = quote.end(look, inside, FAR)?.filter(|_| opens) else { return Ok(None) };
            at = Quote::at(look, end)?.map_or(end, |(_, after)| after);
        } else {
            break;
        }
    }
    Ok(Some(at))
}

/// Finds the password that begins at `at`, after the letter of the option.
fn password(look: Look<'_>, at: usize) -> Result<Option<Hidden>, More> {
    let Some((quote, from)) = Quote::at(look, at)? else {
        return judge(look, at, bare_end(look, at)?, Until::Bare);
    };
    // The mark may also end a text that contains the option: `"mysql -p"`.
    let first = look.get(from)?;
    if first.is_none_or(|byte| byte.is_ascii_whitespace() || b",;:)]}\\\"'`".contains(&byte)) {
        return Ok(None);
    }
    judge(look, from, quote.end(look, from, SEEN)?, Until::Quote(quote))
}

/// Decides about the text that begins at `from`, and ends at `to` unless it is long.
fn judge(look: Look<'_>, from: usize, to: Option<usize>, until: Until) -> Result<Option<Hidden>, More> {
    let text = look.slice(from, to.unwrap_or(from + SEEN));
    let is_port = text.contains(&b':') && text.iter().all(|byte| DIGIT.has(*byte) || b":.".contains(byte));
    let is_name = names_a_secret(text) && !any(text, LOWER);
    if text.is_empty() || is_port || is_name || is_placeholder(text) || is_template(text) {
        return Ok(None);
    }
    let is_done = marker::is_within(look, from, from + text.len())?;
    Ok((!is_done).then_some(Hidden { kind: "password", from, sure: from, until }))
}
