//! Who has the keyboard while a request is shown: the panel or the input line.
//!
//! A key that was meant for the input line never answers. The panel has the keyboard from the beginning only if the
//! input line is empty, and not before it has been on the screen for a moment; earlier input is for the input line,
//! which keeps the keyboard. After that only Ctrl-G moves it to the panel.

use std::time::Duration;

/// So long a question is on the screen before a key can answer it.
const MOMENT: Duration = Duration::from_millis(500);

/// Who has the keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grip {
    /// The input line.
    Line,
    /// The panel, because nothing was being typed when it appeared.
    Offered,
    /// The panel, because the person said so.
    Taken,
}

/// Target of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Route {
    /// To the input line.
    Line,
    /// To the panel.
    Panel,
    /// Nowhere: the question has not been seen yet.
    Nowhere,
}

/// Has a question that is on the screen since then been there for a moment?
pub(super) fn is_seen(shown_at: Option<Duration>, now: Duration) -> bool {
    shown_at.is_some_and(|at| now >= at + MOMENT)
}

impl Grip {
    /// Target of a key now, if the question has been on the screen since then.
    pub(super) fn route(self, shown_at: Option<Duration>, now: Duration) -> Route {
        let is_seen = is_seen(shown_at, now);
        match self {
            Self::Line => Route::Line,
            Self::Offered if is_seen => Route::Panel,
            Self::Offered => Route::Line,
            Self::Taken if is_seen => Route::Panel,
            Self::Taken => Route::Nowhere,
        }
    }
}
