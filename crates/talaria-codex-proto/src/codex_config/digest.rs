//! Whether an entry still has the value that Talaria wrote, decided by a digest of the value.
//!
//! A digest and not the value, because the record of a migration would otherwise be one more place with secrets. What
//! means the same to Codex has the same digest, because Codex itself writes the file again now and then: the order of
//! keys, the kind of table, `30` for `30.0`, an empty list or table for none, `enabled = true` of a server for none.

use std::fmt::{self, Write as _};

use sha2::{Digest as _, Sha256};
use toml::de::{DeFloat, DeInteger, DeTable, DeValue};

use talaria_core::servers::ServerField;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The digest of an entry that we write, in hexadecimal digits: the one that [`of_value`] returns when it is read again.
pub(super) fn of_fields<'a>(fields: impl IntoIterator<Item = (&'static str, ServerField<'a>)>) -> String {
    let mut sorted: Vec<_> = fields.into_iter().filter(|(name, one)| !is_default_field(name, one)).collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    let mut text = String::with_capacity(256);
    text.push('{');
    for (name, one) in sorted {
        string(&mut text, name);
        field(&mut text, one);
    }
    text.push('}');
    hex(text.as_bytes(), 16)
}

/// The digest of a text, in hexadecimal digits.
pub(super) fn of_text(entry: &str) -> String {
    let mut text = String::with_capacity(64);
    string(&mut text, entry);
    hex(text.as_bytes(), 16)
}

/// The digest of whatever is at the place of an entry.
pub(super) fn of_value(entry: &DeValue<'_>) -> String {
    let mut text = String::with_capacity(256);
    value(&mut text, entry);
    hex(text.as_bytes(), 16)
}

/// The first bytes of a SHA-256, two digits for each.
pub(super) fn hex(bytes: &[u8], count: usize) -> String {
    let digest = Sha256::digest(bytes);
    ::hex::encode(&digest[..count.min(digest.len())])
}

fn value(out: &mut String, one: &DeValue<'_>) {
    match one {
        DeValue::String(text) => string(out, text),
        DeValue::Integer(one) => integer(out, one),
        DeValue::Float(one) => real(out, one),
        DeValue::Boolean(is) => boolean(out, *is),
        DeValue::Datetime(time) => {
            out.push('d');
            string(out, &time.to_string());
        }
        DeValue::Array(values) => {
            out.push('[');
            values.iter().for_each(|one| value(out, one.get_ref()));
            out.push(']');
        }
        DeValue::Table(fields) => table(out, fields),
    }
}

/// Whatever the base it is written in; one that is too large for TOML is at least never ours.
fn integer(out: &mut String, one: &DeInteger<'_>) {
    match i64::from_str_radix(one.as_str(), one.radix()) {
        Ok(one) => number(out, format_args!("{one}")),
        Err(_) => number(out, format_args!("{one}")),
    }
}

fn real(out: &mut String, one: &DeFloat<'_>) {
    match one.as_str().parse() {
        Ok(one) => float(out, one),
        Err(_) => number(out, format_args!("{one}")),
    }
}

fn field(out: &mut String, one: ServerField<'_>) {
    match one {
        ServerField::Text(text) => string(out, text),
        ServerField::Whole(one) => number(out, format_args!("{one}")),
        ServerField::Real(one) => float(out, one),
        ServerField::Is(is) => boolean(out, is),
        ServerField::List(values) => {
            out.push('[');
            values.iter().for_each(|text| string(out, text));
            out.push(']');
        }
        ServerField::Named(values) => {
            out.push('{');
            for (name, text) in values {
                string(out, name);
                string(out, text);
            }
            out.push('}');
        }
    }
}

fn boolean(out: &mut String, is: bool) {
    out.push(if is { 't' } else { 'f' });
}

fn string(out: &mut String, text: &str) {
    // The length in front keeps two neighbours from passing for one.
    out.push('s');
    length(out, text.len());
    out.push(';');
    out.push_str(text);
}

/// Writes a length in decimal digits, of which there are a thousand in a migration: `write!` is slower.
fn length(out: &mut String, one: usize) {
    if one > 9 {
        length(out, one / 10);
    }
    out.push(char::from(DIGITS[one % 10]));
}

fn number(out: &mut String, digits: fmt::Arguments<'_>) {
    let _ = out.write_fmt(digits);
    out.push(';');
}

fn float(out: &mut String, one: f64) {
    // Up to here every whole number has its own f64.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if one.fract() == 0.0 && one.abs() <= EXACT {
        number(out, format_args!("{one:.0}"));
    } else {
        number(out, format_args!("{one:?}"));
    }
}

fn table(out: &mut String, fields: &DeTable<'_>) {
    let fields = fields.iter().map(|(name, one)| (name.get_ref(), one.get_ref()));
    let mut sorted: Vec<_> = fields.filter(|(name, one)| !is_default(name, one)).collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    out.push('{');
    for (name, one) in sorted {
        string(out, name);
        value(out, one);
    }
    out.push('}');
}

fn is_default(name: &str, one: &DeValue<'_>) -> bool {
    match one {
        DeValue::Boolean(is) => name == "enabled" && *is,
        DeValue::Array(values) => values.is_empty(),
        DeValue::Table(fields) => fields.is_empty(),
        _ => false,
    }
}

fn is_default_field(name: &str, one: &ServerField<'_>) -> bool {
    match one {
        ServerField::Is(is) => name == "enabled" && *is,
        ServerField::List(values) => values.is_empty(),
        ServerField::Named(values) => values.is_empty(),
        ServerField::Text(_) | ServerField::Whole(_) | ServerField::Real(_) => false,
    }
}
