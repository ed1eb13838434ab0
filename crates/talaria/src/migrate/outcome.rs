//! The last word of a run: what was done to which file.

use std::path::Path;

use serde::Serialize;

/// What was done.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    /// What was done.
    pub(crate) outcome: Done,
    /// The file.
    pub(crate) file: String,
    /// Where the text that was replaced is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backup: Option<String>,
    /// What was changed since and was left alone by an undo.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(crate) left: &'a [String],
    /// The exit code.
    pub(crate) exit: u8,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Done {
    /// The file was replaced.
    Written,
    /// The file is as it should be.
    Unchanged,
    /// Only shown.
    DryRun,
    /// It was not confirmed.
    NotConfirmed,
    /// The bytes from before are there again.
    Restored,
    /// What was added is out, entry by entry.
    TakenOut,
    /// There was nothing to undo.
    NothingToUndo,
}

impl<'a> Outcome<'a> {
    /// Says what was done to a file.
    pub(crate) fn new(outcome: Done, file: &Path, exit: u8) -> Self {
        Self { kind: "outcome", outcome, file: file.display().to_string(), backup: None, left: &[], exit }
    }
}
