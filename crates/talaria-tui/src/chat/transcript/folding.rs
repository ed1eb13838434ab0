//! Folding: one cell after the other, from the last visible one upwards, or everything.
//!
//! One cell is unfolded at a time, so that the visible rows stay near. After the first one all are folded again.

use super::cell::{Cell, Folding, KeyPress, Page};
use super::{Fold, Transcript};

/// Cells that are unfolded one after the other.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// Those that come, the next one last.
    left: Vec<KeyPress>,
    /// The one that is changed now.
    at: Option<KeyPress>,
}

impl Transcript {
    /// Folds what is unfolded, and unfolds what is folded.
    pub fn toggle_fold(&mut self, fold: Fold) {
        match fold {
            Fold::All => {
                self.fold = self.fold.toggled();
                self.roll.cells().for_each(|cell| cell.fold = None);
                self.stop_unfolding();
            }
            Fold::Next => self.unfold_next(),
        }
    }

    /// The window moves: unfolded cells stay so, and the next step begins with the cells visible then.
    pub(super) fn stop_unfolding(&mut self) {
        self.round = Round::default();
    }

    fn unfold_next(&mut self) {
        match self.round.at.take() {
            Some(key) => {
                if let Some(cell) = self.roll.cell(key) {
                    cell.fold = None;
                }
            }
            None => self.round.left = self.foldable(),
        }
        let all = self.fold;
        while let Some(key) = self.round.left.pop() {
            if let Some(cell) = self.roll.cell(key) {
                cell.fold = Some(cell.fold.unwrap_or(all).toggled());
                self.round.at = Some(key);
                return;
            }
        }
    }

    /// Visible cells that can be folded, from top to bottom.
    fn foldable(&mut self) -> Vec<KeyPress> {
        let (paint, width, now, wall) = (self.paint, self.size.0, self.now, self.wall(self.now));
        let is_heard = self.is_heard;
        let page = |fold| Page { paint, width, fold, now, wall, is_heard, lights: None };
        let mut keys: Vec<KeyPress> = self.shown.iter().copied().flatten().collect();
        keys.dedup();
        let has_more = |cell: &mut Cell| cell.has_more(&page(Folding::Folded), &page(Folding::Unfolded));
        keys.retain(|key| self.roll.cell(*key).is_some_and(has_more));
        keys
    }
}
