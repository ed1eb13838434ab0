//! `talaria config get`: the file, key by key. Secrets are masked.

use serde_json::value::RawValue;
use serde_json::{Value as Json, json};
use talaria_core::config::unread;
use talaria_core::edit::{KeyPath, Leaf, leaves};
use talaria_core::json_line::json_line;
use talaria_core::servers::{ValueSource, holds_secret, looks_secret};
use talaria_guard::redact::{redact, redact_json};
use talaria_home::home::TalariaHome;

use super::{Form, read, text_trouble};
use crate::output::print;
use crate::trouble::{Trouble, complain, exit};
use talaria_render::{plain, plain_line};

/// Shows one key; a section is shown key by key.
pub(super) fn one(home: &TalariaHome, path: &KeyPath, form: Form) -> Result<u8, Trouble> {
    let file = home.config_file();
    let text = read(&file)?.unwrap_or_default();
    let found = leaves(&text, Some(path)).map_err(|problem| text_trouble(&file, &problem))?;
    if found.is_empty() {
        return unset(path, form);
    }
    print(&match &found[..] {
        _ if form == Form::Json => json_lines(&found),
        // As scripts want it: the bare text, and what is no text as TOML.
        [leaf] if leaf.path == *path => bare(leaf) + "\n",
        _ => list(&found),
    })?;
    Ok(0)
}

/// Shows everything that is set.
pub(super) fn all(home: &TalariaHome, form: Form) -> Result<u8, Trouble> {
    let file = home.config_file();
    let text = read(&file)?;
    if text.is_none() && form == Form::Words {
        complain(&format!("{} does not exist; nothing is set\n", file.display()));
    }
    let found = leaves(&text.unwrap_or_default(), None).map_err(|problem| text_trouble(&file, &problem))?;
    print(&match form {
        Form::Json => json_lines(&found),
        Form::Words => list(&found),
    })?;
    Ok(0)
}

fn unset(path: &KeyPath, form: Form) -> Result<u8, Trouble> {
    if let Some(problem) = unread(path) {
        return Err(Trouble::new(exit::USAGE, "there is no such key").because(problem));
    }
    if form == Form::Json {
        print(&json_line(&json!({ "key": path.to_string(), "value": null })))?;
    } else {
        complain(&format!("{path} is not set\n"));
    }
    Ok(exit::FAILED)
}

fn list(leaves: &[Leaf]) -> String {
    leaves.iter().map(|leaf| plain_line(&masked(leaf)).into_owned() + "\n").collect()
}

/// Replacement of a secret of an MCP server.
const MASK: &str = "[redacted:secret]";

/// The value of a key of an MCP server with its secrets masked, if it has any: whether something is secret depends on more than
/// by its shape.
fn server_masked(leaf: &Leaf) -> Option<Json> {
    let parts: Vec<&str> = leaf.path.parts().iter().map(String::as_str).collect();
    match parts[..] {
        ["mcp_servers", _, "env" | "headers", name] => {
            let is_literal = matches!(ValueSource::read(leaf.text()?), Ok(ValueSource::Literal(_)) | Err(_));
            (is_literal && looks_secret(name, leaf.text()?)).then(|| Json::from(MASK))
        }
        ["mcp_servers", _, "command" | "url"] => holds_secret(None, leaf.text()?).then(|| Json::from(MASK)),
        ["mcp_servers", _, "args"] => {
            let Json::Array(args) = leaf.json() else { return None };
            let is_secret = |at: usize| {
                let before = at.checked_sub(1).and_then(|before| args[before].as_str());
                args[at].as_str().is_some_and(|text| holds_secret(before, text))
            };
            let masked: Vec<Json> = (0..args.len())
                .map(|at| if is_secret(at) { Json::from(MASK) } else { args[at].clone() })
                .collect();
            (masked != args).then_some(Json::Array(masked))
        }
        _ => None,
    }
}

/// The name of a key is what shows that its value is secret.
fn masked(leaf: &Leaf) -> String {
    if let Some(value) = server_masked(leaf) {
        return format!("{} = {value}", leaf.path);
    }
    redact(&format!("{} = {}", leaf.path, leaf.literal())).into_owned()
}

fn bare(leaf: &Leaf) -> String {
    let line = format!("{} = {}", leaf.path, leaf.literal());
    let masked = masked(leaf);
    match leaf.text() {
        Some(text) if masked == line => plain(text).into_owned(),
        _ => {
            let value = masked.strip_prefix(&format!("{} = ", leaf.path)).unwrap_or(&masked);
            plain_line(value).into_owned()
        }
    }
}

fn json_lines(leaves: &[Leaf]) -> String {
    leaves
        .iter()
        .map(|leaf| json_line(&json!({ "key": leaf.path.to_string(), "value": masked_json(leaf) })))
        .collect()
}

/// As in `masked`: the value is looked at under its name.
pub(super) fn masked_json(leaf: &Leaf) -> Json {
    if let Some(value) = server_masked(leaf) {
        return value;
    }
    let name = leaf.path.parts().last().cloned().unwrap_or_default();
    let object = Json::Object([(name.clone(), leaf.json())].into_iter().collect());
    let Ok(raw) = RawValue::from_string(object.to_string()) else { return Json::Null };
    let masked: Option<Json> = serde_json::from_str(redact_json(&raw).get()).ok();
    masked.and_then(|mut masked| masked.get_mut(&name).map(Json::take)).unwrap_or_default()
}
