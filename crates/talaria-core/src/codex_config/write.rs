//! Values as TOML text, in the one form that Talaria writes: a header and one line for each key.
//!
//! Every value stands on one line whatever is in it, so that the line endings of the file are none of its business and
//! a program that changes them changes no value.

use std::fmt::Write as _;

use crate::servers::Field;

/// Writes the keys of an entry, one line for each.
pub(super) fn lines<'a>(
    out: &mut String,
    fields: impl IntoIterator<Item = (&'static str, Field<'a>)>,
    newline: &str,
) {
    for (name, value) in fields {
        out.push_str(name);
        out.push_str(" = ");
        field(out, value);
        out.push_str(newline);
    }
}

/// Writes one part of a name, with quotation marks if it needs them.
pub(super) fn key(out: &mut String, name: &str) {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !name.is_empty() && name.bytes().all(is_bare) {
        out.push_str(name);
    } else {
        string(out, name);
    }
}

/// Writes a string.
pub(super) fn string(out: &mut String, text: &str) {
    let is_plain = |byte: &u8| (0x20..0x7f).contains(byte) && !matches!(byte, b'"' | b'\\');
    if text.as_bytes().iter().all(is_plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
        return;
    }
    let is_literal = |c: char| !c.is_control() && c != '\'';
    // A Windows path is easier to read where backslashes are only backslashes.
    if text.contains('\\') && text.chars().all(is_literal) {
        out.push('\'');
        out.push_str(text);
        out.push('\'');
        return;
    }
    out.push('"');
    let mut plain = 0;
    for (at, c) in text.char_indices() {
        if !matches!(c, '"' | '\\') && !c.is_control() {
            continue;
        }
        out.push_str(&text[plain..at]);
        plain = at + c.len_utf8();
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => drop(write!(out, "\\u{:04X}", u32::from(c))),
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

fn field(out: &mut String, value: Field<'_>) {
    match value {
        Field::Text(text) => string(out, text),
        Field::Is(is) => out.push_str(if is { "true" } else { "false" }),
        Field::Whole(number) => drop(write!(out, "{number}")),
        // Debug keeps the point of a whole number, without which it would be an integer.
        Field::Real(number) => drop(write!(out, "{number:?}")),
        Field::List(values) => {
            out.push('[');
            let mut between = "";
            for text in values {
                out.push_str(std::mem::replace(&mut between, ", "));
                string(out, text);
            }
            out.push(']');
        }
        Field::Named(values) => {
            out.push('{');
            let mut between = " ";
            for (name, text) in values {
                out.push_str(std::mem::replace(&mut between, ", "));
                key(out, name);
                out.push_str(" = ");
                string(out, text);
            }
            out.push_str(" }");
        }
    }
}
