//! Input that waits for the next turn: said as long as it waits.
//!
//! When the message has become part of the conversation, or was taken back, it would be false to say that it waits.

use super::Transcript;
use super::cell::{Body, KeyPress};
use super::remark::Remark;
use super::take::Scene;
use crate::chat::images;
use talaria_core::event::QueuedInput;
use talaria_render::plain_line;

/// At most this many characters of queued input are shown.
const LABEL: usize = 200;

/// Notes about queued input.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    notes: Vec<Note>,
    /// Taken back, and that it waited is not here: the number of the event, and the text.
    taken_back: Vec<(i64, String)>,
}

/// Where a note about input is, and the text, its secrets masked.
#[derive(Debug)]
struct Note {
    key: KeyPress,
    text: String,
}

impl Note {
    /// Is it about this message?
    fn is(&self, said: &str) -> bool {
        self.text.trim() == said.trim()
    }
}

impl Transcript {
    /// Says that input waits.
    pub(super) fn show_queued(&mut self, scene: Scene, input: &QueuedInput, words: &str) {
        let shown = images::with_markers(&input.text, &input.images);
        let label: String = shown.chars().take(LABEL).collect();
        let more = if label.len() < shown.len() { "..." } else { "" };
        let line = format!("{words}: {}{more}", plain_line(label.trim()));
        let key = self.add(scene, Body::Remark(Remark::aside(&line)));
        self.waiting.notes.retain(|note| note.key != key && self.roll.cell(note.key).is_some());
        self.waiting.notes.push(Note { key, text: input.text.clone() });
    }

    /// It was sent: of several equal ones, the oldest.
    pub(super) fn waits_no_longer(&mut self, scene: Scene, text: &str) -> bool {
        let is_it = |note: &Note| note.key.0 < scene.seq && note.is(text);
        let Some(at) = self.waiting.notes.iter().position(is_it) else { return false };
        let note = self.waiting.notes.remove(at);
        self.roll.remove(note.key).is_some()
    }

    /// It was returned. If its page is loaded again, it still counts once.
    pub(super) fn show_unqueued(&mut self, scene: Scene, text: &str) {
        let is_known = |known: &(i64, String)| known.0 == scene.seq && known.1 == text;
        if self.waiting.taken_back.iter().any(is_known) {
            return;
        }
        if !self.waits_no_longer(scene, text) {
            self.waiting.taken_back.push((scene.seq, text.to_owned()));
        }
    }

    /// Older events were loaded: input that they report as queued may have been sent or returned in newer ones.
    pub(super) fn look_for_said(&mut self) {
        let Waiting { notes, taken_back } = &mut self.waiting;
        if notes.is_empty() {
            return;
        }
        let said = self.roll.cells().filter_map(|cell| match &cell.body {
            Body::Person(person) if !person.is_pending() => Some((cell.key.0, person.text())),
            _ => None,
        });
        let mut said: Vec<(i64, String)> = said.collect();
        let mut gone = Vec::new();
        notes.retain(|note| {
            let is_it = |(seq, text): &(i64, String)| *seq > note.key.0 && note.is(text);
            let over = [&mut said, taken_back].into_iter().find_map(|texts| {
                let at = texts.iter().position(is_it)?;
                Some(texts.remove(at))
            });
            gone.extend(over.is_some().then_some(note.key));
            over.is_none()
        });
        gone.into_iter().for_each(|key| drop(self.roll.remove(key)));
    }
}
