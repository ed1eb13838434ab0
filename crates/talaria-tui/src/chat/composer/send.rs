//! Sending: to the model, as a command, or to the shell; and restoring refused input.

use std::ops::Range;

use super::fragment::Fragment;
use super::paste;
use super::undo::Reason;
use super::{Composer, PromptDraft, Reaction};
use crate::chat::commands::{self, Entry};

/// The longest input that Codex takes, in characters.
const INPUT_LIMIT: usize = 1_048_576;

impl Composer {
    /// Sends what is written, if it can be sent.
    pub fn send(&mut self) -> Reaction {
        let content = self.buffer.content();
        let (text, images) = (content.sent(), content.images());
        if text.trim().is_empty() {
            return Reaction::Nothing;
        }
        // What begins with a paste is never a command: no one typed that slash.
        let entry = if self.buffer.is_unit(0) { Ok(Entry::Say(text.clone())) } else { commands::read(&text) };
        let reaction = match entry {
            Err(mistake) => {
                // The list would cover the remark about it.
                self.dismissed = self.popup.take().map(|popup| popup.context);
                return Reaction::Mistake(mistake.to_string());
            }
            Ok(Entry::Command(_) | Entry::Shell(_)) if !images.is_empty() => {
                let what =
                    "a command takes no image; delete the image, or add a leading space to send it as text";
                return Reaction::Mistake(what.to_owned());
            }
            Ok(Entry::Command(command)) => Reaction::Command(command),
            Ok(Entry::Shell(command)) => Reaction::Shell(command),
            Ok(Entry::Say(text)) => Reaction::Submit(PromptDraft { text, images: images.clone() }),
        };
        if let Some(length) = too_long(&text) {
            return Reaction::Mistake(format!(
                "the input is too long: {length} characters, and Codex accepts at most {INPUT_LIMIT}; \
                 put the text into a file and ask Codex to read it"
            ));
        }
        self.history.push(&text, &images);
        self.settle();
        self.buffer.take();
        match self.drafts.pop() {
            // It may contain a path that was asked about.
            Some(draft) => self.buffer.set(draft),
            None => self.asked.clear(),
        }
        (self.popup, self.dismissed, self.top) = (None, None, 0);
        reaction
    }

    /// Restores refused input, before newer text.
    pub fn put_back(&mut self, prompt: PromptDraft) {
        self.settle();
        self.popup = None;
        self.say_where_it_stands();
        let mut back = said(&prompt);
        if !self.buffer.is_empty() {
            back.push(Fragment::plain("\n"));
        }
        let cursor = self.buffer.cursor() + back.text.len();
        self.buffer.replace(0..0, back, Reason::Other);
        self.buffer.move_to(cursor);
    }

    /// The text follows other text: a leading space that only escaped a command would become part of it.
    fn say_where_it_stands(&mut self) {
        if self.buffer.is_unit(0) {
            return;
        }
        let text = self.buffer.text();
        if let Ok(Entry::Say(said)) = commands::read(text)
            && let Some(sign) = text.len().checked_sub(said.len()).filter(|sign| *sign > 0)
        {
            let cursor = self.buffer.cursor().saturating_sub(sign);
            self.buffer.replace(0..sign, Fragment::default(), Reason::Other);
            self.buffer.move_to(cursor);
        }
    }

    /// Where a short paste is, if it is still there.
    pub(super) fn pasted(&self, text: &str) -> Option<Range<usize>> {
        let start = self.buffer.text().rfind(text)?;
        let range = start..start + text.len();
        let is_free =
            self.buffer.units().iter().all(|unit| unit.end <= range.start || unit.start >= range.end);
        is_free.then_some(range)
    }
}

/// How a prompt is written so that it is said, and said exactly so.
fn said(prompt: &PromptDraft) -> Fragment {
    let mut whole = Fragment::with_images(&prompt.text, &prompt.images, paste::fragment);
    let first = whole.units.first().map_or(whole.text.len(), |unit| unit.start);
    // What begins with a unit is said as it is, and only its label is laid out.
    if first == 0 {
        return whole;
    }
    let text = whole.sent();
    let is_said = |sign: &&str| commands::read(&format!("{sign}{text}")) == Ok(Entry::Say(text.clone()));
    if let Some(sign) = ["", "/", " "].into_iter().find(is_said) {
        let mut typed = Fragment::plain(sign);
        typed.push(whole);
        return typed;
    }
    let beginning = Fragment::pasted(whole.text[..first].to_owned());
    whole.units.splice(..0, beginning.units);
    whole
}

fn too_long(text: &str) -> Option<usize> {
    // Characters are at least a byte: short texts are not counted.
    (text.len() > INPUT_LIMIT).then(|| text.chars().count()).filter(|&length| length > INPUT_LIMIT)
}
