//! What people see and change of the memory through the API. A model has the tool; it calls none of this.

use talaria_core::api::{
    MemoryDone, MemoryHistoryQuery, MemoryItem, MemoryList, MemoryPresence, MemoryProposal,
    MemoryProposedChange, MemoryQuery, MemoryRevision, MemoryWish, MemoryWritten, Problem, ProblemCode,
    SessionMemory,
};
use talaria_core::memory::draft::{MemoryOperation, MemoryStep};
use talaria_core::memory::find::find;
use talaria_core::memory::snapshot::MemorySnapshot;
use talaria_core::memory::{MemoryChange, MemoryEntry, MemoryScope};
use talaria_core::next_step::NextStep;
use talaria_store::{
    MemoryAuthor, MemoryEntryRow, MemoryOrigin, MemoryProposalState, MemoryRevisionFilter, MemoryRevisionRow,
    SessionRow, StoreError,
};

use super::snapshot::snapshot_chars;
use super::{MemoryOutcome, MemoryRefused, project_at, project_of, scopes_of};
use crate::engine::Engine;
use crate::engine::access::caller::Needs;
use crate::engine::queries::views;

/// Maximum number of entries in one response.
const MOST: usize = 1000;

impl Engine {
    /// Lists what is remembered, after hand edits were read back.
    pub async fn memory(&self, query: MemoryQuery) -> Result<MemoryList, Problem> {
        self.require(Needs::SeeAll, "memory", "list the memory").await?;
        let session = match &query.session {
            Some(id) => Some(self.find(id).await?),
            None => None,
        };
        let project = match &session {
            Some(row) => Some(self.project(row).await.map_err(|error| views::problem(&error))?),
            None => query.cwd.as_deref().map(project_at),
        };
        let listed = async {
            let notes = self.sync_all(project.as_deref()).await?;
            let mut entries = Vec::new();
            for row in self.inner.shelf.store.memory_entries().await? {
                entries.push(self.item(row).await?);
            }
            Ok::<_, StoreError>((notes, entries, self.inner.shelf.store.pending_memory().await?.len()))
        };
        let (notes, mut entries, pending) = listed.await.map_err(|error| views::problem(&error))?;
        let config = self.inner.config();
        let shown = match (&project, config.tools.memory) {
            (Some(project), on) if on != Some(false) => {
                let scopes = scopes_of(project);
                let all = self.inner.remembered(&scopes).await.map_err(|error| views::problem(&error))?;
                MemorySnapshot::render(None, &all, snapshot_chars(&config)).map(|snapshot| snapshot.shown)
            }
            _ => None,
        };
        for entry in &mut entries {
            entry.is_shown = shown.as_ref().is_some_and(|shown| shown.contains(&entry.id));
        }
        let session = match session {
            Some(row) => {
                let had = self.held_by(&row, &mut entries).await;
                Some(had.map_err(|error| views::problem(&error))?)
            }
            None => None,
        };
        Ok(MemoryList { project, entries, session, pending, notes })
    }

    async fn project(&self, row: &SessionRow) -> Result<String, StoreError> {
        Ok(project_of(row, self.inner.shelf.store.task(&row.id).await?.as_ref()))
    }

    /// Marks the entries that a conversation has in its prompt, and returns what it has besides.
    async fn held_by(
        &self,
        row: &SessionRow,
        entries: &mut [MemoryItem],
    ) -> Result<SessionMemory, StoreError> {
        let snapshot = self.inner.snapshot_in_force(&row.id).await?;
        let has = |id: &String| snapshot.as_ref().is_some_and(|snapshot| snapshot.entries.contains(id));
        for entry in entries.iter_mut() {
            let is_current =
                snapshot.as_ref().is_some_and(|snapshot| MemorySnapshot::shows(&snapshot.text, &entry.text));
            entry.in_session = Some(match has(&entry.id) {
                true if is_current => MemoryPresence::Current,
                true => MemoryPresence::Earlier,
                false => MemoryPresence::Missing,
            });
        }
        let mut removed = Vec::new();
        for id in snapshot.iter().flat_map(|snapshot| &snapshot.entries) {
            if !entries.iter().any(|entry| entry.id == *id)
                && let Some(gone) = self.inner.shelf.store.memory_entry(id).await?
            {
                removed.push(self.item(gone).await?);
            }
        }
        let since = snapshot.map(|snapshot| views::time(snapshot.at));
        Ok(SessionMemory { id: row.id.to_string(), since, removed })
    }

    /// Lists changes of the memory, newest first.
    pub async fn memory_history(&self, query: MemoryHistoryQuery) -> Result<Vec<MemoryRevision>, Problem> {
        self.require(Needs::SeeAll, "memory_history", "read the history of the memory").await?;
        let filter = MemoryRevisionFilter { entry: query.entry, before: query.before, call: None };
        let limit = u32::try_from(query.limit.min(MOST)).unwrap_or(u32::MAX);
        let rows = self.inner.shelf.store.memory_revisions(&filter, limit).await;
        let rows = rows.map_err(|error| views::problem(&error))?;
        Ok(rows.into_iter().map(revision).collect())
    }

    /// Lists changes that wait for a person, oldest first.
    pub async fn memory_pending(&self) -> Result<Vec<MemoryProposal>, Problem> {
        self.require(Needs::SeeAll, "memory_pending", "list pending changes of the memory").await?;
        let rows = self.inner.shelf.store.pending_memory().await.map_err(|error| views::problem(&error))?;
        let proposal = |row: talaria_store::MemoryProposalRow| {
            let changes: Vec<MemoryChange> = serde_json::from_str(&row.changes).unwrap_or_default();
            let change = |change: MemoryChange| MemoryProposedChange {
                scope: change.scope.to_string(),
                entry: change.expects.is_some().then_some(change.entry),
                before: change.before,
                after: change.after,
            };
            MemoryProposal {
                id: row.id,
                reason: row.reason,
                author: row.origin.author.as_str().to_owned(),
                session: row.origin.session.map(|id| id.to_string()),
                at: views::time(row.at),
                changes: changes.into_iter().map(change).collect(),
            }
        };
        Ok(rows.into_iter().map(proposal).collect())
    }

    /// Changes the memory for a person.
    pub async fn change_memory(&self, wish: MemoryWish) -> Result<MemoryDone, Problem> {
        self.require(Needs::Admin, "change_memory", "change the memory except with the tool talaria_memory")
            .await?;
        let origin = MemoryOrigin::of(MemoryAuthor::Person);
        let done = match wish {
            MemoryWish::Add { scope, text, cwd } => {
                let scope = MemoryScope::named(&scope, &project_at(&cwd)).ok_or_else(|| {
                    let names = MemoryScope::NAMES.join(", ");
                    Problem::new(ProblemCode::BadRequest, format!("unknown scope {scope:?}"))
                        .try_this(format!("the scopes are {names}"))
                })?;
                self.do_one(MemoryOperation::Add { scope, text }, origin).await
            }
            MemoryWish::Replace { entry, text } => {
                let MemoryEntry { scope, id, .. } = self.entry_meant(&entry).await?;
                self.do_one(MemoryOperation::Replace { scope, find: id, text }, origin).await
            }
            MemoryWish::Remove { entry } => {
                let MemoryEntry { scope, id, .. } = self.entry_meant(&entry).await?;
                self.do_one(MemoryOperation::Remove { scope, find: id }, origin).await
            }
            MemoryWish::Undo { revision } => self.inner.undo_memory(revision, origin).await,
            MemoryWish::Approve { proposal } => {
                self.inner.decide_memory(&proposal, MemoryProposalState::Approved).await
            }
            MemoryWish::Reject { proposal } => {
                self.inner.decide_memory(&proposal, MemoryProposalState::Rejected).await
            }
        };
        done.map(done_view).map_err(|refused| problem(&refused))
    }

    async fn do_one(
        &self,
        operation: MemoryOperation,
        origin: MemoryOrigin,
    ) -> Result<MemoryOutcome, MemoryRefused> {
        self.inner.change_memory(vec![operation], origin, None).await
    }

    /// The entry that a person named by its id, a beginning of it, or a part of its text.
    async fn entry_meant(&self, typed: &str) -> Result<MemoryEntry, Problem> {
        let rows = self.inner.shelf.store.memory_entries().await.map_err(|error| views::problem(&error))?;
        let entries: Vec<MemoryEntry> = rows.into_iter().map(|row| row.entry).collect();
        let mut by_id = entries.iter().filter(|entry| typed.len() > 4 && entry.id.starts_with(typed));
        if let (Some(entry), None) = (by_id.next(), by_id.next()) {
            return Ok(entry.clone());
        }
        find(entries.iter(), typed).cloned().map_err(|error| {
            Problem::new(ProblemCode::Unknown, format!("{typed:?}: {error}")).next(NextStep::ListMemory)
        })
    }

    /// Reads every file that there is or was.
    async fn sync_all(&self, project: Option<&str>) -> Result<Vec<String>, StoreError> {
        let _writing = self.inner.memory.writing.lock().await;
        let rows = self.inner.shelf.store.memory_entries().await?;
        let mut scopes: Vec<MemoryScope> = rows.into_iter().map(|row| row.entry.scope).collect();
        scopes.extend([MemoryScope::User, MemoryScope::Notes]);
        scopes.extend(project.map(|project| MemoryScope::Project(project.to_owned())));
        scopes.sort();
        scopes.dedup();
        self.inner.sync_memory(&scopes).await
    }

    async fn item(&self, row: MemoryEntryRow) -> Result<MemoryItem, StoreError> {
        let MemoryEntryRow { entry, updated_at, .. } = row;
        let origin = self.inner.shelf.store.memory_revision(entry.revision).await?.map(|row| row.origin);
        Ok(MemoryItem {
            id: entry.id,
            scope: entry.scope.to_string(),
            text: entry.text,
            revision: entry.revision,
            author: origin.as_ref().map_or("file", |origin| origin.author.as_str()).to_owned(),
            source: origin.as_ref().and_then(imported_from),
            session: origin.and_then(|origin| origin.session).map(|id| id.to_string()),
            updated_at: views::time(updated_at),
            is_shown: false,
            in_session: None,
        })
    }
}

/// The file that an entry was imported from; the name of a proposal has the digest of its text after it.
fn imported_from(origin: &MemoryOrigin) -> Option<String> {
    let call = origin.call.as_deref().filter(|_| origin.author == MemoryAuthor::Import)?;
    Some(call.split_once('#').map_or(call, |(file, _)| file).to_owned())
}

fn revision(row: MemoryRevisionRow) -> MemoryRevision {
    let MemoryChange { entry, scope, before, after, .. } = row.change;
    MemoryRevision {
        id: row.id,
        entry,
        scope: scope.to_string(),
        before,
        after,
        author: row.origin.author.as_str().to_owned(),
        session: row.origin.session.map(|id| id.to_string()),
        turn: row.origin.turn,
        call: row.origin.call,
        undoes: row.undoes,
        at: views::time(row.at),
    }
}

fn done_view(outcome: MemoryOutcome) -> MemoryDone {
    let written = |(step, revision): (MemoryStep, Option<i64>)| {
        let (MemoryStep::Changed { entry } | MemoryStep::Unchanged { entry }) = step;
        MemoryWritten { entry, revision }
    };
    let mut notes = outcome.notes;
    if outcome.is_masked {
        notes.push("a secret in the text was masked".to_owned());
    }
    MemoryDone { changed: outcome.steps.into_iter().map(written).collect(), notes }
}

pub(super) fn problem(refused: &MemoryRefused) -> Problem {
    match refused {
        MemoryRefused::Operations(reasons) => {
            let why = reasons.iter().flatten().next().map_or("it was refused", String::as_str);
            Problem::new(ProblemCode::Conflict, format!("nothing was changed: {why}"))
        }
        MemoryRefused::Conflict(why) => {
            Problem::new(ProblemCode::Conflict, format!("nothing was changed: {why}"))
                .next(NextStep::ListMemoryChanges)
        }
        MemoryRefused::Store(error) => views::problem(error),
    }
}
