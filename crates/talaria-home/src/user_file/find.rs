//! Follows the links of a dotfile to the file itself, which need not exist.

use std::io;
use std::path::{Path, PathBuf};

use super::UserFileError;

/// As many as the kernel follows.
const MOST_LINKS: usize = 40;

/// Resolves all links; the target of a link need not exist yet.
pub(super) fn real(path: &Path) -> Result<PathBuf, UserFileError> {
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&at) {
            Ok(target) => at = at.parent().unwrap_or(Path::new("/")).join(target),
            // There is something, and it is no link.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(at),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(at),
            Err(source) => return Err(UserFileError::Read { path: path.to_owned(), source }),
        }
    }
    Err(UserFileError::Links(path.to_owned()))
}
