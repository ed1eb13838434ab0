//! A small file of JSON lines in Talaria's home, for the person alone. It is replaced as a whole, so it is never half there; of two
//! programs that write at the same moment one line may be lost, and nothing else.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::NamedTempFile;

/// A file that is larger than this is not ours.
const LARGEST: u64 = 32 * 1024 * 1024;

/// What the file holds, the oldest first. A line that cannot be read is left out, and a file that cannot be is none.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Vec<T> {
    let is_small = fs::metadata(path).is_ok_and(|metadata| metadata.len() <= LARGEST);
    let text = if is_small { fs::read_to_string(path).unwrap_or_default() } else { String::new() };
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Puts these lines in the place of what it held.
pub(crate) fn replace<T: Serialize>(path: &Path, lines: &[T]) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o600))?;
    for line in lines {
        serde_json::to_writer(&mut file, line)?;
        file.write_all(b"\n")?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
