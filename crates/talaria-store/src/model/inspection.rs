//! What a look at a database from outside found.

/// What a look at the database found, if it is not damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inspection {
    /// There is no database yet.
    Missing,
    /// A writer died in the middle of a transaction; the next start rolls it back. Nothing was looked at.
    HotJournal,
    /// Every page was looked at, and all are sound.
    Sound,
    /// The time was up before every page was looked at; those that were are sound.
    SoundSoFar,
}
