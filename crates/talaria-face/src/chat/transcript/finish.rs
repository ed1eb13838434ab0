//! The end of a turn: what had not ended by then, and what it came to.
//!
//! After it nothing of the turn goes on, as far as anybody hears: what is said to run, to wait or to be at work would stay so
//! for ever. Pages may come in any order, so the end may be here before what it ends.

use talaria_core::outcome::Report;

use super::Transcript;
use super::cell::{Body, Cell};
use super::end::End;
use super::message::{Message, Voice};
use super::roll::Entry;
use super::take::Scene;

impl Transcript {
    /// A turn ended.
    pub(super) fn finish(&mut self, scene: Scene, report: &Report) {
        let is_of_turn = |cell: &&mut Cell| cell.turn.is_none() || cell.turn >= scene.turn;
        let cells = self.roll.cells().rev().take_while(is_of_turn);
        cells.filter(|cell| cell.turn == scene.turn).for_each(Cell::leave);
        let began = scene.turn.and_then(|turn| self.turns.get(&turn).copied());
        // A turn whose beginning is not here may have answered there.
        if let Some(text) = report.text.as_deref().filter(|text| !text.is_empty())
            && began.is_some()
            && self.answered.insert(scene.turn)
        {
            let mut message = Message::new(Voice::Answer);
            message.complete(text);
            self.add(scene, Body::Message(Box::new(message)));
        }
        let took = began.map(|began| u64::try_from(scene.at.saturating_sub(began)).unwrap_or(0));
        self.add(scene, Body::End(Box::new(End::new(report, took))));
    }

    /// Older events came: what they say to go on may be of a turn whose end was here before. With a hole between, it may have
    /// ended in there.
    pub(super) fn look_for_left(&mut self) {
        let mut over: Option<i64> = None;
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
