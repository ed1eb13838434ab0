//! `/diff`: what is not committed in the folder of the conversation, new files included. It is only read.

use talaria_engine::worktree::{UncommittedChanges, uncommitted};
use talaria_render::{StyledText, plain_line};

use super::super::errand::Place;
use crate::tasks::show_diff;
use crate::trouble::{Trouble, exit};

/// So much of a diff is shown.
const MOST: usize = 256 * 1024;
/// At most this many new files are named.
const NAMES: usize = 40;

/// Shows the changes.
pub(super) async fn run(place: &Place) -> Result<StyledText, Trouble> {
    let found = uncommitted(place.cwd.as_ref(), MOST).await;
    let changes =
        found.map_err(|error| Trouble::new(exit::FAILED, "cannot show the changes").because(error))?;
    let UncommittedChanges { diff, is_cut, new_files } = changes;
    if diff.trim().is_empty() && new_files.is_empty() {
        return Ok("nothing is changed since the last commit\n".into());
    }
    let mut text = StyledText::default();
    if !diff.trim().is_empty() {
        text.append(show_diff(&diff, place.context.look()));
    }
    if is_cut {
        text.append(format!("(the diff is longer than {MOST} bytes; the rest is not shown)\n").into());
    }
    if !new_files.is_empty() {
        text.append("new files, not yet added:\n".into());
        for name in new_files.iter().take(NAMES) {
            text.append(format!("  {}\n", plain_line(name)).into());
        }
        if let Some(more) = new_files.len().checked_sub(NAMES).filter(|more| *more > 0) {
            text.append(format!("  and {more} more\n").into());
        }
    }
    Ok(text)
}
