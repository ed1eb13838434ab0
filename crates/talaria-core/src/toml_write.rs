//! Keys and values as TOML text, in the one form that Talaria writes: each on one line, whatever is in it.
//!
//! So the line endings of the file are none of a value's business, and a program that changes them changes no value. `edit`,
//! Codex's `codex_config` and its permission profiles (`hiding`) write with this; each knows its own kind of value.

use std::fmt::Write as _;

/// Writes one part of a name, with quotation marks if it needs them.
pub fn push_key(out: &mut String, name: &str) {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !name.is_empty() && name.bytes().all(is_bare) {
        out.push_str(name);
    } else {
        push_string(out, name);
    }
}

/// Writes a string.
pub fn push_string(out: &mut String, text: &str) {
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

/// Writes an array; `push` writes each element.
pub fn push_array<T>(
    out: &mut String,
    elements: impl IntoIterator<Item = T>,
    mut push: impl FnMut(&mut String, T),
) {
    out.push('[');
    let mut between = "";
    for element in elements {
        out.push_str(std::mem::replace(&mut between, ", "));
        push(out, element);
    }
    out.push(']');
}

/// Writes an inline table; `push` writes each value.
pub fn push_inline_table<'k, T>(
    out: &mut String,
    entries: impl IntoIterator<Item = (&'k str, T)>,
    mut push: impl FnMut(&mut String, T),
) {
    out.push('{');
    let mut between = " ";
    for (name, value) in entries {
        out.push_str(std::mem::replace(&mut between, ", "));
        push_key(out, name);
        out.push_str(" = ");
        push(out, value);
    }
    out.push_str(if between == " " { "}" } else { " }" });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NUL, the other C0 characters, DEL and C1; alone, with a backslash, and among others.
    #[test]
    fn every_control_character_comes_back_and_none_is_written_as_it_is() {
        for c in (0..=0x9f).filter_map(char::from_u32) {
            for value in [c.to_string(), format!("C:\\{c}"), format!("'a\"{c}é")] {
                let (mut line, mut named) = ("a = ".to_owned(), String::new());
                push_string(&mut line, &value);
                push_key(&mut named, &value);
                assert!(!format!("{line}{named}").contains(char::is_control), "{value:?}: {line:?}");
                let document: toml_edit::DocumentMut = format!("{line}\n[b]\n{named} = 1\n").parse().unwrap();
                assert_eq!(document["a"].as_str(), Some(value.as_str()), "{line:?}");
                assert!(document["b"].get(&value).is_some(), "{named:?}");
            }
        }
    }
}
