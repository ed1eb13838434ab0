//! The names of secrets: in a tree of settings, in a file of variables, in a file of logins. Their values stay where
//! they are.

use serde_json::{Map, Value};

use talaria_core::servers::{ValueSource, is_variable_name, looks_secret};
use talaria_guard::redact::redact;

/// Maximum number in a report.
const MOST: usize = 500;

/// A variable that something taken over refers to.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Which settings refer to it.
    pub used_by: Vec<String>,
    /// Where Hermes has its value, if that is known.
    pub found_in: Option<String>,
}

/// The names of the variables that a `.env` sets, in order, each once.
pub fn variable_names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.trim().strip_prefix("export ").unwrap_or(line.trim());
        let Some((name, value)) = line.split_once('=') else { continue };
        let name = name.trim();
        if is_variable_name(name) && !value.trim().is_empty() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names.truncate(MOST);
    names
}

/// The names of the logins in an `auth.json`.
pub fn login_names(text: &str) -> Vec<String> {
    let Ok(Value::Object(tree)) = serde_json::from_str(text) else { return Vec::new() };
    let mut names: Vec<String> = Vec::new();
    for section in ["providers", "credential_pool"] {
        if let Some(Value::Object(logins)) = tree.get(section) {
            names.extend(logins.keys().map(|name| redact(name).into_owned()));
        }
    }
    names.sort();
    names.dedup();
    names.truncate(MOST);
    names
}

/// The names of the settings whose values look secret.
pub(super) fn secret_names(tree: &Map<String, Value>) -> Vec<String> {
    let mut names = Vec::new();
    for (name, value) in tree {
        walk(&redact(name), name, value, &mut names);
    }
    names.truncate(MOST);
    names
}

fn walk(path: &str, name: &str, value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                walk(&format!("{path}.{}", redact(key)), key, value, names);
            }
        }
        Value::Array(list) => {
            for (number, value) in list.iter().enumerate() {
                walk(&format!("{path}.{number}"), name, value, names);
            }
        }
        Value::String(text) if referred(text).is_none() && is_secret(name, text) => {
            names.push(path.to_owned());
        }
        _ => {}
    }
}

/// The variable that a whole text refers to. A text with a reference somewhere in it is a text, and may be secret;
/// so is a secret between braces.
pub(super) fn referred(text: &str) -> Option<String> {
    let given = ValueSource::read(text).ok()?;
    given.variable().filter(|name| redact(name) == *name).map(str::to_owned)
}

/// Words such as `key_env: OPENAI_API_KEY` name a secret, they are none.
fn is_secret(name: &str, text: &str) -> bool {
    looks_secret(name, text) && !is_variable_name(text) || redact(text) != text
}
