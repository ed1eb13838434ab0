//! Input that was handed to the running turn: called unread until the turn shows it.
//!
//! Codex may show the input before it confirms it. So the texts that are handed over are counted, and a confirmation adds
//! a note only while one of them has not been shown. Nothing is said of input in turns of the past.

use super::Transcript;
use super::cell::{Body, KeyPress};
use super::remark::Remark;
use super::take::Scene;

/// Text of the note.
const UNREAD: &str = "sent to the running turn; not read yet";

/// Input passed to the running turn that it has not confirmed.
#[derive(Debug, Default)]
pub(super) struct Handed {
    /// The texts, the oldest first, with their secrets masked.
    texts: Vec<String>,
    /// The notes about them: never more than there are texts.
    notes: Vec<KeyPress>,
}

impl Transcript {
    /// Input is handed to the turn.
    pub(super) fn hand(&mut self, scene: Scene, text: &str) {
        if self.is_newest(scene) {
            self.handed.texts.push(text.to_owned());
        }
    }

    /// Codex confirmed input. Of input that the turn has shown by then there is nothing to say.
    pub(super) fn show_steered(&mut self, scene: Scene) {
        if self.is_newest(scene) && self.handed.notes.len() < self.handed.texts.len() {
            let key = self.add(scene, Body::Remark(Remark::aside(UNREAD)));
            self.handed.notes.push(key);
        }
    }

    /// The turn shows input. If Codex changed its text it counts as the oldest: a note too few is not false.
    pub(super) fn show_handed(&mut self, scene: Scene, text: &str) {
        if self.is_newest(scene) && !self.handed.texts.is_empty() {
            let at = self.handed.texts.iter().position(|handed| is_same(handed, text));
            self.handed.texts.remove(at.unwrap_or(0));
            self.drop_notes();
        }
    }

    /// The turn did not take this input: it waits for the next turn, or was returned.
    pub(super) fn withdraw_handed(&mut self, scene: Scene, text: &str) {
        let at = self.handed.texts.iter().position(|handed| is_same(handed, text));
        if let Some(at) = at.filter(|_| self.is_newest(scene)) {
            self.handed.texts.remove(at);
            self.drop_notes();
        }
    }

    /// The turn is over. A separate event lists unread input.
    pub(super) fn end_handed(&mut self, scene: Scene) {
        if self.is_newest(scene) {
            self.handed.texts.clear();
            self.drop_notes();
        }
    }

    /// Did the event come just now, and not with a page of the past?
    fn is_newest(&self, scene: Scene) -> bool {
        self.newest == Some(scene.seq)
    }

    fn drop_notes(&mut self) {
        let over = self.handed.notes.len().saturating_sub(self.handed.texts.len());
        for key in self.handed.notes.drain(..over) {
            self.roll.remove(key);
        }
    }
}

/// Codex joins the parts of a text in its own ways, so the space between them says nothing.
fn is_same(one: &str, other: &str) -> bool {
    let is_sign = |c: &char| !c.is_whitespace();
    one.chars().filter(is_sign).eq(other.chars().filter(is_sign))
}
