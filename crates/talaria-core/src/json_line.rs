//! JSON for programs that read line by line: one value on one line, whatever its strings contain.
//!
//! JSON allows U+0085, U+2028 and U+2029 inside strings, but Python's `str.splitlines()` and others end a line there. They
//! are written as escapes, which every reader turns back into the same text. Called by everything that prints `--json`.

use serde::Serialize;

/// The characters that end a line for some readers and that serde does not escape.
const BREAKS: [(char, &str); 3] = [('\u{85}', "\\u0085"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];

/// Returns `value` as one line of JSON, with its line end; an empty line if it has no JSON form.
pub fn json_line(value: &impl Serialize) -> String {
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    escape_breaks(&mut line);
    line.push(b'\n');
    // What serde writes is UTF-8.
    String::from_utf8(line).unwrap_or_default()
}

/// Escapes what ends a line inside the strings of `json`, and takes line ends between its values out.
pub fn escape_breaks(json: &mut Vec<u8>) {
    // Raw values may span lines; inside a string a line end is always escaped.
    for byte in json.iter_mut() {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    let Some(first) = find(json, 0) else { return };
    let mut out = Vec::with_capacity(json.len() + 32);
    let (mut from, mut next) = (0, Some(first));
    while let Some((at, length, escaped)) = next {
        out.extend_from_slice(&json[from..at]);
        out.extend_from_slice(escaped.as_bytes());
        from = at + length;
        next = find(json, from);
    }
    out.extend_from_slice(&json[from..]);
    *json = out;
}

/// Finds the next such character: where it is, its length, and its escape.
fn find(json: &[u8], from: usize) -> Option<(usize, usize, &'static str)> {
    memchr::memchr2_iter(0xc2, 0xe2, &json[from..]).find_map(|offset| {
        let at = from + offset;
        let is_there = |char: char| json[at..].starts_with(char.encode_utf8(&mut [0; 4]).as_bytes());
        let (char, escaped) = BREAKS.into_iter().find(|(char, _)| is_there(*char))?;
        Some((at, char.len_utf8(), escaped))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::*;

    /// Every character at which Python's `str.splitlines()` ends a line.
    const SPLITS: [char; 10] =
        ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];

    #[test]
    fn a_value_is_one_line_for_every_reader_and_stays_the_same_value() {
        let text = SPLITS.iter().map(|char| format!("a{char}")).collect::<String>() + "… “é” \u{c2} 🔑";
        let value = json!({ text.clone(): [text, { "n": 1 }] });
        let line = json_line(&value);
        assert_eq!(line.find(SPLITS), Some(line.len() - 1), "{line}");
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
        assert!(line.contains("… “é” \u{c2} 🔑"), "nothing else is escaped: {line}");
    }

    #[test]
    fn a_value_that_was_kept_as_it_came_is_one_line() {
        let raw = RawValue::from_string("{\r\n \"a\": \"b\u{2028}c\"\n}".to_owned()).unwrap();
        assert_eq!(json_line(&raw), "{   \"a\": \"b\\u2028c\" }\n");
    }
}
