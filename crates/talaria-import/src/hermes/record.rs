//! The record of an import: changed keys, copied files, and the name of its conversations. It is written before
//! anything is changed, so that everything can be found again after a crash.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::config::ImportedSetting;
use talaria_core::edit::KeyPath;

use super::HermesError;
use super::files::FilesPlan;
use talaria_home::user_file::{self, UserFile};

/// How long to wait for another import.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);
const START: &str = "hermes-";

/// Changes of one import, done or intended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Its name; later ones sort after earlier ones.
    pub(super) run: String,
    /// From where.
    pub(super) home: String,
    /// True if the import is complete.
    pub(super) finished: bool,
    /// True if there was no configuration before.
    pub(super) made_config: bool,
    /// Changed keys.
    pub(super) edits: Vec<Edit>,
    /// Copied files, below Talaria's home, with the digest of their content.
    pub(super) files: BTreeMap<String, String>,
    /// The directories that were made for them.
    pub(super) directories: Vec<String>,
    /// True if conversations were imported, or may have been by an unfinished import.
    pub(super) sessions: bool,
}

/// A key that was set. No secret is among them: those are references.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Edit {
    pub(super) key: String,
    /// As it is written.
    pub(super) value: String,
}

impl Edit {
    /// The server to which the key belongs.
    pub(super) fn server(&self) -> Option<String> {
        let path: KeyPath = self.key.parse().ok()?;
        match path.parts() {
            [section, name, _] if section == "mcp_servers" => Some(name.clone()),
            _ => None,
        }
    }
}

impl Record {
    pub(super) fn new(home: &Path) -> Self {
        Self {
            run: format!("{START}{}", uuid::Uuid::now_v7()),
            home: home.display().to_string(),
            ..Self::default()
        }
    }

    /// The newest note.
    pub(super) fn last(directory: &Path) -> Result<Option<Self>, HermesError> {
        let Ok(entries) = fs::read_dir(directory) else { return Ok(None) };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let newest = names.filter(|name| name.starts_with(START) && name.ends_with(".json")).max();
        let Some(path) = newest.map(|name| directory.join(name)) else { return Ok(None) };
        let Some(text) = user_file::read(&path)? else { return Ok(None) };
        match serde_json::from_str(&text) {
            Ok(record) => Ok(Some(record)),
            Err(error) => Err(HermesError::Record { path, why: error.to_string() }),
        }
    }

    /// Returns whether it was an import of this home.
    pub(super) fn is_of(&self, home: &Path) -> bool {
        self.home == home.display().to_string()
    }

    /// Records which keys will be set. A server is set as a whole: keys of it from an earlier attempt are dropped.
    pub(super) fn set(&mut self, taken: &[ImportedSetting]) {
        let edit = |taken: &ImportedSetting| Edit { key: taken.key.clone(), value: taken.value.clone() };
        let edits: Vec<Edit> = taken.iter().map(edit).collect();
        let keys: HashSet<&str> = edits.iter().map(|edit| edit.key.as_str()).collect();
        let servers: HashSet<String> = edits.iter().filter_map(Edit::server).collect();
        self.edits.retain(|known| {
            !keys.contains(known.key.as_str()) && known.server().is_none_or(|name| !servers.contains(&name))
        });
        self.edits.extend(edits);
    }

    /// Notes which files will be copied, and which directories will be made for them.
    pub(super) fn expect(&mut self, files: &FilesPlan, home: &Path) {
        for copy in &files.copies {
            let parents = copy.to.match_indices('/').map(|(end, _)| &copy.to[..end]);
            for parent in parents.filter(|parent| !home.join(parent).exists()) {
                if !self.directories.iter().any(|known| known == parent) {
                    self.directories.push(parent.to_owned());
                }
            }
            self.files.insert(copy.to.clone(), copy.digest.clone());
        }
    }

    /// Returns whether there is nothing to undo.
    pub(super) fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.files.is_empty() && !self.sessions
    }

    pub(super) fn write(&self, directory: &Path) -> Result<(), HermesError> {
        let path = self.path(directory);
        let why =
            |error: serde_json::Error| HermesError::Record { path: path.clone(), why: error.to_string() };
        let text = serde_json::to_string_pretty(self).map_err(why)? + "\n";
        Ok(UserFile::lock(&path)?.replace(&text)?)
    }

    pub(super) fn remove(&self, directory: &Path) -> Result<(), HermesError> {
        Ok(UserFile::lock(&self.path(directory))?.remove()?)
    }

    fn path(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{}.json", self.run))
    }
}

/// Takes the import lock. It is released when the file is dropped.
pub(super) fn lock(directory: &Path) -> Result<File, HermesError> {
    let path = directory.join("lock");
    let failed = |source| HermesError::Write { path: path.clone(), source };
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
    let since = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if since.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(HermesError::Busy),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
    }
}
