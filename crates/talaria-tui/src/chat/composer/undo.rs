//! The undo history: changes, not copies of the text, bounded by bytes.

use std::collections::VecDeque;

use super::fragment::Fragment;

const MOST: usize = 1_000;
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// A change: at this place this many bytes replaced these.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) at: usize,
    /// Length of the new text in bytes.
    pub(crate) added: usize,
    /// The old text.
    pub(crate) removed: Fragment,
    pub(crate) cursor: usize,
}

/// Kind of a change. Consecutive typing is undone at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A key was typed.
    Typing,
    /// Anything else.
    #[default]
    Other,
}

/// Changes that can be taken back, and changes that were.
#[derive(Clone, Debug, Default)]
pub(crate) struct Undo {
    done: VecDeque<Edit>,
    undone: Vec<Edit>,
    bytes: usize,
    last: Reason,
}

impl Undo {
    /// Records a change; `text` is the new text.
    pub(crate) fn record(&mut self, edit: Edit, reason: Reason, text: &str) {
        self.undone.clear();
        let goes_on = reason == Reason::Typing && self.last == Reason::Typing;
        self.last = reason;
        let last = self.done.back_mut().filter(|last| goes_on && last.at + last.added == edit.at);
        if let Some(last) = last.filter(|_| edit.removed.text.is_empty()) {
            let (before, behind) = text.split_at(edit.at);
            let is_new_word =
                before.ends_with(char::is_whitespace) && !behind.starts_with(char::is_whitespace);
            if !is_new_word {
                last.added += edit.added;
                return;
            }
        }
        self.bytes += edit.removed.text.len();
        self.done.push_back(edit);
        while self.done.len() > MOST || (self.bytes > MOST_BYTES && self.done.len() > 1) {
            let oldest = self.done.pop_front();
            self.bytes -= oldest.map_or(0, |edit| edit.removed.text.len());
        }
    }

    /// Returns the change to undo.
    pub(crate) fn back(&mut self) -> Option<Edit> {
        self.last = Reason::Other;
        let edit = self.done.pop_back()?;
        self.bytes -= edit.removed.text.len();
        Some(edit)
    }

    /// Returns the change to redo.
    pub(crate) fn forth(&mut self) -> Option<Edit> {
        self.last = Reason::Other;
        self.undone.pop()
    }

    /// Notes how a change that was taken back is made again.
    pub(crate) fn undone(&mut self, inverse: Edit) {
        self.undone.push(inverse);
    }

    /// Notes how a change that was made again is taken back.
    pub(crate) fn redone(&mut self, inverse: Edit) {
        self.bytes += inverse.removed.text.len();
        self.done.push_back(inverse);
    }
}
