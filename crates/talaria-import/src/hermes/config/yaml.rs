//! The text of `config.yaml` as a tree. Invalid YAML is one problem with its position, without a line of the file: it
//! may contain a secret.

use serde_json::{Map, Value};

use talaria_guard::redact::redact;

/// The settings by name; later ones of the same name win, as they do in Hermes.
pub type Tree = Map<String, Value>;

/// Where and why a text is no configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", place(*line, *column))]
pub struct BadYaml {
    /// The line, from 1.
    pub line: Option<u64>,
    /// The column, from 1.
    pub column: Option<u64>,
    /// The problem.
    pub why: String,
}

fn place(line: Option<u64>, column: Option<u64>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!("line {line}, column {column}: "),
        _ => String::new(),
    }
}

/// Reads a text; an empty one has no settings.
pub fn read(text: &str) -> Result<Tree, BadYaml> {
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    };
    let read: Option<Value> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| bad(&error))?;
    match read {
        None | Some(Value::Null) => Ok(Tree::new()),
        Some(Value::Object(tree)) => Ok(tree),
        Some(_) => Err(BadYaml {
            line: Some(1),
            column: Some(1),
            why: "it must be a list of settings (name: value)".to_owned(),
        }),
    }
}

fn bad(error: &serde_saphyr::Error) -> BadYaml {
    let location = error.location();
    let words = error.to_string();
    let line = words.lines().next().unwrap_or_default();
    let line = line.trim_start_matches("error: ");
    // We add the position ourselves, in the same form as for every other file.
    let why = line.split(" at line ").next().unwrap_or(line);
    let why =
        why.rsplit_once(": ").filter(|(before, _)| before.starts_with("line ")).map_or(why, |(_, why)| why);
    let why = match why {
        why if why.contains("multiple YAML documents") => "there is more than one document",
        why if why.contains("recursive references") => "it refers to itself",
        why => why,
    };
    BadYaml {
        line: location.map(|location| location.line()),
        column: location.map(|location| location.column()),
        why: redact(why.trim()).into_owned(),
    }
}
