//! A mark in the home: a person ended the last engine and wants it to stay down until something is asked for.
//!
//! Without it nobody can tell an engine that was stopped from one that died, and whoever only looks on would start the
//! next one. Left before the engine ends, removed by the next engine before it listens, so a home without an engine says
//! by its mark alone why there is none.

use std::fs::{self, File};
use std::io;
use std::path::Path;

const NAME: &str = "engine.stopped";

/// Was the last engine of this home ended by a person? Says nothing while an engine runs.
pub fn is_at_rest(home: &Path) -> bool {
    home.join(NAME).exists()
}

/// Leaves the mark. Without it the engine is started again by whoever looks on, as if it had died.
pub(super) fn begin(home: &Path) {
    if let Err(error) = File::create(home.join(NAME)) {
        tracing::warn!("cannot write down that the engine was stopped: {error}");
    }
}

/// Removes the mark: an engine runs again.
pub(super) fn end(home: &Path) {
    match fs::remove_file(home.join(NAME)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!("cannot write down that the engine runs again: {error}");
        }
        _ => {}
    }
}
