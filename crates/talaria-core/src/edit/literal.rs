//! Writes a value as TOML on one line, so that it fits everywhere: in a section, in an inline table, in any line ending.
//!
//! The parser's own printer writes a text with line breaks over several lines with its own line ends, which would make
//! a file with Windows endings a mixed one.

use toml_edit::Value;

use super::key_path::name;
use crate::toml_write::push_string;

/// Writes a value on one line.
pub fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let mut out = String::with_capacity(text.value().len() + 2);
            push_string(&mut out, text.value());
            out
        }
        Value::Array(array) => {
            let elements: Vec<String> = array.iter().map(literal).collect();
            format!("[{}]", elements.join(", "))
        }
        Value::InlineTable(table) if table.is_empty() => "{}".to_owned(),
        Value::InlineTable(table) => {
            let entries: Vec<String> =
                table.iter().map(|(key, value)| format!("{} = {}", name(key), literal(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Integer(number) => number.display_repr().into_owned(),
        Value::Float(number) => number.display_repr().into_owned(),
        Value::Boolean(truth) => truth.display_repr().into_owned(),
        Value::Datetime(time) => time.display_repr().into_owned(),
    }
}
