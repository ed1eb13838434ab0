//! The keys of an entry as TOML text, one line for each.

use std::fmt::Write as _;

use talaria_core::servers::ServerField;
use talaria_core::toml_write::{push_array, push_inline_table, push_string};

/// Writes the keys of an entry, one line for each.
pub(super) fn lines<'a>(
    out: &mut String,
    fields: impl IntoIterator<Item = (&'static str, ServerField<'a>)>,
    newline: &str,
) {
    for (name, value) in fields {
        out.push_str(name);
        out.push_str(" = ");
        field(out, value);
        out.push_str(newline);
    }
}

fn field(out: &mut String, value: ServerField<'_>) {
    match value {
        ServerField::Text(text) => push_string(out, text),
        ServerField::Is(is) => out.push_str(if is { "true" } else { "false" }),
        ServerField::Whole(number) => drop(write!(out, "{number}")),
        // Debug keeps the point of a whole number, without which it would be an integer.
        ServerField::Real(number) => drop(write!(out, "{number:?}")),
        ServerField::List(values) => push_array(out, values, |out, text| push_string(out, text)),
        ServerField::Named(values) => {
            let entries = values.iter().map(|(name, text)| (name.as_str(), text));
            push_inline_table(out, entries, |out, text| push_string(out, text));
        }
    }
}
