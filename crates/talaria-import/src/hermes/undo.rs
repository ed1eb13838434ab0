//! Undoes an import as far as its files and settings are unchanged since. Changed ones are kept and reported.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;

use serde::Serialize;
use talaria_core::config::ConfigProblem;
use talaria_core::edit::{self, KeyPath, literal};

use super::HermesError;
use super::copy::beside;
use super::files::{Here, SkippedFile, here};
use super::record::{Edit, Record, lock};
use talaria_home::faults::blocking_point;
use talaria_home::home::TalariaHome;
use talaria_home::user_file::UserFile;

/// Whether anything is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoMode {
    /// Only reports what would be removed.
    Preview,
    /// Removes it.
    Apply,
}

/// The last import, to be taken back.
#[derive(Debug)]
pub struct HermesUndo {
    home: TalariaHome,
    record: Record,
    _lock: File,
}

/// Result of settings and files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct UndoneFiles {
    /// Keys that are not set any more.
    pub settings: Vec<String>,
    /// Removed files, relative to Talaria's home.
    pub files: Vec<String>,
    /// Keys, and servers as a whole, that were changed since, and stay.
    pub changed_settings: Vec<String>,
    /// Files that were changed since, and stay.
    pub changed_files: Vec<SkippedFile>,
}

impl HermesUndo {
    /// Finds the last import. Holds the import lock until it is dropped.
    pub fn begin(home: &TalariaHome) -> Result<Self, HermesError> {
        let directory = home.imports_dir();
        if !directory.is_dir() {
            return Err(HermesError::NothingToUndo);
        }
        let lock = lock(&directory)?;
        let record = Record::last(&directory)?.ok_or(HermesError::NothingToUndo)?;
        Ok(Self { home: home.clone(), record, _lock: lock })
    }

    /// The name under which its conversations were imported.
    pub fn run(&self) -> &str {
        &self.record.run
    }

    /// From where it was.
    pub fn source(&self) -> &str {
        &self.record.home
    }

    /// Takes settings and files back. Called again it does what is left to do.
    pub fn apply(&self, back: UndoMode) -> Result<UndoneFiles, HermesError> {
        let mut undone = UndoneFiles::default();
        self.settings(back, &mut undone)?;
        blocking_point("after:undo-settings");
        self.files(back, &mut undone)?;
        blocking_point("after:undo-files");
        Ok(undone)
    }

    /// Forgets the import: it was taken back.
    pub fn finish(self) -> Result<(), HermesError> {
        self.record.remove(&self.home.imports_dir())
    }

    fn settings(&self, back: UndoMode, undone: &mut UndoneFiles) -> Result<(), HermesError> {
        let path = self.home.config_file();
        let file = UserFile::lock(&path)?;
        let Some(text) = file.text() else { return Ok(()) };
        let own = |problem| HermesError::Own(path.clone(), Box::new(problem));
        let mut text = text.to_owned();
        let kept = self.kept_servers(&text).map_err(own)?;
        for edit in self.record.edits.iter().rev() {
            let Edit { key, value } = edit;
            if edit.server().is_some_and(|server| kept.contains_key(&server)) {
                continue;
            }
            let Ok(name) = key.parse::<KeyPath>() else { continue };
            let Some(there) = edit::get(&text, &name).map_err(own)? else { continue };
            match there.into_value() {
                Ok(there) if literal(&there) == *value => {
                    text = edit::unset(&text, &name).map_err(own)?;
                    undone.settings.push(key.clone());
                }
                _ => undone.changed_settings.push(key.clone()),
            }
        }
        undone.settings.reverse();
        undone.changed_settings.reverse();
        undone.changed_settings.extend(kept.into_values());
        match back {
            UndoMode::Preview => Ok(()),
            UndoMode::Apply if self.record.made_config && text.trim().is_empty() => Ok(file.remove()?),
            UndoMode::Apply => Ok(file.replace(&text)?),
        }
    }

    /// The servers of which anything was changed, by name, with their keys: half of one is another server.
    fn kept_servers(&self, text: &str) -> Result<BTreeMap<String, String>, ConfigProblem> {
        let mut servers: BTreeMap<String, Vec<&Edit>> = BTreeMap::new();
        for edit in &self.record.edits {
            if let Some(server) = edit.server() {
                servers.entry(server).or_default().push(edit);
            }
        }
        let mut kept = BTreeMap::new();
        for (server, edits) in servers {
            let Some(path) = KeyPath::new(["mcp_servers", &server]) else { continue };
            let Some(there) = edit::get(text, &path)? else { continue };
            // A key that was added or taken out is a change too.
            let mut is_ours = there.as_table_like().is_some_and(|table| table.len() == edits.len());
            for Edit { key, value } in edits {
                let Ok(name) = key.parse::<KeyPath>() else { continue };
                let there = edit::get(text, &name)?.and_then(|there| there.into_value().ok());
                is_ours &= there.is_some_and(|there| literal(&there) == *value);
            }
            if !is_ours {
                kept.insert(server, path.to_string());
            }
        }
        Ok(kept)
    }

    fn files(&self, back: UndoMode, undone: &mut UndoneFiles) -> Result<(), HermesError> {
        for (name, digest) in &self.record.files {
            let path = self.home.root().join(name);
            let failed = |source| HermesError::Write { path: path.clone(), source };
            if back == UndoMode::Apply {
                ignore_missing(fs::remove_file(beside(&path))).map_err(failed)?;
            }
            match here(self.home.root(), name) {
                Here::Nothing => {}
                Here::File(there) if there == *digest => {
                    if back == UndoMode::Apply {
                        ignore_missing(fs::remove_file(&path)).map_err(failed)?;
                    }
                    undone.files.push(name.clone());
                }
                Here::File(_) => {
                    let why = "it was changed since".to_owned();
                    undone.changed_files.push(SkippedFile { path: name.clone(), why });
                }
                Here::InTheWay(why) => undone.changed_files.push(SkippedFile { path: name.clone(), why }),
            }
        }
        if back == UndoMode::Apply {
            let mut directories = self.record.directories.clone();
            directories.sort_by_key(|name| std::cmp::Reverse(name.len()));
            for name in directories {
                // A directory with files of the person is kept.
                let _ = fs::remove_dir(self.home.root().join(name));
            }
        }
        Ok(())
    }
}

fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
