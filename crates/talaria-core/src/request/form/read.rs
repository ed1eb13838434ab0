//! Parses the input of a form field into a value, or returns a message about the mistake.
//!
//! The same check serves values that come from elsewhere (an answer over an API). No sentence repeats what was typed: it
//! may be a secret.

use serde_json::Value;

use super::{Field, FieldKind, FormOption, formats};
use crate::request::Given;

impl Field {
    /// Reads a line. `Ok(None)` leaves the field out; `Err` says what it takes.
    pub fn read(&self, line: &str) -> Result<Option<Given>, String> {
        let typed = line.trim();
        if typed.is_empty() {
            return match &self.default {
                Some(default) => Ok(Some(self.given(default.clone()))),
                None if self.required => Err("this must be filled in".to_owned()),
                None => Ok(None),
            };
        }
        // A password may begin or end with a space.
        let value = self.kind.parse(if self.secret { line } else { typed })?;
        self.check(&value)?;
        Ok(Some(self.given(value)))
    }

    /// Says what is wrong with a value, if something is.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        match (&self.kind, value) {
            (FieldKind::Text { format, min_length, max_length }, Value::String(text)) => {
                let length = text.chars().count() as u64;
                within(length as f64, min_length.map(|n| n as f64), max_length.map(|n| n as f64))
                    .map_err(|range| format!("this takes {range} characters"))?;
                match format.as_deref().filter(|format| !formats::fits(format, text)) {
                    Some(format) => Err(wants(format)),
                    None => Ok(()),
                }
            }
            (
                FieldKind::Number { minimum, maximum } | FieldKind::Integer { minimum, maximum },
                Value::Number(n),
            ) => {
                if matches!(self.kind, FieldKind::Integer { .. }) && !(n.is_i64() || n.is_u64()) {
                    return Err("this takes a whole number".to_owned());
                }
                let number = n.as_f64().unwrap_or(f64::NAN);
                within(number, *minimum, *maximum).map_err(|range| format!("this takes {range}"))
            }
            (FieldKind::Boolean, Value::Bool(_)) => Ok(()),
            (FieldKind::One { options }, Value::String(text)) if has(options, text) => Ok(()),
            (FieldKind::Many { options, min_items, max_items }, Value::Array(chosen)) => {
                let known = |value: &Value| value.as_str().is_some_and(|text| has(options, text));
                if !chosen.iter().all(known) {
                    return Err(self.kind.hint());
                }
                let (least, most) = (min_items.map(|n| n as f64), max_items.map(|n| n as f64));
                within(chosen.len() as f64, least, most)
                    .map_err(|range| format!("this takes {range} of the options"))
            }
            _ => Err(self.kind.hint()),
        }
    }

    fn given(&self, value: Value) -> Given {
        if self.secret { Given::secret(value) } else { Given::plain(value) }
    }
}

impl FieldKind {
    /// Its type, in a few words.
    pub fn hint(&self) -> String {
        match self {
            Self::Text { format: Some(format), .. } => wants(format),
            Self::Text { .. } => "this takes text".to_owned(),
            Self::Number { .. } => "this takes a number".to_owned(),
            Self::Integer { .. } => "this takes a whole number".to_owned(),
            Self::Boolean => "this takes yes or no".to_owned(),
            Self::One { .. } => "this takes one of the options".to_owned(),
            Self::Many { .. } => "this takes any of the options, separated by commas".to_owned(),
        }
    }

    fn parse(&self, typed: &str) -> Result<Value, String> {
        let value = match self {
            Self::Text { .. } => Some(typed.into()),
            Self::Integer { .. } => typed.trim().parse::<i64>().ok().map(Value::from),
            Self::Number { .. } => number(typed.trim()),
            Self::Boolean => match typed.trim().to_lowercase().as_str() {
                "y" | "yes" | "true" => Some(true.into()),
                "n" | "no" | "false" => Some(false.into()),
                _ => None,
            },
            Self::One { options } => choose(options, typed).map(Value::from),
            Self::Many { options, .. } => {
                let mut chosen = Vec::new();
                for word in typed.split(',').filter(|word| !word.trim().is_empty()) {
                    let value = choose(options, word).ok_or_else(|| self.hint())?;
                    if !chosen.contains(&value) {
                        chosen.push(value);
                    }
                }
                Some(chosen.into())
            }
        };
        value.ok_or_else(|| self.hint())
    }
}

fn wants(format: &str) -> String {
    match formats::example(format) {
        Some(example) => format!("this takes text like {example} ({format})"),
        None => format!("this takes text ({format})"),
    }
}

fn number(text: &str) -> Option<Value> {
    match text.parse::<i64>() {
        Ok(whole) => Some(whole.into()),
        // Infinity is not a JSON number and has no `Value`.
        Err(_) => serde_json::Number::from_f64(text.parse().ok()?).map(Value::Number),
    }
}

/// The option that someone means by its number, counted from 1, its name, or its value.
fn choose(options: &[FormOption], text: &str) -> Option<String> {
    let text = text.trim();
    let named = |option: &&FormOption| option.label().eq_ignore_ascii_case(text) || option.value == text;
    let option = match text.parse::<usize>() {
        Ok(number) => options.get(number.checked_sub(1)?),
        Err(_) => options.iter().find(named),
    };
    option.map(|option| option.value.clone())
}

fn has(options: &[FormOption], value: &str) -> bool {
    options.iter().any(|option| option.value == value)
}

/// Checks limits; `Err` is the limits, in words.
fn within(value: f64, least: Option<f64>, most: Option<f64>) -> Result<(), String> {
    let fits = least.is_none_or(|least| value >= least) && most.is_none_or(|most| value <= most);
    match (least, most) {
        _ if fits => Ok(()),
        (Some(least), Some(most)) if least == most => Err(format!("exactly {least}")),
        (Some(least), Some(most)) => Err(format!("{least} to {most}")),
        (Some(least), None) => Err(format!("at least {least}")),
        (None, Some(most)) => Err(format!("at most {most}")),
        (None, None) => Err("another number of".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn field(kind: FieldKind) -> Field {
        let (title, description, default) = (None, None, None);
        Field { name: "f".to_owned(), title, description, required: true, secret: false, kind, default }
    }

    fn options(values: &[(&str, Option<&str>)]) -> Vec<FormOption> {
        let option = |(value, title): &(&str, Option<&str>)| FormOption {
            value: (*value).to_owned(),
            title: title.map(str::to_owned),
        };
        values.iter().map(option).collect()
    }

    fn check(field: &Field, lines: &[&str], expected: Expect) {
        let read = |line: &&str| match field.read(line) {
            Ok(Some(given)) => format!("{line:?}: {}", given.reveal()),
            Ok(None) => format!("{line:?}: left out"),
            Err(problem) => format!("{line:?}: no, {problem}"),
        };
        expected.assert_eq(&lines.iter().map(read).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn text_has_a_length_and_a_format() {
        let text = |format: Option<&str>| FieldKind::Text {
            format: format.map(str::to_owned),
            min_length: Some(2),
            max_length: Some(30),
        };
        check(
            &field(text(None)),
            &["Ada", " Ada ", "A", "世界", &"x".repeat(31), ""],
            expect![[r#"
            "Ada": "Ada"
            " Ada ": "Ada"
            "A": no, this takes 2 to 30 characters
            "世界": "世界"
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": no, this takes 2 to 30 characters
            "": no, this must be filled in"#]],
        );
        check(
            &field(text(Some("email"))),
            &["ada@example.org", "ada"],
            expect![[r#"
            "ada@example.org": "ada@example.org"
            "ada": no, this takes text like ada@example.org (email)"#]],
        );
        check(&field(text(Some("hologram"))), &["anything"], expect![[r#""anything": "anything""#]]);
    }

    #[test]
    fn numbers_keep_their_limits() {
        let (minimum, maximum) = (Some(0.0), Some(150.0));
        check(
            &field(FieldKind::Integer { minimum, maximum }),
            &["37", "-1", "151", "3.5", "many"],
            expect![[r#"
            "37": 37
            "-1": no, this takes 0 to 150
            "151": no, this takes 0 to 150
            "3.5": no, this takes a whole number
            "many": no, this takes a whole number"#]],
        );
        let lines = ["37", "3.5", "1e2", "-0.1", "inf", "NaN", "seven"];
        check(
            &field(FieldKind::Number { minimum, maximum: None }),
            &lines,
            expect![[r#"
            "37": 37
            "3.5": 3.5
            "1e2": 100.0
            "-0.1": no, this takes at least 0
            "inf": no, this takes a number
            "NaN": no, this takes a number
            "seven": no, this takes a number"#]],
        );
    }

    #[test]
    fn yes_and_no_are_said_clearly() {
        check(
            &field(FieldKind::Boolean),
            &["y", "No", "TRUE", "maybe", "1"],
            expect![[r#"
            "y": true
            "No": false
            "TRUE": true
            "maybe": no, this takes yes or no
            "1": no, this takes yes or no"#]],
        );
    }

    #[test]
    fn options_are_chosen_by_number_name_or_value() {
        let options = options(&[("r", Some("Red")), ("g", None)]);
        let one = field(FieldKind::One { options: options.clone() });
        check(
            &one,
            &["1", "red", "r", "g", "0", "3", "blue"],
            expect![[r#"
            "1": "r"
            "red": "r"
            "r": "r"
            "g": "g"
            "0": no, this takes one of the options
            "3": no, this takes one of the options
            "blue": no, this takes one of the options"#]],
        );
        let many = field(FieldKind::Many { options, min_items: Some(1), max_items: Some(1) });
        check(
            &many,
            &["1", "g,", "1, r", "1,2", ",", "1,blue"],
            expect![[r#"
            "1": ["r"]
            "g,": ["g"]
            "1, r": ["r"]
            "1,2": no, this takes exactly 1 of the options
            ",": no, this takes exactly 1 of the options
            "1,blue": no, this takes any of the options, separated by commas"#]],
        );
    }

    #[test]
    fn an_empty_line_is_the_default_or_nothing() {
        let kind = || FieldKind::Integer { minimum: None, maximum: None };
        check(
            &field(kind()),
            &["", "  "],
            expect![[r#"
            "": no, this must be filled in
            "  ": no, this must be filled in"#]],
        );
        check(&Field { required: false, ..field(kind()) }, &[""], expect![[r#""": left out"#]]);
        check(
            &Field { default: Some(json!(7)), ..field(kind()) },
            &["", "8"],
            expect![[r#"
            "": 7
            "8": 8"#]],
        );
    }

    #[test]
    fn a_secret_keeps_its_spaces_and_is_never_repeated() {
        let kind =
            FieldKind::Text { format: Some("email".to_owned()), min_length: Some(9), max_length: None };
        let secret = Field { secret: true, ..field(kind) };
        let problem = secret.read("hunter2").unwrap_err();
        assert!(!problem.contains("hunter2"), "{problem}");
        let kind = FieldKind::Text { format: None, min_length: None, max_length: None };
        let given = Field { secret: true, ..field(kind) }.read(" a b ").unwrap().unwrap();
        assert_eq!(given.reveal(), " a b ");
        assert!(given.is_secret());
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        let integer = field(FieldKind::Integer { minimum: None, maximum: None });
        for value in [json!("7"), json!(7.5), json!(null), json!([7])] {
            assert!(integer.check(&value).is_err(), "{value}");
        }
        let many =
            field(FieldKind::Many { options: options(&[("a", None)]), min_items: None, max_items: None });
        assert!(many.check(&json!(["a"])).is_ok());
        for value in [json!(["b"]), json!("a"), json!([1])] {
            assert!(many.check(&value).is_err(), "{value}");
        }
    }
}
