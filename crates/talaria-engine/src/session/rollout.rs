//! Adds to what a thread tells what only its file does: 0.130 does not tell the commands of a turn that has ended.

use std::path::Path;

use talaria_core::ids::TurnId;
use talaria_core::rollout;
use talaria_core::wire::history::{Extent, History};
use talaria_core::wire::notification::TurnStatus;

/// The largest file that is read.
const LARGEST: u64 = 64 << 20;

/// Adds to a turn that has ended; without a name it is the last one. A file that cannot be read adds nothing.
pub(super) async fn complete(mut history: History, turn: Option<&TurnId>, path: Option<&str>) -> History {
    let at = match turn {
        Some(id) => history.turns.iter().position(|turn| turn.id == *id),
        None => history.turns.len().checked_sub(1),
    };
    let (Some(at), Some(path)) = (at, path) else { return history };
    let told = &history.turns[at];
    if told.status == TurnStatus::InProgress || history.extent(told) == Extent::Steps {
        return history;
    }
    let path = path.to_owned();
    let text = tokio::task::spawn_blocking(move || read(Path::new(&path))).await.ok().flatten();
    let turn = &mut history.turns[at];
    if let Some(found) = text.and_then(|text| rollout::read(&text, &turn.id)) {
        rollout::complete(turn, &found);
    }
    history
}

fn read(path: &Path) -> Option<String> {
    let file = std::fs::metadata(path).ok()?;
    if !file.is_file() || file.len() > LARGEST {
        return None;
    }
    // A last line that is just being written may break off within a character.
    std::fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
