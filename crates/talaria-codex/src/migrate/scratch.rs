//! A scratch `CODEX_HOME`: the text to check, and the files in the user's own home that it names.
//!
//! It is in Talaria's home, private to the owner, since the text may contain secrets, and is removed when dropped.
//! Leftovers of a killed process are removed by the next one: a lock on the directory shows whether it is still in
//! use.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use toml_edit::{Document, Item, TableLike, Value};

/// How the name of such a directory begins.
const PREFIX: &str = ".checking-";

/// Never shown to a scratch Codex: the login is none of its business.
const NOT_LINKED: [&str; 2] = ["config.toml", "auth.json"];

/// A scratch home.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    /// Locked as long as the directory is used.
    _lock: File,
}

impl Scratch {
    /// Creates a home below `room` with `text` as its configuration, and with the files of `beside` that the text
    /// names by a relative path, because Codex reads them.
    pub(super) fn create(room: &Path, text: &str, beside: &Path) -> io::Result<Self> {
        let private = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path);
        private(room)?;
        // No sweep may run between the creation of a directory and its lock.
        let whole = File::open(room)?;
        whole.lock()?;
        sweep(room);
        let path = room.join(format!("{PREFIX}{}", uuid::Uuid::new_v4().simple()));
        private(&path)?;
        let lock = File::open(&path)?;
        lock.try_lock().map_err(io::Error::from)?;
        drop(whole);
        let scratch = Self { path, _lock: lock };
        let config = File::options().write(true).create_new(true).mode(0o600).open(scratch.config())?;
        io::Write::write_all(&mut &config, text.as_bytes())?;
        for named in files_named_in(text, beside) {
            let link = scratch.path.join(&named);
            if let Some(parent) = link.parent() {
                private(parent)?;
            }
            symlink(beside.join(&named), link)?;
        }
        Ok(scratch)
    }

    /// The directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file with the text.
    pub(super) fn config(&self) -> PathBuf {
        self.path.join("config.toml")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If that fails, the next run removes it.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what killed processes left.
pub(super) fn sweep(room: &Path) {
    for entry in fs::read_dir(room).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            let is_left = File::open(entry.path()).is_ok_and(|lock| lock.try_lock().is_ok());
            if is_left {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// The files below `beside` that a value somewhere in the text names.
fn files_named_in(text: &str, beside: &Path) -> Vec<PathBuf> {
    let Ok(document) = Document::parse(text) else { return Vec::new() };
    let mut found = Vec::new();
    walk_table(document.as_table(), &mut |value| {
        let path = Path::new(value);
        let stays_below =
            !value.is_empty() && path.components().all(|part| matches!(part, Component::Normal(_)));
        if stays_below && !NOT_LINKED.contains(&value) && beside.join(path).is_file() {
            found.push(path.to_owned());
        }
    });
    found.sort();
    found.dedup();
    found
}

fn walk_table(table: &dyn TableLike, see: &mut dyn FnMut(&str)) {
    for (_, item) in table.iter() {
        match item {
            Item::Value(value) => walk_value(value, see),
            Item::Table(table) => walk_table(table, see),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|table| walk_table(table, see)),
            Item::None => {}
        }
    }
}

fn walk_value(value: &Value, see: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => see(text.value()),
        Value::Array(values) => values.iter().for_each(|value| walk_value(value, see)),
        Value::InlineTable(table) => walk_table(table, see),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_that_the_text_names_are_there_and_the_login_is_not() {
        let (room, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(home.path().join("agents")).unwrap();
        for name in ["notes.md", "agents/a.toml", "auth.json", "other.md"] {
            fs::write(home.path().join(name), name).unwrap();
        }
        let text = "a = \"notes.md\"\nb = [{ c = \"agents/a.toml\" }]\nd = \"auth.json\"\ne = \"../x\"\n[[t]]\nf = \"\"\n";
        let scratch = Scratch::create(&room.path().join("new"), text, home.path()).unwrap();
        assert_eq!(names(scratch.path()), ["agents", "config.toml", "notes.md"]);
        assert_eq!(fs::read_to_string(scratch.path().join("agents/a.toml")).unwrap(), "agents/a.toml");
        assert_eq!(fs::read_to_string(scratch.config()).unwrap(), text);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(scratch.path()), mode(&scratch.config())), (0o700, 0o600));
        drop(scratch);
        assert_eq!(names(&room.path().join("new")), [""; 0]);
        assert_eq!(names(home.path()).len(), 4, "links are removed, not what they lead to");
    }

    #[test]
    fn what_a_killed_process_left_goes_with_the_next_and_what_is_used_stays() {
        let (room, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(room.path().join(format!("{PREFIX}left"))).unwrap();
        let first = Scratch::create(room.path(), "", home.path()).unwrap();
        let second = Scratch::create(room.path(), "", home.path()).unwrap();
        assert!(first.config().exists() && second.config().exists());
        assert_eq!(names(room.path()).len(), 2);
    }
}
