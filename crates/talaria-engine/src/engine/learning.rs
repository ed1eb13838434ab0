//! Learning from finished turns: which conversations count, what a review asks, and how its proposals are applied. The task
//! of a session runs the review (`run/actor/reviewing`); nothing here talks to a model.

use talaria_core::config::LearnMemory;
use talaria_core::learning::progress::ReviewProgress;
use talaria_core::learning::proposal::{self, LearningProposal, ReviewAnswer};
use talaria_core::memory::MemoryChange;
use talaria_core::review::{LearnedChange, ReviewReport};
use talaria_store::{
    MemoryAuthor, MemoryOrigin, MemoryRevisionFilter, ReviewRow, SessionRow, StoreError, TurnRow,
};

use crate::engine::Inner;
use crate::engine::memory::{MemoryRefused, approval_reason, project_of, scopes_of, why_task_only_reads};

/// Why the proposals about a conversation wait that has read what strangers wrote.
const FOREIGN: &str = "the conversation read untrusted text (web pages, MCP servers or hooks)";

impl Inner {
    /// What makes a review of a conversation due; none for one that is not reviewed. `owner` is that of a task.
    pub(crate) fn review_progress(
        &self,
        row: &SessionRow,
        owner: Option<&str>,
        turn: &TurnRow,
    ) -> Option<ReviewProgress> {
        let config = self.config();
        let is_off = config.learning.memory == Some(LearnMemory::Off) || config.tools.memory == Some(false);
        if is_off || why_task_only_reads(owner, &config).is_some() {
            return None;
        }
        Some(ReviewProgress::new(row.review, config.learning.intervals(), !turn.ours))
    }

    /// The prompt for reviewing a conversation.
    pub(crate) async fn review_question(&self, row: &SessionRow) -> Result<String, StoreError> {
        let task = self.shelf.store.task(&row.id).await?;
        let (entries, _) = self.read_memory(&scopes_of(&project_of(row, task.as_ref()))).await?;
        Ok(proposal::question(&entries))
    }

    /// Applies the answer to a review, or leaves it as a proposal; returns the report and notes for the user. Changes of an
    /// earlier attempt are detected and not repeated.
    pub(crate) async fn apply_review(
        &self,
        row: &SessionRow,
        review: &ReviewRow,
        answer: &ReviewAnswer,
    ) -> Result<(ReviewReport, Vec<String>), StoreError> {
        let name = format!("review-{}", review.id);
        if let Some(report) = self.applied_review(review, &name).await? {
            return Ok((report, Vec::new()));
        }
        let store = &self.shelf.store;
        let task = store.task(&row.id).await?;
        let project = project_of(row, task.as_ref());
        let (entries, mut notes) = self.read_memory(&scopes_of(&project)).await?;
        let operations = answer.proposals(&entries, &project).into_iter().map(|proposal| match proposal {
            LearningProposal::Memory(operation) => operation,
        });
        let operations: Vec<_> = operations.collect();
        let nothing = ReviewReport {
            first_turn: review.first_turn,
            last_turn: review.last_turn,
            ..ReviewReport::default()
        };
        if operations.is_empty() {
            return Ok((nothing, notes));
        }
        let turns = store.last_turns(&row.id, None, 1).await?;
        let origin = MemoryOrigin {
            author: MemoryAuthor::Review,
            session: Some(row.id.clone()),
            turn: turns.last().and_then(|turn| turn.codex_turn.as_ref()).map(ToString::to_string),
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
            Ok(outcome) => notes.extend(outcome.notes),
            Err(MemoryRefused::Store(error)) => return Err(error),
            Err(MemoryRefused::Conflict(why)) => {
                return Ok((ReviewReport { why: Some(why), not_done: true, ..nothing }, notes));
            }
            Err(MemoryRefused::Operations(reasons)) => {
                let why = reasons.into_iter().flatten().next();
                return Ok((ReviewReport { why, not_done: true, ..nothing }, notes));
            }
        }
        let report = self.applied_review(review, &name).await?;
        Ok((report.unwrap_or(nothing), notes))
    }

    /// The memory changes of a review, found by the rows that carry its name; none if it changed nothing yet.
    async fn applied_review(
        &self,
        review: &ReviewRow,
        name: &str,
    ) -> Result<Option<ReviewReport>, StoreError> {
        let store = &self.shelf.store;
        let mut report = ReviewReport {
            first_turn: review.first_turn,
            last_turn: review.last_turn,
            ..ReviewReport::default()
        };
        if let Some(proposal) = store.memory_proposal_of(name).await? {
            let changes: Vec<MemoryChange> = serde_json::from_str(&proposal.changes).unwrap_or_default();
            report.changes = changes.into_iter().map(|change| learned(change, None)).collect();
            (report.proposal, report.why) = (Some(proposal.id), Some(proposal.reason));
            return Ok(Some(report));
        }
        let filter = MemoryRevisionFilter { call: Some(name.to_owned()), ..MemoryRevisionFilter::default() };
        let most = u32::try_from(proposal::MOST_PROPOSALS).unwrap_or(u32::MAX);
        let revisions = store.memory_revisions(&filter, most).await?;
        let changes = revisions.into_iter().rev().map(|row| learned(row.change, Some(row.id)));
        report.changes = changes.collect();
        Ok((!report.changes.is_empty()).then_some(report))
    }
}

fn learned(change: MemoryChange, revision: Option<i64>) -> LearnedChange {
    let MemoryChange { scope, before, after, .. } = change;
    LearnedChange { scope: scope.to_string(), before, after, revision }
}
