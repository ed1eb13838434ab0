//! The end of a turn: open steps, and the outcome.
//!
//! No events of the turn follow: steps shown as running, waiting or working would stay so indefinitely. Pages may be loaded
//! in any order, so the end may be loaded before its steps.

use talaria_core::outcome::Report;

use super::Transcript;
use super::cell::{Body, Cell, KeyPress};
use super::end::End;
use super::roll::Entry;
use super::take::Scene;

impl Transcript {
    /// A turn has just ended. Its running steps no longer run.
    pub(super) fn leave_turn(&mut self, turn: Option<i64>) {
        let is_of_turn = |cell: &&mut Cell| cell.turn.is_none() || cell.turn >= turn;
        let cells = self.roll.cells().rev().take_while(is_of_turn);
        cells.filter(|cell| cell.turn == turn).for_each(Cell::leave);
    }

    /// Says how a turn ended.
    pub(super) fn finish(&mut self, scene: Scene, report: &Report) {
        let began = scene.turn.and_then(|turn| self.turns.get(&turn));
        let took = began.map(|began| u64::try_from(scene.at.saturating_sub(began.at)).unwrap_or(0));
        // It may have been kept when the answer before it was dropped.
        self.roll.remove((scene.seq, 1));
        // After the place of an answer that only this event reports.
        let end = Cell::new((scene.seq, 1), scene.turn, Body::End(Box::new(End::new(report, took))));
        let key = self.roll.insert(end);
        self.look_for_answer(key, scene.turn);
    }

    /// Older events were loaded: more may be known about answers.
    pub(super) fn look_for_answers(&mut self) {
        let open = self.roll.cells().filter_map(|cell| match &cell.body {
            Body::End(end) if end.has_answer() => Some((cell.key, cell.turn)),
            _ => None,
        });
        for (key, turn) in open.collect::<Vec<_>>() {
            self.look_for_answer(key, turn);
        }
    }

    /// Shows an answer that only the end of its turn reported, once it is known that no message of the turn did.
    fn look_for_answer(&mut self, key: KeyPress, turn: Option<i64>) {
        let Some(is_told) = self.is_answered(key, turn) else { return };
        let Some(Body::End(end)) = self.roll.cell(key).map(|cell| &mut cell.body) else { return };
        if let Some(answer) = end.take_answer().filter(|_| !is_told) {
            self.roll.insert(Cell::new((key.0, 0), turn, Body::Message(answer)));
        }
    }

    /// Whether the model wrote a message for the reader in this turn before this position. Unknown if it may be in a hole.
    fn is_answered(&self, before: KeyPress, turn: Option<i64>) -> Option<bool> {
        let turn = turn?;
        let began = self.turns.get(&turn).map(|began| began.seq);
        let above = (0..self.roll.position(before)).rev().filter_map(|at| self.roll.get(at));
        for entry in above {
            match entry {
                Entry::Hole(hole) if began.is_some_and(|began| hole.last < began) => break,
                Entry::Hole(_) => return None,
                Entry::Cell(cell) if cell.turn.is_some_and(|other| other < turn) => break,
                Entry::Cell(cell) if cell.turn == Some(turn) && is_answer(cell) => return Some(true),
                Entry::Cell(_) => {}
            }
        }
        Some(false)
    }

    /// Older events were loaded: steps that they report as running may belong to a turn whose end is loaded already. With a
    /// hole between, they may have ended in there.
    pub(super) fn look_for_left(&mut self) {
        let mut over = None;
        for entry in self.roll.entries().rev() {
            match entry {
                Entry::Hole(_) => over = None,
                Entry::Cell(cell) if matches!(cell.body, Body::End(_)) => over = over.max(cell.turn),
                Entry::Cell(cell) if cell.turn.is_some() && cell.turn <= over => cell.leave(),
                Entry::Cell(_) => {}
            }
        }
    }
}

fn is_answer(cell: &Cell) -> bool {
    matches!(&cell.body, Body::Message(message) if message.is_answer())
}
