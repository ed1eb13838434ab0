//! `talaria config set` and `unset`: one key is changed, or nothing, and the person learns when it takes effect.

use serde_json::{Value as Json, json};
use talaria_core::config::{Effect, assign, unread, withdraw};
use talaria_core::edit::{KeyPath, leaves};
use talaria_core::json_line::json_line;
use talaria_engine::engine::holder;
use talaria_home::home::TalariaHome;
use talaria_home::user_file::{LockedUserFile, UserFile};

use super::show::masked_json;
use super::{FIRST_LINE, Form, file_trouble, text_trouble};
use crate::output::print;
use crate::trouble::{Trouble, complain, exit};

pub(super) fn set(home: &TalariaHome, path: &KeyPath, typed: &str, form: Form) -> Result<u8, Trouble> {
    let locked = lock(home)?;
    if let Some(key) = within(locked.text().unwrap_or_default(), path) {
        return Err(cannot_set(path)
            .because("it is a section with keys of its own")
            .try_this(format!("name one of them, for example {key}")));
    }
    let new =
        assign(locked.text().unwrap_or(FIRST_LINE), path, typed).map_err(|problem| match problem.line {
            // It is about the file as it is, not about what was typed.
            Some(_) => text_trouble(&home.config_file(), &problem),
            None => cannot_set(path).because(&problem),
        })?;
    let value = leaves(&new, Some(path)).ok().and_then(|leaves| leaves.first().map(masked_json));
    let changed = replace(locked, &new)?;
    let words = if changed { "is set" } else { "already has that value" };
    tell(home, path, &Told { value: value.unwrap_or_default(), changed, words }, form)
}

/// Takes a key away.
pub(super) fn unset(home: &TalariaHome, path: &KeyPath, form: Form) -> Result<u8, Trouble> {
    let locked = lock(home)?;
    let old = locked.text().unwrap_or_default();
    let new = withdraw(old, path).map_err(|problem| match problem.line {
        Some(_) => text_trouble(&home.config_file(), &problem),
        None => Trouble::new(exit::USAGE, format!("cannot unset {path}; the file is unchanged"))
            .because(format!("without it {problem}"))
            .try_this("unset the whole section, or set the key to another value"),
    })?;
    if new == old {
        return match unread(path) {
            Some(problem) => Err(Trouble::new(exit::USAGE, "there is no such key").because(problem)),
            None => tell(home, path, &Told { value: Json::Null, changed: false, words: "was not set" }, form),
        };
    }
    let changed = replace(locked, &new)?;
    tell(home, path, &Told { value: Json::Null, changed, words: "is no longer set" }, form)
}

fn cannot_set(path: &KeyPath) -> Trouble {
    Trouble::new(exit::USAGE, format!("cannot set {path}; the file is unchanged"))
}

/// A key below `path`, if that is a section.
fn within(text: &str, path: &KeyPath) -> Option<KeyPath> {
    let found = leaves(text, Some(path)).unwrap_or_default();
    found.into_iter().map(|leaf| leaf.path).find(|leaf| leaf != path)
}

/// Takes the right to change Talaria's configuration; its directory is made if it is missing.
pub(crate) fn lock(home: &TalariaHome) -> Result<LockedUserFile, Trouble> {
    home.ensure().map_err(|error| {
        Trouble::new(exit::FAILED, "cannot use Talaria's home").because(&error).try_this(error.next_step())
    })?;
    UserFile::lock(&home.config_file()).map_err(|error| file_trouble(&error))
}

/// Replaces the text; returns whether it differs.
pub(crate) fn replace(locked: LockedUserFile, new: &str) -> Result<bool, Trouble> {
    let changed = locked.text() != Some(new);
    locked.replace(new).map_err(|error| file_trouble(&error))?;
    Ok(changed)
}

/// Result of a key.
struct Told {
    value: Json,
    changed: bool,
    words: &'static str,
}

fn tell(home: &TalariaHome, path: &KeyPath, told: &Told, form: Form) -> Result<u8, Trouble> {
    let effect = Effect::of(path);
    let file = home.config_file().display().to_string();
    if form == Form::Json {
        let Told { value, changed, .. } = told;
        let effect = changed.then(|| effect.name());
        let key = path.to_string();
        let object =
            json!({ "key": key, "value": value, "changed": changed, "effect": effect, "file": file });
        print(&json_line(&object))?;
        return Ok(0);
    }
    complain(&format!("{path} {} in {file}\n", told.words));
    if told.changed {
        complain(&format!("it {}\n", when(home, effect)));
    }
    Ok(0)
}

/// When a change counts; a running engine that does not see it is named.
pub(super) fn when(home: &TalariaHome, effect: Effect) -> String {
    match (effect, holder(&home.lock_file())) {
        (Effect::EngineStart, Some(engine)) => format!(
            "{}: the running one (process {}) keeps its value until `talaria stop --keep-turns`, which leaves its turns \
             running",
            effect.words(),
            engine.pid
        ),
        _ => effect.words().to_owned(),
    }
}
