//! The input history across conversations, in Talaria's home: private, redacted, and bounded.
//!
//! One JSON string per line, since what is typed may have several.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use talaria_guard::redact::redact;

use crate::lines_file;

/// At most this many lines are kept.
const LINES: usize = 1000;
/// A longer line is not stored: no one searches for a pasted file here.
const LONGEST: usize = 16 * 1024;

/// The file.
#[derive(Debug)]
pub(crate) struct History {
    path: PathBuf,
    /// Locked while it is written.
    writing: Mutex<()>,
}

impl History {
    pub(crate) fn in_home(root: &Path) -> Self {
        Self { path: root.join("chat_history.jsonl"), writing: Mutex::new(()) }
    }

    /// The lines, oldest first. An unreadable file counts as empty.
    pub(crate) fn read(&self) -> Vec<String> {
        let mut lines = self.stored_lines().unwrap_or_default();
        lines.drain(..lines.len().saturating_sub(LINES));
        lines
    }

    fn stored_lines(&self) -> io::Result<Vec<String>> {
        lines_file::read(&self.path)
    }

    /// Adds what was typed, unless it was typed last already.
    pub(crate) fn add(&self, line: &str) -> io::Result<()> {
        let line = redact(line);
        if line.trim().is_empty() || line.len() > LONGEST {
            return Ok(());
        }
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = self.stored_lines()?;
        if lines.last().is_some_and(|last| *last == line) {
            return Ok(());
        }
        lines.push(line.into_owned());
        lines.drain(..lines.len().saturating_sub(LINES));
        lines_file::replace(&self.path, &lines)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_was_typed_is_kept_for_its_owner_without_secrets_and_bounded() {
        let home = tempfile::tempdir().unwrap();
        let history = History::in_home(home.path());
        assert!(history.read().is_empty());
        let secret = format!("sk-{}", "proj-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6");
        for line in ["two\nlines", "again", "again", "  ", &format!("use {secret}")] {
            history.add(line).unwrap();
        }
        let kept = history.read();
        assert_eq!(kept[..2], ["two\nlines", "again"]);
        assert!(kept.len() == 3 && !kept[2].contains(&secret), "{kept:?}");
        let mode = fs::metadata(&history.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        lines_file::replace(&history.path, &vec!["x"; LINES]).unwrap();
        history.add("last").unwrap();
        assert_eq!((history.read().len(), history.read().last().map(String::as_str)), (LINES, Some("last")));
        history.add(&"x".repeat(LONGEST + 1)).unwrap();
        assert_eq!(history.read().last().map(String::as_str), Some("last"));
    }

    #[test]
    fn a_damaged_file_loses_only_its_damaged_lines() {
        let home = tempfile::tempdir().unwrap();
        let history = History::in_home(home.path());
        fs::write(&history.path, "\"a\"\n{ broken\n\"b\"\n").unwrap();
        assert_eq!(history.read(), ["a", "b"]);
        fs::write(&history.path, b"\"a\"\n\"\xff\"\n\"b\"\n").unwrap();
        history.add("c").unwrap();
        assert_eq!(history.read(), ["a", "b", "c"], "one bad byte");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_replaced() {
        let home = tempfile::tempdir().unwrap();
        let history = History::in_home(home.path());
        // Not even root can read a name that leads nowhere but to itself.
        std::os::unix::fs::symlink(&history.path, &history.path).unwrap();
        assert!(history.add("new").is_err() && history.read().is_empty());
        assert!(fs::symlink_metadata(&history.path).unwrap().is_symlink(), "it is as it was");
    }
}
