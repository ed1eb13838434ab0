//! The words that restore a wallet (BIP-39): twelve to twenty-four short words after a label such as `seed phrase:`.
//!
//! There is no list of the words here. They are recognised by their label and their form: three to eight small letters
//! each, and none of the words that every English sentence has and that list lacks. The scanner asks after a label that
//! a blank follows, `value.rs` after a name with its sign.

use super::bytes::{BLANK, DIGIT, IDENT, LOWER, any};
use super::commands;
use super::hiding::{Hidden, Until};
use super::look::{Look, More};
use super::names;
use super::token;

/// How many words a phrase has.
const WORDS: std::ops::RangeInclusive<usize> = 12..=24;
/// How many letters a word has.
const LETTERS: std::ops::RangeInclusive<usize> = 3..=8;
/// Separators between a label and the first word.
const LONGEST_OPENING: usize = 48;
/// Separators between two words: blanks, line ends, commas, quotation marks, numbers.
const LONGEST_GAP: usize = 16;

/// Words of ordinary sentences that are in no phrase.
#[rustfmt::skip]
const ORDINARY: &[&str] = &[
    "and", "are", "been", "but", "could", "did", "does", "for", "from", "had", "has", "her", "his", "its", "may", "not", "our",
    "shall", "should", "than", "the", "their", "these", "those", "was", "were", "which", "with", "would", "your",
];

/// Whether `word` is a label after which a phrase may follow.
#[inline]
pub(super) fn is_label(word: &[u8]) -> bool {
    match word.len() {
        4 => word.eq_ignore_ascii_case(b"seed"),
        6 => word.eq_ignore_ascii_case(b"phrase"),
        8 => word.eq_ignore_ascii_case(b"mnemonic") || word.eq_ignore_ascii_case(b"recovery"),
        _ => false,
    }
}

/// Finds the phrase after a label that ends at `end`, if a sign or a verb says that it is one.
pub(super) fn after_label(look: Look<'_>, end: usize) -> Result<Option<Hidden>, More> {
    let (mut at, mut is_given) = (end, false);
    while at - end < LONGEST_OPENING {
        match look.get(at)? {
            Some(b':' | b'=' | b'\n') => is_given = true,
            Some(byte) if BLANK.has(byte) || DIGIT.has(byte) || b"\r*().>\"'`".contains(&byte) => {}
            Some(b'\\') if look.is(at + 1, b'n')? => (at, is_given) = (at + 1, true),
            Some(b'\\') => {}
            Some(b'i' | b'p' | b'w' | b'm') if !is_given => {
                let word = look.slice(at, look.run(at, LOWER, 9)?);
                match word {
                    b"is" => is_given = true,
                    b"phrase" | b"words" | b"mnemonic" => {}
                    _ => return Ok(None),
                }
                at += word.len() - 1;
            }
            _ => break,
        }
        at += 1;
    }
    if is_given { words(look, at) } else { Ok(None) }
}

/// Finds the phrase that begins at `at`, perhaps in quotation marks or in a list.
pub(super) fn value(look: Look<'_>, at: usize) -> Result<Option<Hidden>, More> {
    words(look, skip(look, at, b"\"'`\\[(*>|.)")?)
}

/// Finds the phrase whose first word begins at `from`.
fn words(look: Look<'_>, from: usize) -> Result<Option<Hidden>, More> {
    let (mut at, mut end, mut count, mut lines) = (from, from, 0, None);
    // What follows the longest phrase does not matter: it may be anything that looks like a word.
    while count < *WORDS.end() {
        let to = look.run(at, LOWER, LETTERS.end() + 1)?;
        let word = look.slice(at, to);
        if !LETTERS.contains(&word.len()) || look.get(to)?.is_some_and(|byte| IDENT.has(byte) || byte >= 0x80)
        {
            break;
        }
        let is_phrase = WORDS.contains(&count);
        if ORDINARY.iter().any(|ordinary| ordinary.as_bytes() == word) {
            if is_phrase {
                break;
            }
            return Ok(None);
        }
        let next = skip(look, to, b",\"'`\\.):|-")?;
        let gap = look.slice(to, next);
        if begins_a_token(look, to, gap)? || introduces_a_secret(look, at, word, next)? {
            break;
        }
        (end, count) = (to, count + 1);
        let is_line = gap.contains(&b'\n') || gap.windows(2).any(|pair| pair == b"\\n");
        // Lines end a phrase unless each word has its own, or a number.
        let fits = any(gap, DIGIT) || *lines.get_or_insert(is_line) == is_line && !gap.contains(&b'.');
        if !fits || !is_separator(gap) {
            break;
        }
        at = next;
    }
    Ok(WORDS.contains(&count).then_some(Hidden { kind: "seed-phrase", from, sure: end, until: Until::Here }))
}

/// Whether the word that ends at `to` is the beginning of something longer, as in `glpat-…` or `key=…`. It is left for
/// the rule that knows it.
fn begins_a_token(look: Look<'_>, to: usize, gap: &[u8]) -> Result<bool, More> {
    Ok(match gap {
        [] => look.get(to)?.is_some_and(|byte| b"=/@+%&$#~*".contains(&byte)),
        [b'-' | b':'] => look.is_of(to + 1, IDENT)?,
        _ => false,
    })
}

/// Whether the word that begins at `at` leads another rule to a secret: `hvs.…`, `mysql -p…`, `"password": "…"`,
/// `https://…`. A phrase must not swallow such a word, whatever its position: the secret after it would stay visible.
/// No command or client that is recognised here is in the list of BIP-39.
fn introduces_a_secret(look: Look<'_>, at: usize, word: &[u8], next: usize) -> Result<bool, More> {
    if token::by_family(look, at)?.is_some() || !is_label(word) && commands::is_one(word) {
        return Ok(true);
    }
    let to = at + word.len();
    let gap = look.slice(to, next);
    if look.begins(to, b"://")? {
        return Ok(true);
    }
    if names::read(word).is_none() {
        return Ok(false);
    }
    // A digit in front of the colon numbers the next word.
    let is_colon = gap.iter().find(|byte| **byte == b':' || DIGIT.has(**byte)) == Some(&b':');
    let is_option = look.slice(0, at).ends_with(b"--") || look.slice(0, at).ends_with(b" -");
    Ok(is_colon || is_option || look.is(next, b'=')?)
}

/// Whether two words of a phrase may be parted by `gap`. Quotation marks alone end a phrase.
fn is_separator(gap: &[u8]) -> bool {
    gap.iter().any(|byte| byte.is_ascii_whitespace() || b",|-\\".contains(byte) || DIGIT.has(*byte))
}

/// Skips white space, numbers and `marks`, as far as they may precede a word.
fn skip(look: Look<'_>, from: usize, marks: &[u8]) -> Result<usize, More> {
    let mut at = from;
    while at - from < LONGEST_GAP {
        at += match look.get(at)? {
            Some(b'\\') if matches!(look.get(at + 1)?, Some(b'n' | b'r' | b't')) => 2,
            Some(byte) if byte.is_ascii_whitespace() || DIGIT.has(byte) || marks.contains(&byte) => 1,
            _ => break,
        };
    }
    Ok(at)
}
