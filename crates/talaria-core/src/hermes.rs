//! What a person brings along from Hermes, as data: its configuration, its memories and skills, its conversations.
//!
//! Nothing here reads a file or writes one; the engine does both. What comes in was written by others and is believed
//! in nothing: names may be hostile, values secret, rows half there. Secrets never get into what comes out, only the
//! names under which they stood.
//!
//! | file | idea |
//! |---|---|
//! | `past` | rows of its database as finished turns |

mod past;
#[cfg(test)]
mod tests;

pub use past::{LONGEST_TEXT, PastMessage, PastTurn, Row, message, turns};

/// The name of the program, as rows and reports say it.
pub const PROGRAM: &str = "hermes";
