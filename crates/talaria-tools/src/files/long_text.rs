//! A text that is too long for a model, as a file that its file tools can read: output of a command, a result, a paste.
//!
//! The files of a conversation are in a directory of their own in Talaria's home, so that no conversation reads those of another.
//! Secrets are masked, as in everything that is stored. Called by the runner and the engine.

use std::io;
use std::path::{Path, PathBuf};

use talaria_guard::redact::redact;
use talaria_home::home::ensure_dir;
use talaria_home::user_file::UserFile;

/// Writes a text, whole or not at all, and returns where it is. The same text under the same name changes nothing.
pub fn keep_long_text(directory: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    ensure_dir(directory).map_err(io::Error::other)?;
    let path = directory.join(name);
    let replaced = UserFile::lock(&path).and_then(|file| file.replace(&redact(text)));
    replaced.map_err(io::Error::other)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_private_and_masked_and_written_once() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("long-texts/s");
        let text = "line\nsk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD\n";
        let path = keep_long_text(&directory, "a.txt", text).unwrap();
        assert_eq!(keep_long_text(&directory, "a.txt", text).unwrap(), path);
        let written = std::fs::read_to_string(&path).unwrap();
        assert!(written.starts_with("line\n") && !written.contains("abcdefghijklmnop"), "{written}");
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
