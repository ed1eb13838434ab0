//! A line that is typed for a request: a reason, an answer, a value of a form. A secret one is never shown.

use std::fmt;

use super::super::contract::{Code, KeyPress};

/// The typed text so far.
#[derive(Default)]
pub(super) struct Entry {
    text: String,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("length", &self.text.len()).finish_non_exhaustive()
    }
}

impl Entry {
    /// Takes a key that changes it.
    pub(super) fn key(&mut self, key: KeyPress) {
        match key.code {
            Code::Backspace => {
                self.text.pop();
            }
            Code::Char('u') if key.ctrl => self.text.clear(),
            Code::Char('w') if key.ctrl => {
                let kept = self.text.trim_end().rfind(' ').map_or(0, |at| at + 1);
                self.text.truncate(kept);
            }
            Code::Char(c) if !key.ctrl && !key.alt => self.text.push(c),
            _ => {}
        }
    }

    /// Takes pasted text; it is one line.
    pub(super) fn paste(&mut self, text: &str) {
        self.text.extend(
            text.trim_end_matches(['\r', '\n']).chars().map(|c| if c == '\r' || c == '\n' { ' ' } else { c }),
        );
    }

    /// The typed text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the line and starts an empty one.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }
}
