//! The tokens that a turn spent: the difference between Codex's running total of the thread and the total before the turn.
//!
//! Codex reports each total once. A report that came while no engine was connected is made up for by the next one; if none
//! follows, the figures are `partial`, so that no one mistakes them for the total. Called when a notification is read and at
//! the end of a turn.

use super::Turn;
use super::unanswered::LastWord;
use talaria_core::event::Usage;

impl Turn {
    /// Takes Codex's running total and what its last request to the model spent.
    pub(super) fn count(&mut self, total: Usage, last: Usage) {
        if self.order.baseline.partial {
            // The total before the turn is not known, so it is derived: this turn spent what it was known to have spent and
            // `last`. That is exact unless another report of this turn was missed.
            let known = self.total.since(self.order.baseline);
            // Before the model does anything Codex may repeat the figures of the turn before, as a compaction does when it
            // begins; one that ends reports an estimate. None of them is spent by this turn.
            let is_spent = self.last_word != LastWord::Prompt
                && !self.context.is_shortening()
                && last.input + last.output > 0;
            let last = if is_spent { last } else { Usage::default() };
            let before = total.since(last).since(known);
            self.order.baseline = Usage { partial: self.total.partial, ..before };
        }
        self.total = total;
    }

    /// What this turn spent so far.
    pub(super) fn spent(&self) -> Usage {
        let spent = self.total.since(self.order.baseline);
        Usage { partial: spent.partial || self.order.baseline.partial, ..spent }
    }
}
