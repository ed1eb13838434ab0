//! One form for what means the same: the words of a command that is understood wholly, JSON with its keys in order.
//!
//! A command is split only if nothing depends on the running shell. Everything else (variables, pipes, redirects, syntax
//! errors) stays plain text, because two such texts may differ in ways that this parser cannot see.

use serde_json::Value;

use talaria_guard::shell::{CommandRole, CommandText, SimpleCommand};

/// A command in one form.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command<'a> {
    /// The shell around it with its option, then the words of the one command.
    Words(Vec<String>),
    /// The text, unchanged.
    Text(&'a str),
}

/// Returns the one form of a command line.
pub(super) fn command<'a>(line: &CommandText<'a>) -> Command<'a> {
    words(line).map_or(Command::Text(line.text()), Command::Words)
}

fn words(text: &CommandText<'_>) -> Option<Vec<String>> {
    let line = text.parsed().ok()?;
    // A line that is turned round (`! ls`) has the same commands.
    if line.has_hidden_effects || text.text().contains('!') {
        return None;
    }
    // More groups are loops, conditions, subshells or functions around the command.
    match (line.commands.as_slice(), line.groups.len()) {
        ([one], 1) if one.role == CommandRole::Plain => literal(one),
        ([runner, one], 2) if runner.role == CommandRole::Runner && one.role == CommandRole::Plain => {
            let [shell, option, _script] = <[String; 3]>::try_from(literal(runner)?).ok()?;
            let mut words = vec![shell, option];
            words.extend(literal(one)?);
            Some(words)
        }
        _ => None,
    }
}

/// The words of a command that does nothing but run a program with exactly these.
fn literal(command: &SimpleCommand) -> Option<Vec<String>> {
    let is_bare = command.assignments.is_empty()
        && command.redirects.is_empty()
        && command.directory.is_none()
        && !command.is_background;
    if !is_bare {
        return None;
    }
    command.words.iter().map(|word| word.text().map(str::to_owned)).collect()
}

/// JSON text with the keys of every object sorted.
pub(super) fn json(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort();
            let fields = keys.into_iter().map(|key| {
                let value = object.get(key).map(json).unwrap_or_default();
                format!("{}:{value}", Value::String(key.clone()))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(json).collect::<Vec<_>>().join(",")),
        scalar => scalar.to_string(),
    }
}
