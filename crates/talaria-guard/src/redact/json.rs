//! Redacts a JSON document string by string, so that it stays the same document.
//!
//! Walks over the raw text and rewrites strings that change; everything else, numbers and spacing too, is copied. The
//! value of a field with a secret name is hidden whatever it looks like: JSON contains no code that could be mistaken
//! for it.

use std::borrow::Cow;

use memchr::memchr2;
use serde_json::Value;
use serde_json::value::RawValue;

use super::bytes::{WORD, all};
use super::hiding::Until;
use super::look::Look;
use super::names::{self, Name, Role};
use super::placeholder::is_placeholder;
use super::value::is_path;
use super::{foreign, headers, marker, phrase, redact_behind, token};

/// Replaces all secrets in the strings of `raw` by markers. Returns the document itself if there are none.
///
/// Numbers, order and spacing stay. Names of fields stay too, unless one contains a secret.
pub fn redact_json(raw: &RawValue) -> Cow<'_, RawValue> {
    let text = raw.get();
    let mut walk = Walk { text, out: String::new(), written: 0, open: Vec::new(), name: None };
    walk.run();
    if walk.out.is_empty() {
        return Cow::Borrowed(raw);
    }
    walk.out.push_str(&text[walk.written..]);
    // The result is a valid document; if it ever were not, nothing of it may be returned.
    Cow::Owned(RawValue::from_string(walk.out).unwrap_or_default())
}

struct Walk<'a> {
    text: &'a str,
    out: String,
    /// What precedes it is in `out`, if anything is.
    written: usize,
    open: Vec<Open>,
    /// The key of the next string.
    name: Option<Name>,
}

/// The enclosing container.
enum Open {
    /// A list, and the name that it is the value of.
    List(Option<Name>),
    /// An object: what its next string is, and which name its field `name` has.
    Object(Turn, Option<Name>),
}

/// The next part of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Name,
    Value(Field),
}

/// Fields that together mean a name and its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Name,
    Value,
    Other,
}

impl Walk<'_> {
    fn run(&mut self) {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    let end = end_of_string(bytes, at + 1);
                    self.string(at + 1, end);
                    at = end;
                }
                b'{' => {
                    self.open.push(Open::Object(Turn::Name, None));
                    self.name = None;
                }
                b'[' => self.open.push(Open::List(self.name)),
                b'}' | b']' => {
                    self.open.pop();
                    self.name = None;
                }
                b',' => match self.open.last_mut() {
                    Some(Open::Object(turn, _)) => *turn = Turn::Name,
                    Some(Open::List(name)) => self.name = *name,
                    None => {}
                },
                _ => {}
            }
            at += 1;
        }
    }

    /// Looks at the string between two quotation marks.
    fn string(&mut self, from: usize, to: usize) {
        let raw = &self.text[from..to];
        let text = unescape(raw);
        let mut name = self.name.take();
        let changed = match self.open.last_mut() {
            Some(Open::Object(turn @ Turn::Name, pair)) => {
                let field = match &*text {
                    "name" | "key" | "header" => Field::Name,
                    "value" => Field::Value,
                    _ => Field::Other,
                };
                *turn = Turn::Value(field);
                self.name = if field == Field::Value { pair.take() } else { read(&text) };
                owned(redact_behind(b'"', &text))
            }
            Some(Open::Object(Turn::Value(field), pair)) => {
                if *field == Field::Name {
                    *pair = read(&text);
                    name = None;
                }
                redact_value(&text, name)
            }
            Some(Open::List(_)) | None => redact_value(&text, name),
        };
        if let Some(changed) = changed {
            let quoted = Value::String(changed).to_string();
            self.out.push_str(&self.text[self.written..from - 1]);
            self.out.push_str(&quoted);
            self.written = to + 1;
        }
    }
}

fn owned(text: Cow<'_, str>) -> Option<String> {
    match text {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text),
    }
}

fn read(name: &str) -> Option<Name> {
    let bytes = name.as_bytes();
    let end = &bytes[bytes.len().saturating_sub(names::LONGEST)..];
    if !all(end, WORD) {
        return foreign::read(name);
    }
    names::read(end).filter(|name| name.role != Role::Query)
}

/// Returns the text with its secrets hidden, if it has any.
fn redact_value(text: &str, name: Option<Name>) -> Option<String> {
    let bytes = text.as_bytes();
    let look = Look::whole(bytes);
    let is_done = marker::is_within(look, 0, text.len()) == Ok(true);
    let from = match name {
        _ if is_done => None,
        None => None,
        Some(Name { role: Role::Authorization, .. }) => match headers::credentials(look, 0, Until::Here) {
            Ok(hidden) => hidden.map(|hidden| hidden.from),
            Err(_) => Some(0),
        },
        Some(Name { role: Role::Phrase, .. }) => match phrase::value(look, 0) {
            Ok(hidden) => hidden.map(|hidden| hidden.from),
            Err(_) => Some(0),
        },
        Some(Name { role: Role::Cookie, .. }) => bytes.contains(&b'=').then_some(0),
        Some(_) => (!is_placeholder(bytes) && !is_path(bytes)).then_some(0),
    };
    let (Some(from), Some(name)) = (from, name) else { return owned(redact_behind(b'"', text)) };
    let kind = match token::family(look, from) {
        Ok(Some(family)) => family.kind,
        _ => name.kind,
    };
    let mut out = text[..from].to_owned();
    marker::write(kind, text.len() - from, &mut out);
    (out != text).then_some(out)
}

/// Returns the place of the quotation mark that ends the string.
fn end_of_string(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(found) = memchr2(b'"', b'\\', &bytes[at..]) {
        match bytes[at + found] {
            b'"' => return at + found,
            _ => at = (at + found + 2).min(bytes.len()),
        }
    }
    bytes.len()
}

/// Reads a JSON string. A half of a pair of surrogates, which is no character, becomes the sign for that.
fn unescape(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        out.push_str(plain);
        let mut chars = escaped.chars();
        match chars.next() {
            Some('u') => {
                let (read, after) = read_unicode(escaped);
                out.push(read);
                rest = after;
                continue;
            }
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some(other) => out.push(other),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Reads the character written as `u1234`, or as two of these, and returns what follows.
fn read_unicode(escaped: &str) -> (char, &str) {
    let unit =
        |text: &str| text.strip_prefix('u').and_then(|text| u16::from_str_radix(text.get(..4)?, 16).ok());
    let Some(first) = unit(escaped) else { return (char::REPLACEMENT_CHARACTER, &escaped[1..]) };
    let after = &escaped[5..];
    let second = after.strip_prefix('\\').and_then(unit);
    let units = [first, second.unwrap_or_default()];
    let pair = second.is_some() && (0xd800..0xdc00).contains(&first);
    let mut chars = char::decode_utf16(units[..1 + usize::from(pair)].iter().copied());
    match chars.next() {
        Some(Ok(char)) if char > '\u{ffff}' => (char, &after[6..]),
        Some(Ok(char)) => (char, after),
        _ => (char::REPLACEMENT_CHARACTER, after),
    }
}
