//! Changes one key in a TOML text and leaves every other byte where it is.
//!
//! Owns how a key is found, replaced, added and removed. A change is a text edit at the parser's spans, never a reprinted
//! document: comments, order, quoting, line endings, a byte order mark and a missing last line end are preserved. The
//! result is parsed again before it is returned. Depends on no particular key and no file. `config set`, the runtime
//! switch and the import use it.

mod cut;
mod key_path;
mod leaves;
mod literal;
mod place;

use toml_edit::{Item, TableLike, Value};

use crate::toml_problem::{ConfigProblem, Severity, read};
pub use key_path::{BadKeyPath, KeyPath};
pub use leaves::{Leaf, leaves};
pub use literal::literal;

/// Reads what is set at a path: a value, or a table with everything in it. A text that is not TOML is a problem.
pub fn get(text: &str, path: &KeyPath) -> Result<Option<Item>, ConfigProblem> {
    let document = read(text)?;
    Ok(find(document.as_table(), path).cloned())
}

/// Sets a path to a value, adding the key and its section if they are missing.
///
/// A value that already is the same is left as it is written. A section cannot be replaced by a value.
pub fn set(text: &str, path: &KeyPath, value: impl Into<Value>) -> Result<String, ConfigProblem> {
    let written = literal(&value.into());
    let document = read(text)?;
    let changed = match find(document.as_table(), path) {
        Some(Item::Value(old)) if literal(old) == written => return Ok(text.to_owned()),
        Some(old) => place::replacing(text, path, old, &written)?,
        None => place::adding(text, path, &document, &written)?,
    };
    let there = get(&changed, path).ok().flatten();
    match there.as_ref().and_then(Item::as_value) {
        Some(now) if literal(now) == written => Ok(changed),
        _ => Err(refused(text, path, None, "cannot be set in this file")),
    }
}

/// Takes a key, or a table with everything in it, away; one that is not set changes nothing.
///
/// A section without remaining keys and comments is removed, too: a key that [`set`] added leaves no trace.
pub fn unset(text: &str, path: &KeyPath) -> Result<String, ConfigProblem> {
    let document = read(text)?;
    if find(document.as_table(), path).is_none() {
        return Ok(text.to_owned());
    }
    let changed = cut::without(text, path, &document)?;
    match get(&changed, path) {
        Ok(None) => Ok(changed),
        _ => Err(refused(text, path, None, "cannot be removed from this file")),
    }
}

fn find<'a>(root: &'a dyn TableLike, path: &KeyPath) -> Option<&'a Item> {
    let (last, tables) = path.parts().split_last()?;
    let mut table = root;
    for part in tables {
        table = table.get(part)?.as_table_like()?;
    }
    table.get(last)
}

fn refused(text: &str, path: &KeyPath, offset: Option<usize>, message: &str) -> ConfigProblem {
    let (line, column) = crate::toml_problem::position(text, offset);
    ConfigProblem {
        line,
        column,
        key: Some(path.to_string()),
        message: message.to_owned(),
        hint: None,
        severity: Severity::Error,
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
