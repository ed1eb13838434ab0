//! What a review remembers, or proposes to. Its changes have its name, so that they are made once.

use talaria_core::config::LearnMemory;
use talaria_core::learning::proposal::{MOST_PROPOSALS, ReviewAnswer};
use talaria_core::memory::MemoryChange;
use talaria_core::review::{LearnedChange, ReviewReport};
use talaria_store::{MemoryAuthor, MemoryOrigin, MemoryRevisionFilter, ReviewRow, SessionRow, StoreError};

use super::{FOREIGN, ReviewApplied, name_of};
use crate::engine::Inner;
use crate::engine::memory::{MemoryRefused, approval_reason, project_of, scopes_of};

impl Inner {
    /// Changes the memory, or leaves the changes for a person.
    pub(super) async fn learn_memory(
        &self,
        row: &SessionRow,
        review: &ReviewRow,
        answer: &ReviewAnswer,
        turn: Option<String>,
        applied: &mut ReviewApplied,
    ) -> Result<(), StoreError> {
        let name = name_of(review);
        let ReviewApplied { report, notes } = applied;
        if self.find_remembered(&name, report).await? {
            return Ok(());
        }
        let task = self.shelf.store.task(&row.id).await?;
        let project = project_of(row, task.as_ref());
        let note = |note: String| format!("memory: {note}");
        let (entries, read) = self.read_memory(&scopes_of(&project)).await?;
        notes.extend(read.into_iter().map(note));
        let operations = answer.memory_changes(&entries, &project);
        if operations.is_empty() {
            return Ok(());
        }
        let origin = MemoryOrigin {
            author: MemoryAuthor::Review,
            session: Some(row.id.clone()),
            turn,
            call: Some(name.clone()),
        };
        let config = self.config();
        let waits = match config.learning.memory.unwrap_or_default() {
            _ if row.review.is_foreign => Some(FOREIGN),
            LearnMemory::Propose => Some("learning.memory is propose"),
            LearnMemory::Off => Some("learning.memory is off"),
            LearnMemory::Apply => approval_reason(&config),
        };
        match self.change_memory(operations, origin, waits).await {
            Ok(outcome) => notes.extend(outcome.notes.into_iter().map(note)),
            Err(MemoryRefused::Store(error)) => return Err(error),
            Err(MemoryRefused::Conflict(why)) => (report.why, report.not_done) = (Some(why), true),
            Err(MemoryRefused::Operations(reasons)) => {
                (report.why, report.not_done) = (reasons.into_iter().flatten().next(), true);
            }
        }
        if !report.not_done {
            self.find_remembered(&name, report).await?;
        }
        Ok(())
    }

    /// Reports what a review did to the memory, by the rows that have its name; returns whether there are any.
    async fn find_remembered(&self, name: &str, report: &mut ReviewReport) -> Result<bool, StoreError> {
        let store = &self.shelf.store;
        if let Some(proposal) = store.memory_proposal_of(name).await? {
            let changes: Vec<MemoryChange> = serde_json::from_str(&proposal.changes).unwrap_or_default();
            report.changes = changes.into_iter().map(|change| learned(change, None)).collect();
            (report.proposal, report.why) = (Some(proposal.id), Some(proposal.reason));
            return Ok(true);
        }
        let filter = MemoryRevisionFilter { call: Some(name.to_owned()), ..MemoryRevisionFilter::default() };
        let most = u32::try_from(MOST_PROPOSALS).unwrap_or(u32::MAX);
        let revisions = store.memory_revisions(&filter, most).await?;
        report.changes = revisions.into_iter().rev().map(|row| learned(row.change, Some(row.id))).collect();
        Ok(!report.changes.is_empty())
    }
}

fn learned(change: MemoryChange, revision: Option<i64>) -> LearnedChange {
    let MemoryChange { scope, before, after, .. } = change;
    LearnedChange { scope: scope.to_string(), before, after, revision }
}
