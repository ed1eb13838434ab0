//! Takes out again what was added: by going back to the kept bytes if the file is as we left it, else entry by entry.
//!
//! Needs no Codex and no valid configuration of Talaria. What the user changed since is the user's, and stays.

use std::path::{Path, PathBuf};

use talaria_core::codex_config::{self, UsersOwn, remove, written_in};

use super::record::{Change, Memory, digest_of, files};
use super::{MigrateError, Target, not_toml, read, scratch};
use crate::faults::blocking_point;
use crate::home::TalariaHome;
use crate::user_file::UserFile;

/// Undoes what one Talaria home did to one file.
#[derive(Debug)]
pub struct Undo {
    room: PathBuf,
    target: Target,
}

/// A way back that was planned or gone.
#[derive(Debug, PartialEq, Eq)]
pub struct Undone {
    /// What is there.
    pub old: String,
    /// What would be there; `None` if the file goes, because it was not there before.
    pub new: Option<String>,
    /// How.
    pub how: How,
    /// What was changed since and is left alone.
    pub left: Vec<UsersOwn>,
}

/// How the way back is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The bytes from before the first migration.
    Bytes,
    /// Entry by entry, since somebody else wrote to the file.
    Entries,
}

impl Undo {
    /// Undoes what `talaria` did to the file of `target`.
    pub fn new(talaria: &TalariaHome, target: Target) -> Self {
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

    /// Has a Talaria written to the file whose record is not in this home?
    pub fn is_anothers(&self) -> bool {
        let Ok(Some(text)) = read(self.target.file()) else { return false };
        written_in(&text).is_ok_and(|added| !added.is_empty())
    }

    /// Plans the way back; `None` if there is nothing to undo.
    pub fn draft(&self) -> Result<Option<Undone>, MigrateError> {
        let text = read(self.target.file())?;
        let holding = self.memory().holding(text.as_deref())?;
        self.way_back(text, holding.as_ref())
    }

    /// Goes back, from what is there now; `None` if there is nothing to undo. What a killed run left is gone afterwards.
    pub fn apply(&self) -> Result<Option<Undone>, MigrateError> {
        scratch::sweep(&self.room);
        let locked = UserFile::lock(self.target.file())?;
        let (memory, text) = (self.memory(), locked.text().map(str::to_owned));
        let holding = memory.holding(text.as_deref())?;
        let Some(undone) = self.way_back(text, holding.as_ref())? else {
            memory.forget()?;
            return Ok(None);
        };
        if undone.how == How::Entries {
            // What others wrote is in no other copy.
            memory.keep(&undone.old)?;
        }
        blocking_point("undo-planned");
        match &undone.new {
            Some(new) if *new == undone.old => drop(locked),
            Some(new) => locked.replace(new)?,
            None => locked.remove()?,
        }
        blocking_point("undo-replaced");
        match undone.how {
            How::Bytes => memory.clear()?,
            How::Entries => memory.forget()?,
        }
        Ok(Some(undone))
    }

    fn memory(&self) -> Memory {
        Memory::new(&self.room, &self.target.key())
    }

    fn way_back(
        &self,
        text: Option<String>,
        holding: Option<&Change>,
    ) -> Result<Option<Undone>, MigrateError> {
        let (Some(old), Some(change)) = (text, holding) else { return Ok(None) };
        if digest_of(&old) == change.after {
            match &change.base {
                None => return Ok(Some(Undone { old, new: None, how: How::Bytes, left: Vec::new() })),
                Some(base) => {
                    if let Some(new) = self.memory().kept(base) {
                        let is_same = new == old;
                        let undone = Undone { old, new: Some(new), how: How::Bytes, left: Vec::new() };
                        return Ok((!is_same).then_some(undone));
                    }
                }
            }
        }
        let wrong = |problem| not_toml(self.target.file(), problem);
        let removed = remove(&old, &change.added).map_err(wrong)?;
        codex_config::check(&removed.text).map_err(wrong)?;
        if removed.text == old && removed.left.is_empty() {
            return Ok(None);
        }
        // A file that was not there before goes again, unless somebody else wrote something into it.
        let is_ours_alone = change.base.is_none() && removed.text.trim().is_empty();
        let new = (!is_ours_alone).then_some(removed.text);
        Ok(Some(Undone { old, new, how: How::Entries, left: removed.left }))
    }
}
