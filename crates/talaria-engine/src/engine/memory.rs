//! Memory of the home across conversations: who writes it, in which order, and what is reported to the person.
//!
//! Rows decide; the files below `memories` mirror them (`mirror`). Every change goes through `changing`, one at a time: hand
//! edits are read back first, so no writer acts on stale data. `snapshot` is the part that a conversation is opened with.
//! Called by the tool, by the routes and by the opening of conversations. Nothing here deletes a text.

mod answers;
mod changing;
mod importing;
mod in_force;
mod mirror;
mod snapshot;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use talaria_core::config::Config;
use talaria_core::memory::{MemoryEntry, MemoryScope};
use talaria_core::principal::{Principal, PrincipalKind};
use talaria_home::user_file::FileStamp;
use talaria_store::{SessionRow, StoreError, TaskRow};

use crate::engine::Inner;
use crate::engine::tasks::worktrees::Kept;

pub(crate) use changing::{MemoryOutcome, MemoryRefused};

/// Keeps writers apart and remembers what was reported.
#[derive(Default)]
pub(crate) struct MemoryDesk {
    /// Locked while files and rows are compared and changed.
    writing: tokio::sync::Mutex<()>,
    /// The last trouble with each subject, so that a person reads it once.
    reported: Mutex<HashMap<String, String>>,
    /// The empty files that were written here, by their scopes: no editor truncated those.
    emptied: Mutex<HashMap<String, FileStamp>>,
}

impl MemoryDesk {
    /// Returns the note unless it is the last one about its subject.
    pub(crate) fn report(&self, subject: &str, note: String) -> Option<String> {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let last = reported.insert(subject.to_owned(), note.clone());
        (last.as_ref() != Some(&note)).then_some(note)
    }

    /// Nothing is wrong with the subject any more.
    pub(crate) fn settle(&self, subject: &str) {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner).remove(subject);
    }

    /// Remembers the empty file of a scope; `None` if it is not empty.
    fn note_empty_file(&self, scope: &MemoryScope, stamp: Option<FileStamp>) {
        let mut emptied = self.emptied.lock().unwrap_or_else(PoisonError::into_inner);
        match stamp {
            Some(stamp) => drop(emptied.insert(scope.to_string(), stamp)),
            None => drop(emptied.remove(&scope.to_string())),
        }
    }

    /// The last empty file of a scope that was written here.
    fn empty_file(&self, scope: &MemoryScope) -> Option<FileStamp> {
        self.emptied.lock().unwrap_or_else(PoisonError::into_inner).get(&scope.to_string()).copied()
    }
}

impl Inner {
    /// Returns the entries of these scopes, in their order.
    async fn remembered(&self, scopes: &[MemoryScope]) -> Result<Vec<MemoryEntry>, StoreError> {
        let rows = self.shelf.store.memory_entries().await?;
        let entries = rows.into_iter().map(|row| row.entry);
        Ok(entries.filter(|entry| scopes.contains(&entry.scope)).collect())
    }
}

impl Inner {
    /// Reads hand edits back and returns the entries of these scopes, and what a person should know.
    pub(crate) async fn read_memory(
        &self,
        scopes: &[MemoryScope],
    ) -> Result<(Vec<MemoryEntry>, Vec<String>), StoreError> {
        let _writing = self.memory.writing.lock().await;
        let notes = self.sync_memory(scopes).await?;
        Ok((self.remembered(scopes).await?, notes))
    }
}

/// Why every change of a model waits for a person, if it does.
pub(crate) fn approval_reason(config: &Config) -> Option<&'static str> {
    (config.memory.write_approval == Some(true)).then_some("memory.write_approval is on")
}

/// Why a task with this owner only reads the memory; none for a conversation, and for a task that may write.
pub(crate) fn why_task_only_reads(owner: Option<&str>, config: &Config) -> Option<&'static str> {
    let is_persons =
        |owner: &str| owner.parse::<Principal>().is_ok_and(|owner| owner.kind() == PrincipalKind::Person);
    match owner {
        Some(owner) if !is_persons(owner) => Some("a task that a model started only reads the memory"),
        Some(_) if config.memory.tasks != Some(true) => {
            Some("background tasks only read the memory (memory.tasks is off)")
        }
        _ => None,
    }
}

/// The scopes of a conversation.
pub(crate) fn scopes_of(project: &str) -> [MemoryScope; 3] {
    [MemoryScope::User, MemoryScope::Project(project.to_owned()), MemoryScope::Notes]
}

/// The directory of a session's project: the repository that it works in or has a worktree of, else its own directory.
pub(crate) fn project_of(row: &SessionRow, task: Option<&TaskRow>) -> String {
    match task.and_then(Kept::of) {
        Some(kept) => kept.made.repository.to_string_lossy().into_owned(),
        None => project_at(&row.cwd),
    }
}

/// The directory of the project that a directory belongs to.
pub(crate) fn project_at(cwd: &str) -> String {
    let cwd = Path::new(cwd);
    let root = cwd.ancestors().find(|directory| directory.join(".git").exists());
    root.unwrap_or(cwd).to_string_lossy().into_owned()
}

/// A new name for an entry.
fn mint_entry() -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("mem-{}", &random[..12])
}
