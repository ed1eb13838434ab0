//! The tokens in the model's context, as far as they say what a shortening of the conversation changed.
//!
//! Codex reports tokens after each request of the model, and the same figures again when a shortening begins. Afterwards it
//! reports its estimate of what is left, with nothing read and nothing written. Figures that do not come are not known.

use super::Turn;
use super::unanswered::LastWord;
use crate::settle::Deed;
use talaria_core::event::Usage;
use talaria_core::item::{Compaction, CompactionCause};

/// Known figures of the context.
#[derive(Debug, Default)]
pub(super) struct ContextWatch {
    /// Tokens in it after the last request.
    now: Option<u64>,
    /// Did Codex say that another model is in force since this turn began?
    pub(super) is_model_new: bool,
    /// Figures of the compaction in progress.
    shortening: Option<Compaction>,
}

impl ContextWatch {
    /// Takes a report: the total before, the total now, the last request.
    pub(super) fn note(&mut self, before: Usage, total: Usage, last: Usage) {
        let is_estimate = last.input == 0 && last.output == 0;
        match &mut self.shortening {
            Some(facts) if is_estimate && last.total > 0 => facts.after = Some(last.total),
            // Nothing was spent since: the figures of the request before are reported again.
            Some(facts) if facts.before.is_none() && total == before && last.total > 0 => {
                facts.before = Some(last.total);
            }
            _ => {}
        }
        self.now = Some(last.total);
    }

    /// Whether a compaction is in progress.
    pub(super) fn is_shortening(&self) -> bool {
        self.shortening.is_some()
    }

    /// A compaction begins; `before` is the preceding activity in this turn.
    pub(super) fn begin_compaction(&mut self, before: LastWord) {
        // Codex shortens for another model before that model does anything.
        let is_for_model = self.is_model_new && before == LastWord::Prompt;
        let by = if is_for_model { CompactionCause::ModelChange } else { CompactionCause::Codex };
        self.shortening = Some(Compaction { by: Some(by), before: self.now, ..Compaction::default() });
    }
}

impl Turn {
    /// Figures of the compaction that has just ended.
    pub(super) fn compaction(&mut self) -> Compaction {
        let mut facts = self.context.shortening.take().unwrap_or_default();
        if self.order.deed == Deed::Compaction {
            facts.by = Some(CompactionCause::User);
        }
        facts
    }
}
