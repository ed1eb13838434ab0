//! Writes a value as TOML on one line, so that it fits everywhere: in a section, in an inline table, in any line ending.
//!
//! The parser's own printer writes a text with line breaks over several lines with its own line ends, which would make
//! a file with Windows endings a mixed one.

use toml_edit::Value;

use super::key_path::name;

/// Writes a value on one line.
pub fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text.value()),
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

/// Writes a text between double quotes; every control character is escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
