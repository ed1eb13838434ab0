//! Record of a migration: the additions, digests of the file before and after, and the bytes for an undo.
//!
//! One directory for each file of Codex, in Talaria's home, for its owner alone. A change is recorded as pending before
//! the file is replaced and as settled after it, so that after a crash the file itself shows which of the two applies.
//! Only called while the file of Codex is locked, except for reading.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use talaria_codex_proto::codex_config::{Added, remove};
use talaria_core::next_step::NextStep;

use super::MigrationTarget;
use super::target::digest;
use talaria_home::home::ensure_dir;
use talaria_home::user_file::{UserFile, UserFileError};

/// How many unreferenced backups are kept, newest first.
const SPARE: usize = 5;
/// The form of the record.
const VERSION: u32 = 1;

/// The stored record of one file.
#[derive(Debug)]
pub(super) struct Memory {
    directory: PathBuf,
}

/// The record as it is stored.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct MigrationRecord {
    version: u32,
    /// The file, for people.
    file: String,
    /// The settled change.
    settled: Option<Change>,
    /// The pending change.
    pending: Option<Change>,
}

/// One change of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Change {
    pub(super) at: Timestamp,
    /// The digest of the text without anything of ours; `None` if there was no file.
    pub(super) base: Option<String>,
    /// The digest of the text that was replaced; `None` if there was no file.
    pub(super) before: Option<String>,
    /// The digest of the text that was written.
    pub(super) after: String,
    /// Our entries in it.
    pub(super) added: Added,
}

/// Why the record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The directory cannot be used.
    #[error("cannot use {}: {source}", path.display())]
    Directory {
        /// Where.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The record is not one.
    #[error("{} cannot be understood: {why}", path.display())]
    Damaged {
        /// The record.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A file in it cannot be read or written.
    #[error(transparent)]
    File(#[from] UserFileError),
}

impl MemoryError {
    /// What to do next.
    pub fn next_step(&self) -> NextStep {
        let text = match self {
            Self::Directory { .. } => "nothing was changed; make that place readable and writable for you",
            Self::Damaged { .. } => {
                "nothing was changed; move that file away, and delete what is between the talaria lines yourself"
            }
            Self::File(error) => return error.next_step(),
        };
        text.into()
    }
}

impl Memory {
    /// The memory about a file, given what it says now.
    pub(super) fn about(room: &Path, target: &MigrationTarget, now: Option<&str>) -> Self {
        let own = Self { directory: room.join(target.key()) };
        if own.record_file().exists() {
            return own;
        }
        // The file that is really edited is another one if a link was made of it since, or a file of a link.
        let path = target.file().display().to_string();
        let all = fs::read_dir(room).into_iter().flatten().flatten();
        let mut all = all.map(|entry| Self { directory: entry.path() });
        all.find(|memory| memory.load().is_ok_and(|record| record.file == path) && memory.fits(now))
            .unwrap_or(own)
    }

    /// Returns whether a text contains any of the recorded entries.
    fn fits(&self, now: Option<&str>) -> bool {
        let (Some(now), Ok(Some(change))) = (now, self.holding(now)) else { return false };
        remove(now, &change.added).is_ok_and(|removed| removed.text != now)
    }

    fn record_file(&self) -> PathBuf {
        self.directory.join("record.json")
    }

    /// Path of a backup.
    pub(super) fn text_file(&self, digest: &str) -> PathBuf {
        self.directory.join(format!("{digest}.toml"))
    }

    fn load(&self) -> Result<MigrationRecord, MemoryError> {
        let path = self.record_file();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(MigrationRecord::default()),
            Err(source) => return Err(MemoryError::Directory { path, source }),
        };
        let damaged = |why: String| MemoryError::Damaged { path: path.clone(), why };
        let record: MigrationRecord =
            serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        match record.version {
            VERSION => Ok(record),
            other => Err(damaged(format!("a newer Talaria wrote it (form {other})"))),
        }
    }

    /// The change that applies to the current text.
    pub(super) fn holding(&self, now: Option<&str>) -> Result<Option<Change>, MemoryError> {
        let MigrationRecord { settled, pending, .. } = self.load()?;
        let Some(pending) = pending else { return Ok(settled) };
        let current = now.map(digest_of);
        if current.as_deref() == Some(&pending.after) {
            return Ok(Some(pending));
        }
        if current == pending.before {
            return Ok(settled);
        }
        // A crash in between, and then another program wrote: the content of the file decides.
        let is_there =
            now.is_some_and(|now| remove(now, &pending.added).is_ok_and(|removed| removed.text != now));
        Ok(if is_there { Some(pending) } else { settled })
    }

    /// Settles a pending change whose process was killed.
    pub(super) fn conclude(&self, file: &Path, now: Option<&str>) -> Result<(), MemoryError> {
        if self.load()?.pending.is_none() {
            return Ok(());
        }
        match self.holding(now)? {
            Some(holding) => self.settle(file, holding),
            None => self.forget(),
        }
    }

    /// Stores a backup and returns its path.
    pub(super) fn keep(&self, text: &str) -> Result<PathBuf, MemoryError> {
        self.ensure()?;
        let path = self.text_file(&digest_of(text));
        // Its name is a digest of its content, so an existing file is the same; renaming prevents partial files.
        if !path.exists() {
            UserFile::lock(&path)?.replace(text)?;
        }
        Ok(path)
    }

    /// Returns a backup if it is unchanged.
    pub(super) fn backup(&self, digest: &str) -> Option<String> {
        let text = fs::read_to_string(self.text_file(digest)).ok()?;
        (digest_of(&text) == digest).then_some(text)
    }

    /// Records a pending change; the settled one is kept until then.
    pub(super) fn intend(
        &self,
        file: &Path,
        holding: Option<Change>,
        next: Change,
    ) -> Result<(), MemoryError> {
        let file = file.display().to_string();
        self.write(&MigrationRecord { version: VERSION, file, settled: holding, pending: Some(next) })
    }

    /// Records a change as settled.
    pub(super) fn settle(&self, file: &Path, done: Change) -> Result<(), MemoryError> {
        let referred = [done.base.clone(), done.before.clone()];
        let file = file.display().to_string();
        self.write(&MigrationRecord { version: VERSION, file, settled: Some(done), pending: None })?;
        self.tidy(&referred);
        Ok(())
    }

    /// Deletes the record. Backups remain as long as they are the newest.
    pub(super) fn forget(&self) -> Result<(), MemoryError> {
        match fs::remove_file(self.record_file()) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(MemoryError::Directory { path: self.record_file(), source })
            }
            _ => Ok(()),
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&self) -> Result<(), MemoryError> {
        self.forget()?;
        // The record is gone, so what cannot be removed is only litter.
        let _ = fs::remove_dir_all(&self.directory);
        Ok(())
    }

    fn ensure(&self) -> Result<(), MemoryError> {
        ensure_dir(&self.directory).map_err(|error| MemoryError::Directory {
            path: self.directory.clone(),
            source: io::Error::other(error.to_string()),
        })
    }

    fn write(&self, record: &MigrationRecord) -> Result<(), MemoryError> {
        self.ensure()?;
        let path = self.record_file();
        let text = serde_json::to_string_pretty(record)
            .map_err(|error| MemoryError::Damaged { path: path.clone(), why: error.to_string() })?;
        UserFile::lock(&path)?.replace(&(text + "\n"))?;
        Ok(())
    }

    /// Removes unreferenced backups, except the newest.
    fn tidy(&self, referred: &[Option<String>]) {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut spare: Vec<(std::time::SystemTime, PathBuf)> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let kept = name.strip_suffix(".toml")?;
                let is_referred = referred.iter().flatten().any(|digest| digest == kept);
                (!is_referred).then_some((entry.metadata().ok()?.modified().ok()?, entry.path()))
            })
            .collect();
        spare.sort();
        for (_, path) in spare.iter().rev().skip(SPARE) {
            // Not being able to tidy up is no reason to fail.
            let _ = fs::remove_file(path);
        }
    }
}

pub(super) fn digest_of(text: &str) -> String {
    digest(text.as_bytes())
}

/// The files that were migrated from a home, as its records name them.
pub(super) fn files(room: &Path) -> Vec<String> {
    let entries = fs::read_dir(room).into_iter().flatten().flatten();
    let records = entries.filter_map(|entry| {
        let text = fs::read_to_string(entry.path().join("record.json")).ok()?;
        serde_json::from_str::<MigrationRecord>(&text).ok()
    });
    let mut files: Vec<String> = records.map(|record| record.file).collect();
    files.sort();
    files
}
