//! Changes the memory for every kind of caller: read the files, decide on the current entries, write rows, write the
//! files.
//!
//! A batch is done as a whole, refused as a whole, or waits as a whole for a person. A text with a secret is masked before
//! anything is decided. Only changes of models and imports wait: those of a person are that person's decision.

use talaria_core::memory::draft::{MemoryDraft, MemoryOperation, MemoryStep};
use talaria_core::memory::scan::flag;
use talaria_core::memory::{MemoryChange, MemoryScope};
use talaria_guard::redact::redact;
use talaria_home::clock::now_ms;
use talaria_store::{
    MemoryAuthor, MemoryOrigin, MemoryProposalRow, MemoryProposalState, MemoryWrite, MemoryWriteResult,
    StoreError,
};

use super::mint_entry;
use crate::engine::Inner;

/// How often rows may change while a batch is decided.
const TRIES: usize = 5;

/// Result of a batch.
#[derive(Debug)]
pub(crate) struct MemoryOutcome {
    /// For each operation its entry and, if it changed, the revision.
    pub(crate) steps: Vec<(MemoryStep, Option<i64>)>,
    /// The proposal that it waits as, and why.
    pub(crate) proposal: Option<(String, String)>,
    /// A secret was masked.
    pub(crate) is_masked: bool,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

/// Why a batch was not done.
#[derive(Debug)]
pub(crate) enum MemoryRefused {
    /// An operation is refused; for each one its reason, or none.
    Operations(Vec<Option<String>>),
    /// Something else that the caller can read.
    Conflict(String),
    /// The database.
    Store(StoreError),
}

impl From<StoreError> for MemoryRefused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Inner {
    /// Does a batch. `waits` is why every change of a model waits for a person, if it does.
    pub(crate) async fn change_memory(
        &self,
        operations: Vec<MemoryOperation>,
        origin: MemoryOrigin,
        waits: Option<&str>,
    ) -> Result<MemoryOutcome, MemoryRefused> {
        let _writing = self.memory.writing.lock().await;
        let (operations, is_masked) = masked(operations);
        let scopes = scopes(operations.iter().map(MemoryOperation::scope));
        let mut notes = self.sync_memory(&scopes).await?;
        for _ in 0..TRIES {
            let (steps, changes) = self.draft(&operations, &scopes).await?;
            let reason = match origin.author {
                MemoryAuthor::Model | MemoryAuthor::Review | MemoryAuthor::Import => {
                    reason(&operations, waits)
                }
                MemoryAuthor::Person | MemoryAuthor::File => None,
            };
            if let Some(reason) = reason.filter(|_| !changes.is_empty()) {
                let id = self.propose(&changes, &origin, &reason).await?;
                let steps = steps.into_iter().map(|step| (step, None)).collect();
                return Ok(MemoryOutcome { steps, proposal: Some((id, reason)), is_masked, notes });
            }
            let write = MemoryWrite::new(changes.clone(), origin.clone(), now_ms());
            let MemoryWriteResult::Written(revisions) = self.shelf.store.write_memory(write).await? else {
                continue;
            };
            match self.sync_memory(&scopes).await {
                Ok(more) => notes.extend(more),
                // The rows decide, and have the change: the files follow with the next one.
                Err(error) => notes.push(format!("the change is stored; its file is written later: {error}")),
            }
            let revision = |entry: &String| {
                let at = changes.iter().position(|change| change.entry == *entry)?;
                revisions.get(at).copied()
            };
            let with_revision = |step: MemoryStep| match &step {
                MemoryStep::Changed { entry } => (step.clone(), revision(entry)),
                MemoryStep::Unchanged { .. } => (step, None),
            };
            let steps = steps.into_iter().map(with_revision).collect();
            return Ok(MemoryOutcome { steps, proposal: None, is_masked, notes });
        }
        Err(MemoryRefused::Conflict("the memory changes too often at the moment; try again".to_owned()))
    }

    /// Takes back a revision, if the entry has not changed since.
    pub(crate) async fn undo_memory(
        &self,
        revision: i64,
        origin: MemoryOrigin,
    ) -> Result<MemoryOutcome, MemoryRefused> {
        let _writing = self.memory.writing.lock().await;
        let conflict = |text: String| MemoryRefused::Conflict(text);
        let store = &self.shelf.store;
        let row = store.memory_revision(revision).await?;
        let row = row.ok_or_else(|| conflict(format!("there is no revision {revision}")))?;
        let scopes = [row.change.scope.clone()];
        let mut notes = self.sync_memory(&scopes).await?;
        let entry = store.memory_entry(&row.change.entry).await?;
        let entry = entry.ok_or_else(|| conflict(format!("there is no entry {}", row.change.entry)))?;
        let now = (!entry.is_removed).then_some(entry.entry.text);
        if now != row.change.after {
            let last = entry.entry.revision;
            return Err(conflict(format!(
                "{} changed since revision {revision}; undo revision {last} first",
                row.change.entry
            )));
        }
        let change = MemoryChange {
            expects: Some(entry.entry.revision),
            before: now,
            after: row.change.before,
            ..row.change
        };
        let step = MemoryStep::Changed { entry: change.entry.clone() };
        let write =
            MemoryWrite { undoes: Some(revision), ..MemoryWrite::new(vec![change], origin, now_ms()) };
        match store.write_memory(write).await? {
            MemoryWriteResult::Written(revisions) => {
                notes.extend(self.sync_memory(&scopes).await?);
                let steps = vec![(step, revisions.first().copied())];
                Ok(MemoryOutcome { steps, proposal: None, is_masked: false, notes })
            }
            _ => Err(conflict("the entry changed meanwhile; try again".to_owned())),
        }
    }

    /// Decides a proposal; one that is approved is done.
    pub(crate) async fn decide_memory(
        &self,
        id: &str,
        state: MemoryProposalState,
    ) -> Result<MemoryOutcome, MemoryRefused> {
        let _writing = self.memory.writing.lock().await;
        let conflict = |text: String| MemoryRefused::Conflict(text);
        let proposal = self.shelf.store.memory_proposal(id).await?;
        let proposal = proposal.ok_or_else(|| conflict(format!("there is no proposal {id}")))?;
        let mut changes: Vec<MemoryChange> = serde_json::from_str(&proposal.changes)
            .map_err(|error| conflict(format!("the proposal {id} cannot be read: {error}")))?;
        if state != MemoryProposalState::Approved {
            changes.clear();
        }
        let scopes = scopes(changes.iter().map(|change| &change.scope));
        let mut notes = self.sync_memory(&scopes).await?;
        let entries: Vec<String> = changes.iter().map(|change| change.entry.clone()).collect();
        let write = MemoryWrite {
            decides: Some((id.to_owned(), state)),
            ..MemoryWrite::new(changes, proposal.origin, now_ms())
        };
        match self.shelf.store.write_memory(write).await? {
            MemoryWriteResult::Written(revisions) => {
                notes.extend(self.sync_memory(&scopes).await?);
                let steps = entries.into_iter().map(|entry| MemoryStep::Changed { entry });
                let steps = steps.zip(revisions.into_iter().map(Some)).collect();
                Ok(MemoryOutcome { steps, proposal: None, is_masked: false, notes })
            }
            MemoryWriteResult::Stale { entry } => Err(conflict(format!(
                "{entry} changed since {id} was proposed; reject the proposal and make the change again"
            ))),
            MemoryWriteResult::Decided { state } => {
                Err(conflict(format!("{id} was {} before", state.as_str())))
            }
        }
    }

    async fn draft(
        &self,
        operations: &[MemoryOperation],
        scopes: &[MemoryScope],
    ) -> Result<(Vec<MemoryStep>, Vec<MemoryChange>), MemoryRefused> {
        let mut draft = MemoryDraft::new(self.remembered(scopes).await?);
        let (mut steps, mut reasons) = (Vec::new(), Vec::new());
        for operation in operations {
            match draft.apply(operation, mint_entry()) {
                Ok(step) => {
                    steps.push(step);
                    reasons.push(None);
                }
                Err(refusal) => reasons.push(Some(refusal.to_string())),
            }
        }
        match reasons.iter().any(Option::is_some) {
            true => Err(MemoryRefused::Operations(reasons)),
            false => Ok((steps, draft.into_changes())),
        }
    }

    async fn propose(
        &self,
        changes: &[MemoryChange],
        origin: &MemoryOrigin,
        reason: &str,
    ) -> Result<String, MemoryRefused> {
        let random = uuid::Uuid::new_v4().simple().to_string();
        let id = format!("prop-{}", &random[..8]);
        let changes = serde_json::to_string(changes)
            .map_err(|error| MemoryRefused::Conflict(format!("the changes cannot be stored: {error}")))?;
        let proposal = MemoryProposalRow {
            id: id.clone(),
            state: MemoryProposalState::Pending,
            reason: reason.to_owned(),
            changes,
            origin: origin.clone(),
            at: now_ms(),
            decided_at: None,
        };
        self.shelf.store.propose_memory(proposal).await?;
        Ok(id)
    }
}

/// Why a person has to agree first.
fn reason(operations: &[MemoryOperation], waits: Option<&str>) -> Option<String> {
    let flagged = operations.iter().filter_map(MemoryOperation::text).find_map(flag);
    match flagged {
        Some(why) => Some(format!("it looks like planted instructions: {why}")),
        None => waits.map(str::to_owned),
    }
}

/// The same operations without secrets, and whether there were any.
fn masked(operations: Vec<MemoryOperation>) -> (Vec<MemoryOperation>, bool) {
    let mut is_masked = false;
    let mut mask = |text: String| {
        let masked = redact(&text).into_owned();
        is_masked |= masked != text;
        masked
    };
    let masked = operations
        .into_iter()
        .map(|operation| match operation {
            MemoryOperation::Add { scope, text } => MemoryOperation::Add { scope, text: mask(text) },
            MemoryOperation::Replace { scope, find, text } => {
                MemoryOperation::Replace { scope, find, text: mask(text) }
            }
            remove @ MemoryOperation::Remove { .. } => remove,
        })
        .collect();
    (masked, is_masked)
}

/// Each scope once.
fn scopes<'a>(scopes: impl Iterator<Item = &'a MemoryScope>) -> Vec<MemoryScope> {
    let mut scopes: Vec<MemoryScope> = scopes.cloned().collect();
    scopes.sort();
    scopes.dedup();
    scopes
}
