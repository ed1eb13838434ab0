//! Recognises secrets by their own shape, at the beginning of a word.
//!
//! Reads the table of `families.rs`, and knows the few shapes that are no prefix and a body: tokens of three parts
//! (JWT, Discord), numbers with a token after a colon (Telegram) and client secrets of Azure. Called by the scanner for
//! every word, so what most words need must stay a few instructions.

use super::bytes::{ALNUM, BASE64URL, DIGIT, IDENT, LOWER, SLASH, Set, TILDE, UPPER, WORD, all, any};
use super::families::{FAMILIES, Family, Shape};
use super::hiding::{Hidden, Until};
use super::look::{Look, More};

/// How far a body is read to see whether it reads like words.
const BODY_SEEN: usize = 64;
/// The shortest head of a JWT.
const JWT_HEAD: usize = 12;

/// The first three bytes of a word, which is all that most words are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opening(u32);

impl Opening {
    /// How a JWT begins: `{"` in base64.
    pub(super) const JWT: Self = Self::of(b"eyJ");
    /// What follows the dashes of a PEM block.
    pub(super) const PEM: Self = Self::of(b"BEG");

    /// Takes the first three of `bytes`.
    pub(super) const fn of(bytes: &[u8]) -> Self {
        Self(bytes[0] as u32 | (bytes[1] as u32) << 8 | (bytes[2] as u32) << 16)
    }

    /// Reads the opening at `at`; none at the end of the text.
    #[inline]
    pub(super) fn at(look: Look<'_>, at: usize) -> Result<Option<Self>, More> {
        match look.bytes().get(at..at + 3) {
            Some(bytes) => Ok(Some(Self::of(bytes))),
            // A short word is not held for the text after it: no prefix contains a blank.
            None if look.bytes().get(at..).is_some_and(|rest| !all(rest, WORD.and(SLASH))) => Ok(None),
            None => look.beyond().map(|()| None),
        }
    }

    /// Whether a family may begin like this. Rarely wrong, and only by saying yes.
    #[inline]
    pub(super) fn may_be_secret(self) -> bool {
        FIRST[self.slot()] != NO_FAMILY
    }

    const fn slot(self) -> usize {
        (self.0.wrapping_mul(0x9E37_79B1) >> 20) as usize
    }
}

const NO_FAMILY: u8 = 0;
/// An opening that no family has, but a JWT or a PEM block.
const OTHER: u8 = u8::MAX;

/// For each slot the first family that begins so, counted from one.
static FIRST: [u8; 4096] = index().0;
/// For each family the next one of the same slot, counted from one.
static NEXT: [u8; FAMILIES.len()] = index().1;

const fn index() -> ([u8; 4096], [u8; FAMILIES.len()]) {
    assert!(FAMILIES.len() < OTHER as usize, "families are counted in a byte");
    let (mut first, mut next) = ([NO_FAMILY; 4096], [NO_FAMILY; FAMILIES.len()]);
    first[Opening::JWT.slot()] = OTHER;
    first[Opening::PEM.slot()] = OTHER;
    // From the end, so that the families of a slot stay in their order.
    let mut index = FAMILIES.len();
    while index > 0 {
        index -= 1;
        let slot = Opening::of(FAMILIES[index].prefix.as_bytes()).slot();
        if first[slot] != OTHER {
            next[index] = first[slot];
        }
        first[slot] = index as u8 + 1;
    }
    (first, next)
}

/// Finds the family of the secret that begins at `at`.
pub(super) fn family(look: Look<'_>, at: usize) -> Result<Option<&'static Family>, More> {
    let Some(opening) = Opening::at(look, at)? else { return Ok(None) };
    let mut number = FIRST[opening.slot()];
    while number != NO_FAMILY && number != OTHER {
        let index = usize::from(number) - 1;
        let family = &FAMILIES[index];
        if look.begins(at, family.prefix.as_bytes())? {
            if family.shape == Shape::Never {
                return Ok(None);
            }
            if fits(look, at + family.prefix.len(), family)? {
                return Ok(Some(family));
            }
        }
        number = NEXT[index];
    }
    Ok(None)
}

/// Finds the secret of a family that begins at `at`.
pub(super) fn by_family(look: Look<'_>, at: usize) -> Result<Option<Hidden>, More> {
    Ok(family(look, at)?.map(|family| {
        // A token continues to the end of its word, also where a secret of another family is glued to it.
        let prefix = at + family.prefix.len();
        let (sure, until) = match family.shape {
            Shape::Exact => (prefix + family.least, Until::Here),
            _ => (prefix, Until::Chars(family.body.and(WORD))),
        };
        Hidden { kind: family.kind, from: at, sure, until }
    }))
}

fn fits(look: Look<'_>, from: usize, family: &Family) -> Result<bool, More> {
    let to = look.run(from, family.body, family.least)?;
    if to - from < family.least {
        return Ok(false);
    }
    match family.shape {
        Shape::Any | Shape::Never => Ok(true),
        Shape::Exact => Ok(!look.is_of(to, IDENT)?),
        Shape::Lower => look.is_of(from, LOWER),
        Shape::Dense => Ok(is_dense(look.slice(from, look.run(from, family.body, BODY_SEEN)?))),
        Shape::TwoParts => {
            let dot = look.run(from, family.body, BODY_SEEN)?;
            let second = dot + 1;
            Ok(look.is(dot, b'.')? && look.run(second, family.body, family.least)? == second + family.least)
        }
    }
}

/// Whether text does not read like words joined by dashes, dots and underscores.
pub(super) fn is_dense(text: &[u8]) -> bool {
    let dense = |part: &[u8]| part.len() >= 16 || part.len() >= 8 && any(part, DIGIT);
    text.split(|byte| !ALNUM.has(*byte)).any(dense)
}

/// Whether the dot at `dot`, after a head that began at `head`, makes both a JWT.
pub(super) fn is_jwt(look: Look<'_>, head: usize, dot: usize) -> Result<bool, More> {
    if dot - head < JWT_HEAD {
        return Ok(false);
    }
    // The second part is a JSON object too, unless it is encrypted; then it is a key, or empty.
    let second = dot + 1;
    Ok(look.begins(second, b"eyJ")?
        || look.is(second, b'.')? && look.run(second + 1, BASE64URL, 16)? == second + 17
        || look.run(second, BASE64URL, 16)? == second + 16)
}

/// Finds a bot token of Discord whose first part ends at the dot at `dot` and begins at `part` or later.
pub(super) fn discord(look: Look<'_>, part: usize, dot: usize) -> Result<Option<Hidden>, More> {
    let bytes = look.bytes();
    let is_begin =
        |at: &usize| matches!(bytes[*at], b'M' | b'N' | b'O') && (*at == part || !IDENT.has(bytes[*at - 1]));
    let first = part.max(dot.saturating_sub(28));
    let Some(from) = (first..(dot + 1).saturating_sub(23)).find(is_begin) else { return Ok(None) };
    let second = look.run(dot + 1, BASE64URL, 8)?;
    if second != dot + 7 || !look.is(second, b'.')? {
        return Ok(None);
    }
    let third = second + 1;
    let end = look.run(third, BASE64URL, 27)?;
    let body = look.slice(third, end);
    if body.len() < 27 || !any(body, UPPER) || !any(body, LOWER) || !any(look.slice(from, end), DIGIT) {
        return Ok(None);
    }
    Ok(Some(Hidden { kind: "discord-token", from, sure: third, until: Until::Chars(WORD) }))
}

/// Finds a bot token of Telegram whose number is `word` and whose colon is at `colon`. The number is public.
pub(super) fn telegram(look: Look<'_>, word: &[u8], colon: usize) -> Result<Option<Hidden>, More> {
    let number = word.strip_prefix(b"bot").unwrap_or(word);
    if !(6..=12).contains(&number.len()) || !all(number, DIGIT) {
        return Ok(None);
    }
    let from = colon + 1;
    let body = look.slice(from, look.run(from, BASE64URL, 30)?);
    // A date and a hash look the same but for the capitals.
    if body.len() < 30 || !any(body, UPPER) || !any(body, LOWER) {
        return Ok(None);
    }
    Ok(Some(Hidden { kind: "telegram-token", from, sure: from, until: Until::Chars(WORD) }))
}

/// Finds a client secret of Azure whose beginning is `word`, up to the tilde at `tilde`.
pub(super) fn azure(look: Look<'_>, word: &[u8], tilde: usize) -> Result<Option<Hidden>, More> {
    const BODY: Set = WORD.and(TILDE);
    let [rest @ .., _, _, _, digit, b'Q'] = word else { return Ok(None) };
    if !DIGIT.has(*digit) || rest.last().is_some_and(|byte| IDENT.has(*byte)) {
        return Ok(None);
    }
    if look.run(tilde + 1, BODY, 28)? - tilde <= 28 {
        return Ok(None);
    }
    Ok(Some(Hidden { kind: "azure-client-secret", from: tilde - 5, sure: tilde, until: Until::Chars(BODY) }))
}
