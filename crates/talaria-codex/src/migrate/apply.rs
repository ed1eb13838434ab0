//! Replaces the file: exactly the checked change, applied to the current text.

use std::path::PathBuf;

use jiff::Timestamp;
use talaria_codex_proto::codex_config::{Added, remove, written_in};

use super::record::{Change, Memory, digest_of};
use super::{MigrateError, Migration, MigrationDraft, not_toml, scratch};
use crate::host::HostSpec;
use talaria_home::faults::blocking_point;
use talaria_home::user_file::{LockedUserFile, UserFile, UserFileError};

/// How often the change is planned again because another program wrote meanwhile.
const ROUNDS: usize = 5;

/// A change that was made.
#[derive(Debug)]
pub struct AppliedMigration {
    /// The applied change; differs from the preview if another program wrote meanwhile.
    pub draft: MigrationDraft,
    /// Backup of the replaced text; `None` if there was no file, or nothing had to be done.
    pub backup: Option<PathBuf>,
    /// Codex's warnings about the accepted result.
    pub note: Option<String>,
    /// True if it was planned again.
    pub is_replanned: bool,
}

impl Migration {
    /// Makes the change that was checked. If the file has changed since, the change is planned and checked again.
    /// Dropping the future leaves the old file or the new one.
    pub async fn apply(
        &self,
        checked: MigrationDraft,
        spec: &HostSpec,
    ) -> Result<AppliedMigration, MigrateError> {
        let (mut checked, mut note, mut is_replanned) = (checked, None, false);
        for _ in 0..ROUNDS {
            let locked = UserFile::lock(self.target.file())?;
            let draft = self.draft_of(locked.text().map(str::to_owned))?;
            if draft.planned.text == checked.planned.text {
                match self.replace(locked, &draft) {
                    Ok(backup) => return Ok(AppliedMigration { draft, backup, note, is_replanned }),
                    // An editor, which knows of no lock, was faster: once more, with what it wrote.
                    Err(MigrateError::File(UserFileError::Changed(_))) => continue,
                    Err(error) => return Err(error),
                }
            }
            // Codex takes its time, and others wait for the lock.
            drop(locked);
            note = self.check(&draft, spec).await?;
            (checked, is_replanned) = (draft, true);
        }
        Err(MigrateError::KeepsChanging(self.target.file().to_owned()))
    }

    /// Repairs the records when there is nothing to change: removes what a killed run left, records its changes as
    /// settled, and records existing entries whose record was lost.
    pub fn tidy_up(&self) -> Result<(), MigrateError> {
        scratch::sweep(&self.room);
        let locked = UserFile::lock(self.target.file())?;
        let draft = self.draft_of(locked.text().map(str::to_owned))?;
        let added = &draft.planned.added;
        let is_known = draft.holding.as_ref().map_or(added.is_empty(), |change| change.added == *added);
        if draft.is_change() || is_known {
            return Ok(self.memory(locked.text()).conclude(self.target.file(), locked.text())?);
        }
        self.replace(locked, &draft).map(drop)
    }

    /// Without an await: the future of `apply` is dropped before or after it, never within.
    fn replace(
        &self,
        locked: LockedUserFile,
        draft: &MigrationDraft,
    ) -> Result<Option<PathBuf>, MigrateError> {
        let memory = self.memory(draft.old.as_deref());
        blocking_point("migrate-planned");
        let change = Change {
            at: Timestamp::now(),
            base: self.base(&memory, draft)?,
            before: draft.old.as_deref().map(digest_of),
            after: digest_of(&draft.planned.text),
            added: draft.planned.added.clone(),
        };
        if !draft.is_change() {
            memory.settle(self.target.file(), Change { before: change.base.clone(), ..change })?;
            return Ok(None);
        }
        let backup = draft.old.as_deref().map(|old| memory.keep(old)).transpose()?;
        blocking_point("migrate-kept");
        memory.intend(self.target.file(), draft.holding.clone(), change.clone())?;
        blocking_point("migrate-intended");
        locked.replace(&draft.planned.text)?;
        blocking_point("migrate-replaced");
        // The file is as it should be, and the undo record is written already.
        let _ = memory.settle(self.target.file(), change);
        Ok(backup)
    }

    /// Stores the text for an undo. It is the one before the first migration as long as only Talaria writes the file,
    /// and otherwise the current text without our entries. Without a record, our entries are those in the file that we
    /// also plan.
    fn base(&self, memory: &Memory, draft: &MigrationDraft) -> Result<Option<String>, MigrateError> {
        let Some(old) = draft.old.as_deref() else { return Ok(None) };
        let text = match &draft.holding {
            None => {
                let written = written_in(old).map_err(|problem| not_toml(self.target.file(), problem))?;
                let is_wanted = |place: &_| draft.planned.added.places().any(|added| added == place);
                self.without(old, &written.only(is_wanted))?
            }
            Some(change) if digest_of(old) == change.after => match &change.base {
                Some(base) if memory.backup(base).is_none() => self.without(old, &change.added)?,
                base => return Ok(base.clone()),
            },
            Some(change) => self.without(old, &change.added)?,
        };
        memory.keep(&text)?;
        Ok(Some(digest_of(&text)))
    }

    fn without(&self, text: &str, added: &Added) -> Result<String, MigrateError> {
        let removed = remove(text, added).map_err(|problem| not_toml(self.target.file(), problem))?;
        Ok(removed.text)
    }
}
