//! JSON text with the keys of every object in order and no space between its parts. The same arguments then make the
//! same bytes, from any writer.
//!
//! It works on text, so that numbers and strings are unchanged. One pass, also for hostile input: values nested
//! deeper than `DEEPEST` are not sorted.

use serde_json::value::RawValue;

/// Depth to which objects are sorted; the same limit as that of `serde_json`.
const DEEPEST: usize = 128;

/// Writes a JSON value with its keys in order.
pub(super) fn sorted(raw: &RawValue) -> String {
    let text = raw.get();
    let mut reader = Reader { text, at: 0 };
    let mut out = String::with_capacity(text.len());
    match reader.value(0) {
        Some(value) => value.write(&mut out),
        None => out.push_str(text),
    }
    out
}

enum Node<'a> {
    /// A string with its quotes, a number, or a word.
    Scalar(&'a str),
    Array(Vec<Node<'a>>),
    /// The keys with their quotes, in order.
    Object(Vec<(&'a str, Node<'a>)>),
}

impl Node<'_> {
    fn write(&self, out: &mut String) {
        match self {
            Self::Scalar(text) => out.push_str(text),
            Self::Array(items) => {
                let mut sign = '[';
                for item in items {
                    out.push(sign);
                    item.write(out);
                    sign = ',';
                }
                out.push_str(if items.is_empty() { "[]" } else { "]" });
            }
            Self::Object(fields) => {
                let mut sign = '{';
                for (key, value) in fields {
                    out.push(sign);
                    out.push_str(key);
                    out.push(':');
                    value.write(out);
                    sign = ',';
                }
                out.push_str(if fields.is_empty() { "{}" } else { "}" });
            }
        }
    }
}

/// Reads text that is known to be JSON. `None` only says that it is nested too deep.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Option<Node<'a>> {
        match self.peek()? {
            _ if depth > DEEPEST => None,
            b'{' => {
                let mut fields = Vec::new();
                self.at += 1;
                while self.peek()? != b'}' {
                    let key = self.scalar()?;
                    self.skip(b':')?;
                    fields.push((key, self.value(depth + 1)?));
                    self.skip(b',')?;
                }
                self.at += 1;
                fields.sort_by_key(|(key, _)| *key);
                Some(Node::Object(fields))
            }
            b'[' => {
                let mut items = Vec::new();
                self.at += 1;
                while self.peek()? != b']' {
                    items.push(self.value(depth + 1)?);
                    self.skip(b',')?;
                }
                self.at += 1;
                Some(Node::Array(items))
            }
            _ => self.scalar().map(Node::Scalar),
        }
    }

    /// The next sign that is no space.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let skipped = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        self.at += skipped;
        rest.get(skipped).copied()
    }

    /// Passes a sign between two parts, if it is here.
    fn skip(&mut self, sign: u8) -> Option<()> {
        if self.peek()? == sign {
            self.at += 1;
        }
        Some(())
    }

    fn scalar(&mut self) -> Option<&'a str> {
        let first = self.peek()?;
        let rest = self.text.get(self.at..)?;
        let length = if first == b'"' { string_length(rest)? } else { word_length(rest) };
        self.at += length;
        rest.get(..length).filter(|scalar| !scalar.is_empty())
    }
}

fn string_length(text: &str) -> Option<usize> {
    let mut signs = text.bytes().enumerate().skip(1);
    while let Some((at, byte)) = signs.next() {
        match byte {
            b'"' => return Some(at + 1),
            b'\\' => drop(signs.next()),
            _ => {}
        }
    }
    None
}

fn word_length(text: &str) -> usize {
    let ends = |byte: u8| matches!(byte, b',' | b'}' | b']' | b':') || byte.is_ascii_whitespace();
    text.bytes().position(ends).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Number, Value};

    use super::*;

    fn sort(text: &str) -> String {
        sorted(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn keys_are_in_order_at_every_depth_and_nothing_else_changes() {
        assert_eq!(
            sort(
                r#" { "b" : [ { "d" : 1.50 , "c" : "x\" , y" } , [ ] , { } ] , "a" : 123456789012345678901234567890 } "#
            ),
            r#"{"a":123456789012345678901234567890,"b":[{"c":"x\" , y","d":1.50},[],{}]}"#
        );
        for scalar in ["null", "-1.5e+9", r#""a\\""#, r#""{\"b\":1}""#, "true"] {
            assert_eq!(sort(scalar), scalar);
        }
    }

    #[test]
    fn what_is_nested_too_deep_is_left_as_it_is() {
        let deep = format!("{}{{\"b\":1,\"a\":2}}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(sort(&deep), deep);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(|number| Value::Number(Number::from(number))),
            "[a-z\"\\\\{}\\[\\],: \u{e9}\n]{0,8}".prop_map(Value::String),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::vec(("[a-c\"\\\\{ ]{0,3}", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_value_stays_the_same_and_sorting_twice_changes_nothing(value in any_json()) {
            for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                let once = sort(&text);
                prop_assert_eq!(&serde_json::from_str::<Value>(&once).unwrap(), &value);
                prop_assert_eq!(&sort(&once), &once);
                prop_assert_eq!(&sort(&value.to_string()), &once);
            }
        }
    }
}
