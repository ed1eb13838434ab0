//! Adds Talaria's entries to Codex's own configuration file and removes them again: the only code in Talaria that edits
//! a file of Codex, and only when the user asks for it.
//!
//! `talaria_codex_proto::codex_config` decides the new text. Here: which file (`target`), whether the installed Codex
//! accepts the text (`check`, on a `scratch` home), the installed plugins (`plugins`), the record for an undo
//! (`record`), and the two operations, `apply` and `undo`. Each operation locks the file, plans on its current content,
//! records its intent, and replaces the file in one step; killed anywhere it leaves the old file or the new one. Called
//! by `talaria migrate`.

mod apply;
mod check;
mod plugins;
mod record;
mod scratch;
mod target;
mod undo;

use std::path::{Path, PathBuf};

use talaria_codex_proto::codex_config::{self, Added, Additions, EntryPlace, Planned, plan};
use talaria_core::config::ConfigProblem;
use talaria_core::next_step::NextStep;

use crate::host::HostSpec;
pub use apply::AppliedMigration;
pub use check::CheckError;
pub use plugins::{Plugins, discover};
pub use record::MemoryError;
use record::{Change, Memory};
use talaria_home::home::TalariaHome;
use talaria_home::user_file::{UserFile, UserFileError};
pub use target::{MigrationTarget, TargetError};
pub use undo::{MigrationUndo, UndoMethod, UndoneMigration};

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// It cannot be read or written.
    #[error(transparent)]
    File(#[from] UserFileError),
    /// It is not TOML, or written in a way that nothing can be added to.
    #[error("{}: {problem}", path.display())]
    NotToml {
        /// The file.
        path: PathBuf,
        /// Where and why.
        problem: Box<ConfigProblem>,
    },
    /// The record of earlier migrations cannot be read or written.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Codex does not accept the result, or could not be asked.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// Another program keeps writing to it.
    #[error("{} was changed again and again while it was being edited", .0.display())]
    KeepsChanging(PathBuf),
}

impl MigrateError {
    /// What to do next.
    pub fn next_step(&self) -> NextStep {
        let text = match self {
            Self::File(error) => return error.next_step(),
            Self::NotToml { .. } => "nothing was changed; correct that line, then try again",
            Self::Memory(_) => {
                "nothing was changed; make migrations/ in Talaria's home readable and writable"
            }
            Self::Check(error) => return error.next_step(),
            Self::KeepsChanging(_) => "nothing was changed; end what else writes to it, then try again",
        };
        text.into()
    }
}

/// The entries of one Talaria home for one file of Codex.
#[derive(Debug)]
pub struct Migration {
    room: PathBuf,
    target: MigrationTarget,
    additions: Additions,
}

/// A change that was planned and not made.
#[derive(Debug)]
pub struct MigrationDraft {
    /// The current text; `None` if there is no file.
    pub old: Option<String>,
    /// The new text.
    pub planned: Planned,
    /// Entries of an earlier migration that this one removes.
    pub dropped: Vec<EntryPlace>,
    /// Entries of another Talaria without a record in this home, which this migration replaces.
    pub replaced: Vec<EntryPlace>,
    holding: Option<Change>,
}

impl MigrationDraft {
    /// Returns whether anything would change.
    pub fn is_change(&self) -> bool {
        self.old.as_deref().unwrap_or_default() != self.planned.text
    }
}

impl Migration {
    /// Plans `additions` to the file of `target`.
    pub fn new(talaria: &TalariaHome, target: MigrationTarget, additions: Additions) -> Self {
        Self { room: talaria.migrations_dir(), target, additions }
    }

    /// The file.
    pub fn file(&self) -> &Path {
        self.target.file()
    }

    /// Plans the change for the file as it is now.
    pub fn draft(&self) -> Result<MigrationDraft, MigrateError> {
        self.draft_of(read(self.target.file())?)
    }

    /// Has Codex read the result on a scratch home. Returns a warning for the user if it is accepted with one.
    pub async fn check(&self, draft: &MigrationDraft, spec: &HostSpec) -> Result<Option<String>, CheckError> {
        let servers: Vec<String> = draft.planned.added.places().filter_map(server_name).collect();
        let texts = check::Texts {
            old: draft.old.as_deref().unwrap_or_default(),
            new: &draft.planned.text,
            servers: &servers,
        };
        check::check(&self.target, &self.room, spec, &texts).await
    }

    fn memory(&self, now: Option<&str>) -> Memory {
        Memory::about(&self.room, &self.target, now)
    }

    fn draft_of(&self, old: Option<String>) -> Result<MigrationDraft, MigrateError> {
        let holding = self.memory(old.as_deref()).holding(old.as_deref())?;
        let before = holding.as_ref().map(|change| &change.added);
        let wrong = |problem| not_toml(self.target.file(), problem);
        let current = old.as_deref().unwrap_or_default();
        let planned = plan(current, &self.additions, before).map_err(wrong)?;
        codex_config::check(current, &planned.text).map_err(wrong)?;
        let remains = |place: &&EntryPlace| {
            planned.added.places().any(|added| added == *place)
                || planned.kept.iter().any(|own| own.path == **place)
        };
        let dropped = before.into_iter().flat_map(Added::places).filter(|place| !remains(place)).cloned();
        let is_recorded =
            |place: &&EntryPlace| before.is_some_and(|added| added.places().any(|known| known == *place));
        let there = codex_config::written_in(current).unwrap_or_default();
        let replaced = there.changed_by(&planned.added).filter(|place| !is_recorded(place)).cloned();
        Ok(MigrationDraft { dropped: dropped.collect(), replaced: replaced.collect(), old, planned, holding })
    }
}

/// Reads the file, after waiting for a process that is replacing it.
fn read(path: &Path) -> Result<Option<String>, UserFileError> {
    Ok(UserFile::lock(path)?.text().map(str::to_owned))
}

fn not_toml(path: &Path, problem: ConfigProblem) -> MigrateError {
    MigrateError::NotToml { path: path.to_owned(), problem: Box::new(problem) }
}

fn server_name(place: &EntryPlace) -> Option<String> {
    match place {
        EntryPlace::Server(name) => Some(name.clone()),
        EntryPlace::Plugin(_) | EntryPlace::DefaultPermissions => None,
    }
}
