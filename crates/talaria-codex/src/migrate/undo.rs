//! Removes the additions: by restoring the backup if the file is unchanged, else entry by entry.
//!
//! Needs no Codex and no valid configuration of Talaria. Later changes of the user are kept.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use talaria_codex_proto::codex_config::{self, Freed, UsersOwn, remove, written_in};

use super::record::{Change, Memory, digest_of, files};
use super::{MigrateError, MigrationTarget, not_toml, read, scratch};
use talaria_home::faults::blocking_point;
use talaria_home::home::TalariaHome;
use talaria_home::user_file::UserFile;

/// Undoes what one Talaria home did to one file.
#[derive(Debug)]
pub struct MigrationUndo {
    room: PathBuf,
    target: MigrationTarget,
}

/// An undo that was planned or carried out.
#[derive(Debug, PartialEq, Eq)]
pub struct UndoneMigration {
    /// The current text.
    pub old: String,
    /// The new text; `None` if the file is removed, because it did not exist before.
    pub new: Option<String>,
    /// How.
    pub how: UndoMethod,
    /// Entries that were changed since, and are kept.
    pub left: Vec<UsersOwn>,
    /// The user's keys that were in a table of ours and are no longer.
    pub freed: Vec<Freed>,
}

impl UndoneMigration {
    /// Returns whether anything changes.
    pub fn is_change(&self) -> bool {
        self.new.as_deref() != Some(&self.old)
    }
}

/// How the earlier text is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoMethod {
    /// The bytes from before the first migration.
    Bytes,
    /// Entry by entry, since another program wrote to the file.
    Entries,
}

impl MigrationUndo {
    /// Undoes what `talaria` did to the file of `target`.
    pub fn new(talaria: &TalariaHome, target: MigrationTarget) -> Self {
        Self { room: talaria.migrations_dir(), target }
    }

    /// The file.
    pub fn file(&self) -> &Path {
        self.target.file()
    }

    /// The other files that this home changed and has not undone.
    pub fn elsewhere(&self) -> Vec<String> {
        files(&self.room)
    }

    /// Returns whether the file has entries of a Talaria whose record is not in this home.
    pub fn is_anothers(&self) -> bool {
        let Ok(Some(text)) = read(self.target.file()) else { return false };
        written_in(&text).is_ok_and(|added| !added.is_empty())
    }

    /// Plans the undo; `None` if there is nothing to undo.
    pub fn draft(&self) -> Result<Option<UndoneMigration>, MigrateError> {
        let text = read(self.target.file())?;
        let memory = self.memory(text.as_deref());
        let holding = memory.holding(text.as_deref())?;
        self.way_back(&memory, text, holding.as_ref())
    }

    /// Undoes the migration, starting from the current text; `None` if there is nothing to undo. Also removes what a
    /// killed run left.
    pub fn apply(&self) -> Result<Option<UndoneMigration>, MigrateError> {
        scratch::sweep(&self.room);
        let locked = UserFile::lock(self.target.file())?;
        let text = locked.text().map(str::to_owned);
        let memory = self.memory(text.as_deref());
        let holding = memory.holding(text.as_deref())?;
        let Some(undone) = self.way_back(&memory, text, holding.as_ref())? else {
            memory.forget()?;
            return Ok(None);
        };
        if undone.how == UndoMethod::Entries {
            // What others wrote is in no other copy.
            memory.keep(&undone.old)?;
        }
        blocking_point("undo-planned");
        match &undone.new {
            Some(_) if !undone.is_change() => drop(locked),
            Some(new) => locked.replace(new)?,
            None => locked.remove()?,
        }
        blocking_point("undo-replaced");
        match (undone.how, holding, &undone.new) {
            // It may become ours again, if the user takes the change back.
            (_, Some(change), Some(new)) if !undone.left.is_empty() => {
                memory.settle(self.target.file(), self.rest(&memory, change, new, &undone.left)?)?;
            }
            (UndoMethod::Bytes, ..) => memory.clear()?,
            (UndoMethod::Entries, ..) => memory.forget()?,
        }
        Ok(Some(undone))
    }

    fn memory(&self, now: Option<&str>) -> Memory {
        Memory::about(&self.room, &self.target, now)
    }

    /// The remaining record of a change of which only entries edited by the user are left.
    fn rest(
        &self,
        memory: &Memory,
        change: Change,
        new: &str,
        left: &[UsersOwn],
    ) -> Result<Change, MigrateError> {
        memory.keep(new)?;
        let now = digest_of(new);
        let added = change.added.only(|place| left.iter().any(|own| own.path == *place));
        Ok(Change {
            at: Timestamp::now(),
            base: Some(now.clone()),
            before: Some(now.clone()),
            after: now,
            added,
        })
    }

    fn way_back(
        &self,
        memory: &Memory,
        text: Option<String>,
        holding: Option<&Change>,
    ) -> Result<Option<UndoneMigration>, MigrateError> {
        let (Some(old), Some(change)) = (text, holding) else { return Ok(None) };
        let wrong = |problem| not_toml(self.target.file(), problem);
        let removed = remove(&old, &change.added).map_err(wrong)?;
        // With the user's edits among our entries the backup is not sufficient.
        if digest_of(&old) == change.after && removed.left.is_empty() {
            let base = change.base.as_deref().map(|base| memory.backup(base));
            if let Some(new) = base.map_or(Some(None), |kept| kept.map(Some)) {
                let undone =
                    UndoneMigration { old, new, how: UndoMethod::Bytes, left: Vec::new(), freed: Vec::new() };
                return Ok(undone.is_change().then_some(undone));
            }
        }
        codex_config::check(&old, &removed.text).map_err(wrong)?;
        if removed.text == old && removed.left.is_empty() {
            return Ok(None);
        }
        // A file that did not exist before is removed, unless another program wrote into it.
        let is_ours_alone = change.base.is_none() && removed.text.trim().is_empty();
        let new = (!is_ours_alone).then_some(removed.text);
        Ok(Some(UndoneMigration {
            old,
            new,
            how: UndoMethod::Entries,
            left: removed.left,
            freed: removed.freed,
        }))
    }
}
