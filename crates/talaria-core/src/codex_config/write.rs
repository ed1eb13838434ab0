//! Values as TOML text, in the one form that Talaria writes: a header and one line for each key.
//!
//! Every value stands on one line whatever is in it, so that the line endings of the file are none of its business and
//! a program that changes them changes no value. How the given table was formatted does not matter here.

use std::fmt::Write as _;

use toml_edit::{Item, TableLike, Value};

/// Writes the keys of a table, one line for each.
pub(super) fn lines(out: &mut String, table: &dyn TableLike, newline: &str) {
    for (name, item) in table.iter().filter(|(_, item)| !item.is_none()) {
        key(out, name);
        out.push_str(" = ");
        inline(out, item);
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

fn inline(out: &mut String, item: &Item) {
    match item {
        Item::None => {}
        Item::Value(one) => value(out, one),
        Item::Table(fields) => braces(out, fields),
        Item::ArrayOfTables(tables) => brackets(out, tables.iter(), |out, table| braces(out, table)),
    }
}

fn value(out: &mut String, one: &Value) {
    match one {
        Value::String(text) => string(out, text.value()),
        Value::Integer(number) => drop(write!(out, "{}", number.value())),
        Value::Float(number) => float(out, *number.value()),
        Value::Boolean(is) => drop(write!(out, "{}", is.value())),
        Value::Datetime(time) => drop(write!(out, "{}", time.value())),
        Value::Array(values) => brackets(out, values.iter(), value),
        Value::InlineTable(fields) => braces(out, fields),
    }
}

fn float(out: &mut String, number: f64) {
    match number {
        _ if number.is_nan() => out.push_str("nan"),
        // Debug keeps the point of a whole number, without which it would be an integer.
        _ => drop(write!(out, "{number:?}")),
    }
}

fn brackets<T>(out: &mut String, values: impl Iterator<Item = T>, write: impl Fn(&mut String, T)) {
    out.push('[');
    for (number, one) in values.enumerate() {
        if number > 0 {
            out.push_str(", ");
        }
        write(out, one);
    }
    out.push(']');
}

fn braces(out: &mut String, fields: &dyn TableLike) {
    out.push('{');
    let mut between = " ";
    for (name, item) in fields.iter().filter(|(_, item)| !item.is_none()) {
        out.push_str(between);
        key(out, name);
        out.push_str(" = ");
        inline(out, item);
        between = ", ";
    }
    out.push_str(if between == " " { "}" } else { " }" });
}
