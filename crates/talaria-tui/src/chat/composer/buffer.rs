//! The text being written, its units and the cursor. Every change uses `replace`, which records it for undo. The
//! cursor is on the boundary of a grapheme and never within a unit.

use std::ops::Range;

use super::fragment::{Fragment, Unit};
use super::undo::{Edit, Reason, Undo};

/// Text with a cursor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffer {
    content: Fragment,
    cursor: usize,
    undo: Undo,
}

impl Buffer {
    /// The text.
    pub(crate) fn content(&self) -> &Fragment {
        &self.content
    }

    /// The text, pastes and names of images included.
    pub(crate) fn text(&self) -> &str {
        &self.content.text
    }

    /// The units, from left to right.
    pub(crate) fn units(&self) -> &[Unit] {
        &self.content.units
    }

    /// Where the cursor is, in bytes.
    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Is nothing written?
    pub(crate) fn is_empty(&self) -> bool {
        self.content.text.is_empty()
    }

    /// Moves the cursor to the nearest place at or after this one where it may be.
    pub(crate) fn move_to(&mut self, place: usize) {
        self.cursor = self.standing(place);
    }

    /// Replaces a range by a fragment, and moves the cursor after it.
    pub(crate) fn replace(&mut self, range: Range<usize>, with: Fragment, reason: Reason) {
        let before = self.cursor;
        let (at, added) = (range.start, with.text.len());
        let removed = self.splice(range, with);
        self.undo.record(Edit { at, added, removed, cursor: before }, reason, &self.content.text);
    }

    /// Inserts a fragment at the cursor.
    pub(crate) fn insert(&mut self, what: Fragment, reason: Reason) {
        self.replace(self.cursor..self.cursor, what, reason);
    }

    /// Removes a range and returns it.
    pub(crate) fn cut(&mut self, range: Range<usize>, reason: Reason) -> Fragment {
        let cut = self.copy(range.clone());
        self.replace(range, Fragment::default(), reason);
        cut
    }

    /// Writes something else in the place of everything.
    pub(crate) fn set(&mut self, what: Fragment) {
        self.replace(0..self.text().len(), what, Reason::Other);
    }

    /// Clears the text and the undo history.
    pub(crate) fn take(&mut self) -> Fragment {
        std::mem::take(self).content
    }

    /// Takes the last change back. Was there one?
    pub(crate) fn undo(&mut self) -> bool {
        let Some(edit) = self.undo.back() else { return false };
        let inverse = self.revert(edit);
        self.undo.undone(inverse);
        true
    }

    /// Makes the change again that was taken back last. Was there one?
    pub(crate) fn redo(&mut self) -> bool {
        let Some(edit) = self.undo.forth() else { return false };
        let inverse = self.revert(edit);
        self.undo.redone(inverse);
        true
    }

    fn revert(&mut self, edit: Edit) -> Edit {
        let (cursor, added) = (self.cursor, edit.removed.text.len());
        let removed = self.splice(edit.at..edit.at + edit.added, edit.removed);
        self.move_to(edit.cursor.min(self.text().len()));
        Edit { at: edit.at, added, removed, cursor }
    }

    fn copy(&self, range: Range<usize>) -> Fragment {
        let inside = |unit: &&Unit| unit.start >= range.start && unit.end <= range.end;
        let units = self.units().iter().filter(inside).map(|unit| unit.clone().moved_back(range.start));
        Fragment { text: self.text()[range.clone()].to_owned(), units: units.collect() }
    }

    fn splice(&mut self, range: Range<usize>, with: Fragment) -> Fragment {
        let removed = self.copy(range.clone());
        let end = range.start + with.text.len();
        self.content.text.replace_range(range.clone(), &with.text);
        let old = std::mem::take(&mut self.content.units);
        let (left, right): (Vec<_>, Vec<_>) = old.into_iter().partition(|unit| unit.end <= range.start);
        self.content.units = left;
        self.content.units.extend(with.units.into_iter().map(|unit| unit.moved(range.start)));
        let right = right.into_iter().filter(|unit| unit.start >= range.end);
        self.content.units.extend(right.map(|unit| unit.moved_back(range.end).moved(end)));
        self.content.number_images();
        self.move_to(end);
        removed
    }
}

impl Unit {
    /// Does this place lie within it, so that the cursor may not be there?
    pub(crate) fn surrounds(&self, place: usize) -> bool {
        self.start < place && place < self.end
    }
}
