//! The keys of an entry as TOML text, one line for each.

use std::fmt::Write as _;

use talaria_core::servers::ServerField;
use talaria_core::toml_write::{push_key, push_string};

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
        ServerField::List(values) => {
            out.push('[');
            let mut between = "";
            for text in values {
                out.push_str(std::mem::replace(&mut between, ", "));
                push_string(out, text);
            }
            out.push(']');
        }
        ServerField::Named(values) => {
            out.push('{');
            let mut between = " ";
            for (name, text) in values {
                out.push_str(std::mem::replace(&mut between, ", "));
                push_key(out, name);
                out.push_str(" = ");
                push_string(out, text);
            }
            out.push_str(" }");
        }
    }
}
