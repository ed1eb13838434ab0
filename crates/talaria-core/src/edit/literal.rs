//! Writes a value as TOML on one line, so that it fits everywhere: in a section, in an inline table, in any line ending.
//!
//! The parser's own printer writes a text with line breaks over several lines with its own line ends, which would make
//! a file with Windows endings a mixed one.

use toml_edit::Value;

use crate::toml_write::{push_array, push_inline_table, push_string};

/// Writes a value on one line.
pub fn literal(value: &Value) -> String {
    let mut out = String::new();
    push_value(&mut out, value);
    out
}

fn push_value(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => push_string(out, text.value()),
        Value::Array(array) => push_array(out, array, push_value),
        Value::InlineTable(table) => push_inline_table(out, table, push_value),
        Value::Integer(number) => out.push_str(&number.display_repr()),
        Value::Float(number) => out.push_str(&number.display_repr()),
        Value::Boolean(truth) => out.push_str(&truth.display_repr()),
        Value::Datetime(time) => out.push_str(&time.display_repr()),
    }
}
