//! A small file of JSON lines in Talaria's home, for the person alone. It is replaced as a whole, so it is never half there; of two
//! programs that write at the same moment one line may be lost, and nothing else.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::NamedTempFile;

/// A file that is larger than this is not ours.
const LARGEST: u64 = 32 * 1024 * 1024;

/// The lines of the file, oldest first. An unreadable line is skipped, and a missing file is empty. An unreadable file must
/// not be replaced: its content would be lost.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Vec<T>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

/// Replaces the content by these lines.
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
