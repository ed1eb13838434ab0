//! Notes about parts missed while no engine was connected: shown until they are loaded.
//!
//! A text cut off by such a gap arrives complete when its step completes. From then on the note would be false, so it
//! loses that part, and is removed when nothing is left of it. Parts in a hole cannot be checked, so their note is kept.

use talaria_core::gap::{self, Gap, Missing};
use talaria_core::ids::ItemId;

use super::Transcript;
use super::cell::{Body, Cell, KeyPress};
use super::remark::Remark;
use super::roll::{Entry, Handle};
use super::take::Scene;

/// A note about a time in which no engine listened.
#[derive(Debug)]
pub(super) struct Missed {
    key: KeyPress,
    turn: Option<i64>,
    found: usize,
    missing: Vec<Missing>,
    /// Steps whose end is not known.
    open: Vec<ItemId>,
}

impl Transcript {
    /// Says what is missing.
    pub(super) fn show_gap(&mut self, scene: Scene, gap: &Gap) {
        if gap.missing.contains(&Missing::Pieces) {
            // Where later text was cut is not known.
            let is_before = |cell: &&mut Cell| cell.turn == scene.turn && cell.last < scene.seq;
            self.roll.cells().filter(is_before).for_each(Cell::cut);
        }
        let key = self.add(scene, Body::Remark(Remark::warning(&gap.message)));
        let (missing, open) = (gap.missing.clone(), gap.open.clone());
        self.missed.retain(|note| note.key != key);
        self.missed.push(Missed { key, turn: scene.turn, found: gap.found, missing, open });
    }

    /// A step of this turn completed, or the turn did, or older events were loaded: updates the notes.
    pub(super) fn look_for_missed(&mut self, turn: Option<i64>) {
        let mut notes = std::mem::take(&mut self.missed);
        notes.retain_mut(|note| note.turn != turn || self.is_still_missing(note));
        self.missed = notes;
    }

    /// The same for all turns.
    pub(super) fn look_for_all_missed(&mut self) {
        let turns: Vec<Option<i64>> = self.missed.iter().map(|note| note.turn).collect();
        turns.into_iter().for_each(|turn| self.look_for_missed(turn));
    }

    /// Renews a note. Is anything left of it?
    fn is_still_missing(&mut self, note: &mut Missed) -> bool {
        if self.roll.cell(note.key).is_none() {
            return false;
        }
        if !self.has_gone_on(note) {
            return true;
        }
        let before = (note.missing.len(), note.open.len());
        let has_ended = |body: &Body| match body {
            Body::Message(message) => message.is_whole(),
            Body::Step(step) => step.life.has_ended(),
            Body::Patch(patch) => patch.life.has_ended(),
            _ => false,
        };
        note.open.retain(|id| {
            let cell = self.roll.find(&Handle::Item(note.turn, id.clone()));
            !cell.is_some_and(|cell| has_ended(&cell.body))
        });
        let are_pieces_here = self.are_pieces_here(note);
        note.missing.retain(|missing| match missing {
            Missing::Pieces => !are_pieces_here,
            Missing::Ends => !note.open.is_empty(),
            Missing::Steps => true,
        });
        if note.missing.is_empty() {
            self.roll.remove(note.key);
            return false;
        }
        if (note.missing.len(), note.open.len()) != before
            && let Some(cell) = self.roll.cell(note.key)
        {
            let words = gap::words(note.found, &note.missing, note.open.len());
            cell.body = Body::Remark(Remark::warning(&words));
            cell.touch();
        }
        // Of whole steps nothing can be found later.
        note.missing != [Missing::Steps]
    }

    /// Has anything of its turn ended since? Before, nothing says that what was cut off is here.
    fn has_gone_on(&self, note: &Missed) -> bool {
        let at = self.roll.position(note.key);
        let is_end = |cell: &Cell| {
            let is_work =
                matches!(cell.body, Body::Message(_) | Body::Step(_) | Body::Patch(_) | Body::End(_));
            is_work && !cell.is_open() && cell.turn == note.turn && cell.last > note.key.0
        };
        let after = (at + 1..self.roll.len()).filter_map(|at| self.roll.get(at));
        after.chain(self.cells_before(note)).any(|entry| matches!(entry, Entry::Cell(cell) if is_end(cell)))
    }

    /// Is everything whole that had begun by then?
    fn are_pieces_here(&self, note: &Missed) -> bool {
        let is_whole = |body: &Body| match body {
            Body::Message(message) => message.is_whole(),
            Body::Step(step) => step.is_whole(),
            _ => true,
        };
        let at = self.roll.position(note.key);
        // What began after it is cut off only if its beginning is not here; that of a message leaves no trace.
        let is_doubtful = |cell: &Cell| match &cell.body {
            Body::Message(_) => true,
            Body::Step(step) => !step.is_described(),
            _ => false,
        };
        let after = (at + 1..self.roll.len()).filter_map(|at| self.roll.get(at)).filter(
            |entry| matches!(entry, Entry::Cell(cell) if cell.turn == note.turn && is_doubtful(cell)),
        );
        self.cells_before(note).chain(after).all(|entry| match entry {
            Entry::Cell(cell) => is_whole(&cell.body),
            Entry::Hole(_) => false,
        })
    }

    /// Cells before a note that belong to its turn, or may, nearest first.
    fn cells_before(&self, note: &Missed) -> impl Iterator<Item = &Entry> {
        let turn = note.turn;
        let at = self.roll.position(note.key);
        (0..at).rev().filter_map(|at| self.roll.get(at)).take_while(move |entry| match entry {
            Entry::Cell(cell) => cell.turn.is_none() || cell.turn >= turn,
            Entry::Hole(_) => true,
        })
    }
}
