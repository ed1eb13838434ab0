//! Adds to what a thread reports what only its file does: 0.130 reports neither the commands of a turn that has ended
//! nor the model that a turn runs with.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use talaria_codex_proto::rollout::{self, Rollout, Untold};
use talaria_codex_proto::turn::ModelSettings;
use talaria_codex_proto::wire::history::History;
use talaria_codex_proto::wire::notification::TurnStatus;
use talaria_core::backoff::Backoff;
use talaria_core::gap::Extent;
use talaria_core::ids::TurnId;

/// The largest file that is read.
const LARGEST: u64 = 64 << 20;

/// How much of the end of a file is read for what a turn runs with, and for what was not reported of it.
const END: u64 = 4 << 20;
/// How often it is looked for, with pauses that double: five seconds in all.
const LOOKS: u32 = 10;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(5));
/// How often it is looked for what Codex did not report: 630 ms in all.
const UNTOLD_LOOKS: u32 = 7;

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

/// The settings of a turn, as soon as the file has them. They are written when the turn begins, so only the end is
/// read.
pub(super) async fn settings(path: &str, turn: &TurnId) -> Option<ModelSettings> {
    for look in 0..LOOKS {
        if look > 0 {
            tokio::time::sleep(BACKOFF.pause(look - 1)).await;
        }
        let (path, turn) = (path.to_owned(), turn.clone());
        let looking = tokio::task::spawn_blocking(move || {
            rollout::settings(&String::from_utf8_lossy(&read_end(Path::new(&path))?), &turn)
        });
        if let Ok(Some(found)) = looking.await {
            return Some(found);
        }
    }
    None
}

/// Unreported steps of an ended turn, as far as the end of the file has them. The turn's end is in the file when Codex
/// reports it, or a moment later; steps that are not written by then are unknown.
pub(super) async fn untold(path: &str, turn: &TurnId) -> Untold {
    let mut found = None;
    for look in 0..UNTOLD_LOOKS {
        if look > 0 {
            tokio::time::sleep(BACKOFF.pause(look - 1)).await;
        }
        let (path, turn) = (path.to_owned(), turn.clone());
        let looking = tokio::task::spawn_blocking(move || {
            rollout::read(&String::from_utf8_lossy(&read_end(Path::new(&path))?), &turn)
        });
        found = looking.await.ok().flatten();
        if found.as_ref().is_none_or(Rollout::is_ended) {
            break;
        }
    }
    found.map(Rollout::untold).unwrap_or_default()
}

fn read_end(path: &Path) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END))).ok()?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn read(path: &Path) -> Option<String> {
    let file = std::fs::metadata(path).ok()?;
    if !file.is_file() || file.len() > LARGEST {
        return None;
    }
    // A last line that is just being written may break off within a character.
    std::fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
