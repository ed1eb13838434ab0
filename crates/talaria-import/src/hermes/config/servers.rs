//! The MCP servers of Hermes as entries of Talaria's file. A value that looks like a secret becomes a reference to a
//! variable; a secret where no reference is allowed excludes the whole server, because half of it is another server.

use std::borrow::Cow;

use serde_json::{Map, Value as Yaml};
use toml_edit::{Array, InlineTable, Value};

use super::secrets::{Variable, referred};
use talaria_core::servers::{holds_secret, is_variable_name, looks_secret, reference, variable_for};

/// In this order people write them.
const FIRST: [&str; 6] = ["command", "args", "env", "cwd", "url", "headers"];

/// A server to import.
pub(super) struct HermesServer {
    pub(super) name: String,
    /// Its keys, in order.
    pub(super) keys: Vec<(String, Value)>,
    pub(super) variables: Vec<Variable>,
    /// The value of each variable, in the same order; `None` is the value in the environment.
    pub(super) values: Vec<Option<String>>,
}

/// Reads the entries; those that cannot be taken over with the reason.
pub(super) fn read_servers(section: &Map<String, Yaml>) -> Vec<Result<HermesServer, (String, String)>> {
    section.iter().map(|(name, entry)| server(name, entry).map_err(|why| (name.clone(), why))).collect()
}

fn server(name: &str, entry: &Yaml) -> Result<HermesServer, String> {
    let Yaml::Object(entry) = entry else { return Err("it is not a list of settings".to_owned()) };
    check_texts(entry)?;
    let mut wanted =
        HermesServer { name: name.to_owned(), keys: Vec::new(), variables: Vec::new(), values: Vec::new() };
    let first = FIRST.iter().filter_map(|key| entry.get_key_value(*key));
    let rest = entry.iter().filter(|(key, _)| !FIRST.contains(&key.as_str()));
    for (key, value) in first.chain(rest) {
        let value = match (key.as_str(), value) {
            (_, Yaml::Null) => None,
            ("env" | "headers", Yaml::Object(entries)) => Some(wanted.read_table(key, entries)?),
            (_, value) => toml(value),
        };
        wanted.keys.extend(value.map(|value| (key.clone(), value)));
    }
    Ok(wanted)
}

/// A secret in a command line or an address cannot be referred to.
fn check_texts(entry: &Map<String, Yaml>) -> Result<(), String> {
    let found = |key: &str| {
        format!(
            "{key} holds what looks like a secret, and no reference is possible there; \
             put it into env or headers of the server and import again"
        )
    };
    // A number is written as an argument too; nothing is not.
    let args: Vec<Cow<'_, str>> = match entry.get("args") {
        Some(Yaml::Array(args)) => args.iter().filter(|value| !value.is_null()).map(words).collect(),
        _ => Vec::new(),
    };
    for (number, argument) in args.iter().enumerate() {
        let before = number.checked_sub(1).map(|before| args[before].as_ref());
        // Talaria's reader refuses every reference here.
        if reference(argument).is_none() && holds_secret(before, argument) {
            return Err(found("args"));
        }
    }
    for (key, value) in entry.iter().filter(|(key, _)| !["env", "headers", "args"].contains(&key.as_str())) {
        if leaves(key, value).iter().any(|(name, text)| {
            reference(text).is_none()
                && (holds_secret(None, text) || (*name != "url" && looks_secret(name, text)))
        }) {
            return Err(found(key));
        }
    }
    Ok(())
}

fn words(value: &Yaml) -> Cow<'_, str> {
    value.as_str().map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed)
}

fn leaves<'a>(name: &'a str, value: &'a Yaml) -> Vec<(&'a str, &'a str)> {
    match value {
        Yaml::String(text) => vec![(name, text.as_str())],
        Yaml::Array(list) => list.iter().flat_map(|value| leaves(name, value)).collect(),
        Yaml::Object(entries) => entries.iter().flat_map(|(name, value)| leaves(name, value)).collect(),
        _ => Vec::new(),
    }
}

impl HermesServer {
    /// Variables of a program or headers of an address.
    fn read_table(&mut self, key: &str, entries: &Map<String, Yaml>) -> Result<Value, String> {
        let mut table = InlineTable::new();
        for (name, value) in entries {
            let text = match value {
                Yaml::Null => continue,
                Yaml::String(text) => text.clone(),
                Yaml::Bool(_) | Yaml::Number(_) => value.to_string(),
                _ => return Err(format!("{key}.{name} is not a text")),
            };
            let place = format!("mcp_servers.{}.{key}.{name}", self.name);
            let text = match referred(&text) {
                Some(variable) => {
                    self.refer(&variable, place, None);
                    text
                }
                None if looks_secret(name, &text) => self.reference(key, name, &text, place)?,
                None => text,
            };
            table.insert(name, text.into());
        }
        Ok(table.into())
    }

    /// The reference that replaces a secret.
    fn reference(&mut self, key: &str, name: &str, text: &str, place: String) -> Result<String, String> {
        if key == "env" {
            if !is_variable_name(name) {
                return Err(format!("env.{name} is not the name of a variable"));
            }
            self.refer(name, place, Some(text));
            return Ok(format!("${{{name}}}"));
        }
        let is_bearer = name.eq_ignore_ascii_case("authorization")
            && text.split_once(' ').is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let variable = variable_for(&self.name, if is_bearer { "TOKEN" } else { name });
        self.refer(&variable, place, Some(text));
        Ok(if is_bearer { format!("Bearer ${{{variable}}}") } else { format!("${{{variable}}}") })
    }

    /// Remembers a variable and the secret that it replaces.
    fn refer(&mut self, name: &str, place: String, literal: Option<&str>) {
        let found_in = literal.map(|_| format!("config.yaml, {place}"));
        self.variables.push(Variable { name: name.to_owned(), used_by: vec![place], found_in });
        self.values.push(literal.map(str::to_owned));
    }
}

/// A value as TOML has it; there is no nothing in TOML.
fn toml(value: &Yaml) -> Option<Value> {
    Some(match value {
        Yaml::Null => return None,
        Yaml::Bool(truth) => (*truth).into(),
        Yaml::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Yaml::String(text) => text.as_str().into(),
        Yaml::Array(list) => list.iter().filter_map(toml).collect::<Array>().into(),
        Yaml::Object(entries) => {
            let entries = entries.iter().filter_map(|(name, value)| Some((name.as_str(), toml(value)?)));
            entries.collect::<InlineTable>().into()
        }
    })
}
