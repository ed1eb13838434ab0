//! A letter is held for a moment before it means anything: if the next one follows, both are a word that was not meant for the
//! panel. A letter that is none of the keys is held longer, and then does nothing: a person who types slowly would else answer with the second
//! letter of a word.

use std::time::Duration;

/// For this long nothing must follow a letter before it decides. A person who writes a word is faster.
const HOLD: Duration = Duration::from_millis(200);
/// For this long the letter after one that is none of the keys continues a word.
const WORD: Duration = Duration::from_millis(1000);

/// What a held letter would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Held {
    /// It decides.
    Answer(char),
    /// It is none of the keys.
    Unknown(char),
}

impl Held {
    fn letter(self) -> char {
        match self {
            Self::Answer(letter) | Self::Unknown(letter) => letter,
        }
    }
}

/// The letter that waits, if there is one.
#[derive(Debug, Default)]
pub(super) struct Hold(Option<(Held, Duration)>);

impl Hold {
    /// Begins to wait with a letter.
    pub(super) fn begin(&mut self, now: Duration, held: Held) {
        let time = if matches!(held, Held::Answer(_)) { HOLD } else { WORD };
        self.0 = Some((held, now + time));
    }

    /// The letter that waits, as it was typed.
    pub(super) fn held(&self) -> Option<Held> {
        self.0.map(|(held, _)| held)
    }

    /// Returns the letter: it does nothing.
    pub(super) fn take_back(&mut self) -> Option<(char, Held)> {
        self.0.take().map(|(held, _)| (held.letter(), held))
    }

    /// Returns the letter once nothing has followed it.
    pub(super) fn due(&mut self, now: Duration) -> Option<Held> {
        self.0.take_if(|(_, until)| now >= *until).map(|(held, _)| held)
    }
}
