//! Finds the end of a detected secret.
//!
//! Rules say where a secret begins and by what it ends; from there on its bytes are only counted. So a secret of any
//! length, also one that never ends, takes no memory and is looked at once. Called by the scanner.

use super::bytes::{BASE64URL, BLANK, DOT, IDENT, Set, WORD};
use super::look::{Look, More};
use super::quote::{Inside, Quote};
use super::{encoded, marker, pem, putty};

/// A secret that a rule has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hidden {
    /// Its kind in the marker.
    pub(super) kind: &'static str,
    /// Where it begins.
    pub(super) from: usize,
    /// Up to where it is certain.
    pub(super) sure: usize,
    /// By what it ends after that.
    pub(super) until: Until,
}

/// By what a secret ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// It has ended.
    Here,
    /// By the first byte that is not of the set.
    Chars(Set),
    /// By its closing quotation mark.
    Quote(Quote),
    /// Like a value without quotation marks.
    Bare,
    /// Like a header of HTTP; set is the quotation mark of the parameter that it is in.
    Header(Extent, Option<Quote>),
    /// By the next tag.
    Tag,
    /// Like the body of a PEM block.
    Key(pem::Body),
    /// Like the private lines of a file of PuTTY.
    Lines(putty::Lines),
    /// Like a run of base64, also a wrapped one.
    Encoded(encoded::Rest),
}

/// How much of a header is secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Credentials, with their parameters.
    Credentials,
    /// The rest of the line.
    Line,
}

impl Extent {
    /// Whether `byte` belongs to the header at any position.
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Credentials => {
                is_plain(byte) && byte != b'='
                    || matches!(byte, b'$' | b'^' | b'*' | b'?' | b'(' | b'{' | b'[' | b'&')
            }
            Self::Line => !matches!(byte, b'"' | b'\'' | b'`' | b'=' | b'\\' | b'\n' | b'\r'),
        }
    }
}

/// One step through a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The secret continues up to there.
    Hide(usize),
    /// It has ended.
    Stop,
}

impl Until {
    /// Takes one step from `at`.
    pub(super) fn step(&mut self, look: Look<'_>, at: usize) -> Result<Step, More> {
        let step = match self {
            Self::Here => Step::Stop,
            Self::Chars(set) => step_while(look, at, |byte| set.has(byte))?,
            Self::Tag => step_while(look, at, |byte| byte != b'<' && byte != b'\n')?,
            Self::Quote(quote) => match quote.inside(look, at)? {
                Inside::Text(to) => Step::Hide(to),
                Inside::End => Step::Stop,
            },
            Self::Bare => step_bare(look, at)?,
            Self::Header(extent, within) => step_header(look, at, *extent, within)?,
            Self::Key(body) => body.step(look, at)?,
            Self::Lines(lines) => lines.step(look, at)?,
            Self::Encoded(rest) => rest.step(look, at)?,
        };
        Ok(step)
    }

    /// Whether a dot at the end belongs to the sentence and not to the secret.
    pub(super) fn gives_back_dots(self) -> bool {
        match self {
            Self::Chars(set) => set.has(b'.'),
            Self::Bare | Self::Header(Extent::Credentials, _) => true,
            Self::Here | Self::Quote(_) | Self::Header(..) | Self::Tag => false,
            Self::Key(_) | Self::Lines(_) | Self::Encoded(_) => false,
        }
    }
}

/// Whether a dot or a tilde at `at` joins a secret to what follows it. Where a key is followed directly by a token with
/// one of them, the key has hidden the beginning by which the token would be recognised, so the rest of the token is
/// hidden with it.
pub(super) fn is_joint(look: Look<'_>, at: usize) -> Result<bool, More> {
    Ok(matches!(look.get(at)?, Some(b'.' | b'~')) && look.is_of(at + 1, BASE64URL)?)
}

fn step_while(look: Look<'_>, at: usize, belongs: impl Fn(u8) -> bool) -> Result<Step, More> {
    let to = look.stretch(at, belongs);
    if to > at {
        return Ok(Step::Hide(to));
    }
    look.get(at)?;
    Ok(Step::Stop)
}

/// Bytes that always belong to a value without quotation marks.
fn is_plain(byte: u8) -> bool {
    WORD.has(byte)
        || byte >= 0x80
        || matches!(byte, b'/' | b'+' | b'=' | b'%' | b'~' | b':' | b'@' | b'!' | b'#')
}

/// Steps through a value without quotation marks. Judging a value uses the same steps to find its end.
pub(super) fn step_bare(look: Look<'_>, at: usize) -> Result<Step, More> {
    let to = look.stretch(at, is_plain);
    if to > at {
        return Ok(Step::Hide(to));
    }
    Ok(match look.get(at)? {
        Some(b'$' | b'^' | b'*' | b'?' | b'(' | b'{' | b'[') => Step::Hide(at + 1),
        Some(b'\\') => step_slashes(look, at)?,
        Some(b'&' | b',' | b';') => step_separator(look, at)?,
        // Brackets end a value unless it continues right after them.
        Some(b')' | b']' | b'}' | b'|') if goes_on(look, at + 1)? => Step::Hide(at + 1),
        _ => Step::Stop,
    })
}

/// Whether a word begins at `at`, or a marker that replaces one.
fn goes_on(look: Look<'_>, at: usize) -> Result<bool, More> {
    Ok(look.is_of(at, BASE64URL)? || marker::is_word(look, at)?)
}

/// Backslashes end a value if they are an escaped line end or quotation mark, as in JSON inside a string.
fn step_slashes(look: Look<'_>, at: usize) -> Result<Step, More> {
    let after = look.run_of(at, 16, |byte| byte == b'\\')?;
    Ok(match look.get(after)? {
        None | Some(b'n' | b'r' | b't' | b'u' | b'"' | b'\'' | b'`' | b' ' | b'\n' | b'\r') => Step::Stop,
        Some(_) => Step::Hide(after),
    })
}

/// Separators end a value if a further name follows, or nothing that could belong to it.
fn step_separator(look: Look<'_>, at: usize) -> Result<Step, More> {
    let from = at + 1;
    let to = look.run(from, WORD, 48)?;
    Ok(match look.get(to)? {
        _ if to == from => {
            if marker::is_word(look, from)? {
                Step::Hide(from)
            } else {
                Step::Stop
            }
        }
        Some(b'=' | b':') => Step::Stop,
        _ => Step::Hide(to),
    })
}

/// Steps through a header: up to its end, or as far as its credentials go.
fn step_header(look: Look<'_>, at: usize, extent: Extent, within: &mut Option<Quote>) -> Result<Step, More> {
    if let Some(quote) = *within {
        return step_parameter(look, at, quote, within);
    }
    let to = look.stretch(at, |byte| extent.has(byte));
    if to > at {
        return Ok(Step::Hide(to));
    }
    Ok(match look.get(at)? {
        Some(b'\\') => step_slashes(look, at)?,
        // `username="…"` continues after its quotation mark; the padding of base64 does not.
        Some(b'=') => match Quote::at(look, at + 1)? {
            Some((quote, after)) if look.is_of(after, IDENT)? => {
                *within = Some(quote);
                Step::Hide(after)
            }
            _ => Step::Hide(at + 1),
        },
        // `Credential=…, Signature=…`
        Some(b',' | b';') => {
            let name = look.run(at + 1, BLANK, 4)?;
            let to = look.run(name, WORD, 48)?;
            let goes_on = to > name && (name == at + 1 || look.is(to, b'=')?);
            if goes_on { Step::Hide(to) } else { Step::Stop }
        }
        _ => Step::Stop,
    })
}

fn step_parameter(look: Look<'_>, at: usize, quote: Quote, within: &mut Option<Quote>) -> Result<Step, More> {
    if let Inside::Text(to) = quote.inside(look, at)? {
        return Ok(Step::Hide(to));
    }
    *within = None;
    Ok(match Quote::at(look, at)? {
        Some((_, after)) => Step::Hide(after),
        None => Step::Stop,
    })
}

/// Counts the dots at the end of `bytes`.
pub(super) fn dots(bytes: &[u8]) -> usize {
    bytes.iter().rev().take_while(|byte| DOT.has(**byte)).count()
}
