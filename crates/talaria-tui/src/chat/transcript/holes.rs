//! Holes (events that are not loaded): which one to request next, and how the window keeps its position when it is filled.

use std::ops::Range;

use super::Transcript;
use super::roll::{Entry, Hole};
use super::window::Anchor;

/// How near a hole may come, in cells, before its events are wanted.
const NEAR: usize = 12;
/// How many events are asked for where a hole is entered from above.
const PAGE: i64 = 1000;

impl Transcript {
    /// Before a hole is filled: a window anchored to it is anchored to the next cell, unless the person scrolls to the
    /// beginning.
    pub(super) fn leave_hole(&mut self, hole: Hole) {
        if let Anchor::At(key, _) = self.anchor {
            let at = self.roll.position(key);
            if let (Some(Entry::Hole(there)), Some(next)) = (self.roll.get(at), self.roll.get(at + 1))
                && *there == hole
            {
                self.anchor = Anchor::At(next.key(), 0);
            }
        }
    }

    /// With a hole in or near the window: before which number events are wanted. They are those next to the window.
    pub(super) fn near_hole(&self, shown: Range<usize>) -> Option<i64> {
        let hole = |at: usize| match self.roll.get(at) {
            Some(Entry::Hole(hole)) => Some((at, *hole)),
            _ => None,
        };
        let above = shown.start.saturating_sub(NEAR)..shown.start;
        let below = shown.end..(shown.end + NEAR).min(self.roll.len());
        let (at, hole) = shown.clone().chain(above.rev()).chain(below).find_map(hole)?;
        let is_entered_from_above = at > shown.start || self.anchor == Anchor::Top;
        let end = hole.last.saturating_add(1);
        Some(if is_entered_from_above { end.min(hole.first.saturating_add(PAGE)) } else { end })
    }

    /// Is everything here from this entry on?
    pub(super) fn is_whole_from(&self, first: usize) -> bool {
        !(first..self.roll.len()).any(|at| matches!(self.roll.get(at), Some(Entry::Hole(_))))
    }
}
