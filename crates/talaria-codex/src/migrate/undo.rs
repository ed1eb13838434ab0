//! Takes out again what was added: by going back to the kept bytes if the file is as we left it, else entry by entry.
//!
//! Needs no Codex and no valid configuration of Talaria. What the user changed since is the user's, and stays.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use talaria_codex_proto::codex_config::{self, Freed, UsersOwn, remove, written_in};

use super::record::{Change, Memory, digest_of, files};
use super::{MigrateError, Target, not_toml, read, scratch};
use talaria_home::faults::blocking_point;
use talaria_home::home::TalariaHome;
use talaria_home::user_file::UserFile;

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
    /// The user's keys that were in a table of ours and are no longer.
    pub freed: Vec<Freed>,
}

impl Undone {
    /// Does anything change?
    pub fn is_change(&self) -> bool {
        self.new.as_deref() != Some(&self.old)
    }
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
        let memory = self.memory(text.as_deref());
        let holding = memory.holding(text.as_deref())?;
        self.way_back(&memory, text, holding.as_ref())
    }

    /// Goes back, from what is there now; `None` if there is nothing to undo. What a killed run left is gone afterwards.
    pub fn apply(&self) -> Result<Option<Undone>, MigrateError> {
        scratch::sweep(&self.room);
        let locked = UserFile::lock(self.target.file())?;
        let text = locked.text().map(str::to_owned);
        let memory = self.memory(text.as_deref());
        let holding = memory.holding(text.as_deref())?;
        let Some(undone) = self.way_back(&memory, text, holding.as_ref())? else {
            memory.forget()?;
            return Ok(None);
        };
        if undone.how == How::Entries {
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
            (How::Bytes, ..) => memory.clear()?,
            (How::Entries, ..) => memory.forget()?,
        }
        Ok(Some(undone))
    }

    fn memory(&self, now: Option<&str>) -> Memory {
        Memory::about(&self.room, &self.target, now)
    }

    /// What is still to be remembered of a change when only what the user changed is left of it.
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
    ) -> Result<Option<Undone>, MigrateError> {
        let (Some(old), Some(change)) = (text, holding) else { return Ok(None) };
        let wrong = |problem| not_toml(self.target.file(), problem);
        let removed = remove(&old, &change.added).map_err(wrong)?;
        // With something of the user's among ours the kept bytes are not the whole story.
        if digest_of(&old) == change.after && removed.left.is_empty() {
            let base = change.base.as_deref().map(|base| memory.kept(base));
            if let Some(new) = base.map_or(Some(None), |kept| kept.map(Some)) {
                let undone = Undone { old, new, how: How::Bytes, left: Vec::new(), freed: Vec::new() };
                return Ok(undone.is_change().then_some(undone));
            }
        }
        codex_config::check(&old, &removed.text).map_err(wrong)?;
        if removed.text == old && removed.left.is_empty() {
            return Ok(None);
        }
        // A file that was not there before goes again, unless somebody else wrote something into it.
        let is_ours_alone = change.base.is_none() && removed.text.trim().is_empty();
        let new = (!is_ours_alone).then_some(removed.text);
        Ok(Some(Undone { old, new, how: How::Entries, left: removed.left, freed: removed.freed }))
    }
}
