//! Front matter as most people write it: `key: value` lines whose values mean in YAML what they look like.
//!
//! The YAML parser takes 20 µs for such a text; a folder of skills is read before each conversation. Anything that might
//! mean something else to the parser is left to it: a property test compares the two.

use super::FrontMatter;

/// The most keys; more than that is left to the parser.
const MOST_KEYS: usize = 24;
/// Single words that YAML does not take for text, in any capitals.
const TYPED_WORDS: [&str; 11] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"];

/// The values of `name` and `description`; `None` if the parser has to read it.
pub(super) fn read(yaml: &str) -> Option<FrontMatter> {
    let (mut name, mut description) = (None, None);
    let mut keys: Vec<&str> = Vec::new();
    for line in yaml.lines() {
        let (key, value) = line.split_once(": ")?;
        if !is_plain_key(key) || keys.contains(&key) || keys.len() == MOST_KEYS {
            return None;
        }
        keys.push(key);
        let text = scalar(value.trim_matches(' '))?;
        match key {
            "name" => name = Some(text.to_owned()),
            "description" => description = Some(text.to_owned()),
            _ => {}
        }
    }
    (!keys.is_empty()).then_some(FrontMatter { name, description })
}

fn is_plain_key(key: &str) -> bool {
    key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        && !is_typed(key)
}

/// The text of a value that is certain to be one.
fn scalar(value: &str) -> Option<&str> {
    if !value.chars().all(is_plain_char) {
        return None;
    }
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote) {
            return rest.strip_suffix(quote).filter(|inner| !inner.contains([quote, '\\']));
        }
    }
    let is_plain = value.starts_with(|first: char| first.is_ascii_alphabetic())
        && !value.contains(": ")
        && !value.ends_with(':')
        && !value.contains(" #")
        && !is_typed(value);
    is_plain.then_some(value)
}

/// Letters, signs and the space: no tab, no line break of any kind, nothing that a terminal would obey.
fn is_plain_char(letter: char) -> bool {
    let is_typographic =
        |letter: char| letter.is_alphanumeric() || ('\u{2010}'..='\u{2027}').contains(&letter);
    letter == ' ' || letter.is_ascii_graphic() || (!letter.is_ascii() && is_typographic(letter))
}

fn is_typed(word: &str) -> bool {
    TYPED_WORDS.iter().any(|typed| word.eq_ignore_ascii_case(typed))
}
