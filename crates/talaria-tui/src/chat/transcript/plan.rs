//! The plan of a turn as a check list: one cell, changed in place.

use talaria_core::event::PlanStep;

use super::cell::Page;
use super::wrap::{Break, rows};
use talaria_render::StyledLine;
use talaria_render::notice;

/// The current plan.
#[derive(Debug)]
pub(super) struct Plan {
    /// Why it changed last.
    pub(super) explanation: Option<String>,
    pub(super) steps: Vec<PlanStep>,
}

impl Plan {
    pub(super) fn rows(&self, page: &Page<'_>) -> Vec<StyledLine> {
        let hang = page.paint.sign("  ", "    ").len();
        let text = notice::plan(self.explanation.as_deref(), &self.steps, page.paint);
        rows(text, page.width, hang, Break::Words)
    }

    /// Its memory use.
    pub(super) fn weight(&self) -> usize {
        self.steps.iter().map(|step| size_of::<PlanStep>() + step.step.len()).sum()
    }
}
