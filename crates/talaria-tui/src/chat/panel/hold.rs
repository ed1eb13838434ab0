//! A letter that would decide is held for a moment: if the next letter follows at once, both are a word that was not
//! meant for the panel.

use std::time::Duration;

/// For this long nothing must follow a letter before it decides. A person who writes a word is faster.
const HOLD: Duration = Duration::from_millis(200);

/// The letter that waits, if there is one.
#[derive(Debug, Default)]
pub(super) struct Hold(Option<(char, Duration)>);

impl Hold {
    /// Begins to wait with a letter.
    pub(super) fn begin(&mut self, now: Duration, letter: char) {
        self.0 = Some((letter, now + HOLD));
    }

    /// The letter that waits, as it was typed.
    pub(super) fn letter(&self) -> Option<char> {
        self.0.map(|(letter, _)| letter)
    }

    /// Returns the letter: it decides nothing.
    pub(super) fn take_back(&mut self) -> Option<char> {
        self.0.take().map(|(letter, _)| letter)
    }

    /// Returns the letter once nothing has followed it.
    pub(super) fn due(&mut self, now: Duration) -> Option<char> {
        self.0.take_if(|(_, until)| now >= *until).map(|(letter, _)| letter)
    }
}
