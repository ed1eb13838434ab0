//! Counts of a turn that are recorded with it: its tokens, and what makes a review due.
//!
//! Everything here only adds changes to the next commit of the journal, or notes what its last one has to add. A
//! turn that no runtime accepted is not counted.

use talaria_core::event::Event;
use talaria_core::learning::progress::{ReviewCount, ReviewProgress, ReviewTurnEnd};
use talaria_core::outcome::Report;
use talaria_store::{Change, NewModelUsage, ReviewStep, UsagePurpose};

use super::Journal;

impl Journal {
    /// Counts what makes a review due, from what is stored on.
    pub(crate) fn learn(&mut self, progress: Option<ReviewProgress>) {
        self.progress = progress;
    }

    /// Counts what an earlier engine recorded of this turn.
    pub(crate) fn count_again(&mut self, events: &[Event]) {
        if let Some(progress) = &mut self.progress {
            events.iter().for_each(|event| progress.count(event));
        }
    }

    /// Records that untrusted text was added to the input, which restricts a review to proposals.
    pub(crate) fn note_foreign_text(&mut self) {
        self.changes.push(Change::ReviewCount(ReviewCount { is_foreign: true, ..ReviewCount::default() }));
    }

    /// Records a step of a review, at a point for tests that stop there.
    pub(crate) fn review(&mut self, id: i64, step: ReviewStep, point: &'static str) {
        self.points.push(point);
        self.changes.push(Change::Review(id, step));
    }

    /// A turn that Codex took has ended: it counts, and perhaps a review is due. Both are written with the outcome.
    pub(super) fn end_progress(&mut self, report: &Report) {
        let Some(progress) = self.progress.take().filter(|_| self.turn.is_some()) else { return };
        let ReviewTurnEnd { count, due } = progress.end(report);
        self.changes.push(Change::ReviewCount(count));
        if let Some(due) = due {
            self.points.push("review-due");
            self.changes.push(Change::ReviewDue { last_turn: self.ordinal, due });
        }
    }

    /// The turn is on the built-in loop, whose requests are counted one by one.
    pub(crate) fn count_attempts(&mut self) {
        self.counts_attempts = true;
    }

    /// Records what a turn cost that the runtime accepted, in the same transaction as its outcome.
    pub(super) fn count_usage(&mut self, report: &Report) {
        if self.turn.is_none() || self.counts_attempts {
            return;
        }
        let model = self.started.as_ref().map(|started| started.model.clone());
        self.changes.push(Change::ModelUsage(NewModelUsage {
            name: format!("turn/{}", self.ordinal),
            purpose: UsagePurpose::Turn,
            model: model.filter(|model| !model.is_empty()),
            usage: report.usage,
        }));
    }
}
