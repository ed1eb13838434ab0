//! The values of a TOML text with their paths, for the code that shows them. Sections are only the way to them.

use serde_json::Value as Json;
use toml_edit::{Item, Value};

use super::{KeyPath, find, literal};
use crate::toml_problem::ConfigProblem;
use crate::toml_problem::read;

/// One value of a text.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// Where it is.
    pub path: KeyPath,
    value: Value,
}

impl Leaf {
    /// The value as TOML on one line.
    pub fn literal(&self) -> String {
        literal(&self.value)
    }

    /// The text that it is, without quotes; none for other values.
    pub fn text(&self) -> Option<&str> {
        self.value.as_str()
    }

    /// The value for programs; a time becomes its text, and so does a number that JSON does not have.
    pub fn json(&self) -> Json {
        json(&self.value)
    }
}

/// Everything that is set, or everything at and below a path, in the order of the file.
pub fn leaves(text: &str, below: Option<&KeyPath>) -> Result<Vec<Leaf>, ConfigProblem> {
    let document = read(text)?;
    let mut found = Vec::new();
    match below {
        Some(path) => {
            if let Some(item) = find(document.as_table(), path) {
                collect(item, path, &mut found);
            }
        }
        None => {
            for (key, item) in document.iter() {
                if let Some(path) = KeyPath::new([key]) {
                    collect(item, &path, &mut found);
                }
            }
        }
    }
    Ok(found)
}

fn collect(item: &Item, path: &KeyPath, found: &mut Vec<Leaf>) {
    match item.as_table_like() {
        Some(table) => table.iter().for_each(|(key, item)| collect(item, &path.join(key), found)),
        None => found.extend(item.clone().into_value().ok().map(|value| Leaf { path: path.clone(), value })),
    }
}

fn json(value: &Value) -> Json {
    match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(number) => (*number.value()).into(),
        Value::Float(number) if number.value().is_finite() => (*number.value()).into(),
        Value::Float(number) => number.value().to_string().into(),
        Value::Boolean(truth) => (*truth.value()).into(),
        Value::Datetime(time) => time.value().to_string().into(),
        Value::Array(array) => array.iter().map(json).collect(),
        Value::InlineTable(table) => {
            let entries = table.iter().map(|(key, value)| (key.to_owned(), json(value)));
            Json::Object(entries.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn every_value_is_named_once_whatever_its_notation() {
        let text =
            "a = 1\n[b]\nc.d = 'x'\ne = { f = [1, 2.5] }\n[[l]]\nk = true\n[[l]]\nk = 1979-05-27\n[empty]\n";
        let shown = |below: Option<&str>| -> String {
            let path = below.map(|path| path.parse().unwrap());
            let line = |leaf: &Leaf| format!("{} = {} | {}\n", leaf.path, leaf.literal(), leaf.json());
            leaves(text, path.as_ref()).unwrap().iter().map(line).collect()
        };
        expect![[r#"
            a = 1 | 1
            b.c.d = "x" | "x"
            b.e.f = [1, 2.5] | [1,2.5]
            l = [{ k = true }, { k = 1979-05-27 }] | [{"k":true},{"k":"1979-05-27"}]
        "#]]
        .assert_eq(&shown(None));
        expect![[r#"
            b.c.d = "x" | "x"
        "#]]
        .assert_eq(&shown(Some("b.c")));
        assert_eq!(shown(Some("none")), "");
    }
}
