//! What a change of a file looks like in an event: the content of a new file, a unified diff of another one.

use std::path::Path;

use similar::TextDiff;
use talaria_core::item::{FileAction, FileChange};

/// Lines around a change.
const CONTEXT: usize = 3;

/// Describes a change of one file.
pub(crate) fn describe(path: &Path, before: Option<&str>, after: &str) -> FileChange {
    let path = path.display().to_string();
    let (action, diff) = match before {
        None => (FileAction::Add, after.to_owned()),
        Some(before) => {
            let diff = TextDiff::from_lines(before, after);
            (FileAction::Update, diff.unified_diff().context_radius(CONTEXT).to_string())
        }
    };
    FileChange { path, action, move_to: None, diff }
}
