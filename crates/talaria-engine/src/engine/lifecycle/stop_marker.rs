//! The stop marker in the home: a person stopped the last engine; passive clients must not start another until
//! a command needs it.
//!
//! Without it an engine that was stopped looks like one that died, and a passive client would start the
//! next one. Left before the engine ends, removed by the next engine before it listens, so a home without an engine says
//! by its mark alone why there is none. Where `talaria stop` had to end Codex itself, because no engine lived, the mark
//! names those hosts: the next engine says of their turns what happened to them.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

const NAME: &str = "engine.stopped";

/// Was the last engine of this home ended by a person? Says nothing while an engine runs.
pub fn is_at_rest(home: &Path) -> bool {
    home.join(NAME).exists()
}

/// Leaves the mark, with the names of hosts that are ended without an engine. Without it the engine is started again by
/// passive clients, as if it had died.
pub(crate) fn begin(home: &Path, ended_hosts: &[String]) {
    let written =
        File::create(home.join(NAME)).and_then(|mut file| file.write_all(ended_hosts.join("\n").as_bytes()));
    if let Err(error) = written {
        tracing::warn!("cannot record that the engine was stopped: {error}");
    }
}

/// Removes the mark: an engine runs again. Returns the hosts that were ended while none did.
pub(crate) fn end(home: &Path) -> HashSet<String> {
    let text = fs::read_to_string(home.join(NAME)).unwrap_or_default();
    match fs::remove_file(home.join(NAME)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!("cannot record that the engine runs again: {error}");
        }
        _ => {}
    }
    text.lines().map(str::to_owned).collect()
}
