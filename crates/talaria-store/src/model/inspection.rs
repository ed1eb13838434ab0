//! Result of inspecting a database.

/// Result of inspecting an undamaged database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inspection {
    /// There is no database yet.
    Missing,
    /// A writer died in the middle of a transaction; the next start rolls it back. Nothing was checked.
    HotJournal,
    /// Every page was checked, and all are sound.
    Sound,
    /// The time limit passed before every page was checked; the checked ones are sound.
    SoundSoFar,
}
