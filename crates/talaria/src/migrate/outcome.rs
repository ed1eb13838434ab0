//! The final report of a run: the action and the file.

use std::path::Path;

use serde::Serialize;

/// The action.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    /// The action.
    pub(crate) outcome: Done,
    pub(crate) file: String,
    /// Backup of the replaced text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backup: Option<String>,
    /// Entries that were changed since, and kept by an undo.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(crate) left: &'a [String],
    /// The exit code.
    pub(crate) exit: u8,
}

/// The action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Done {
    /// The file was replaced.
    Written,
    /// The file is as it should be.
    Unchanged,
    /// Only shown.
    DryRun,
    NotConfirmed,
    /// The original bytes are restored.
    Restored,
    /// The additions are removed, entry by entry.
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
