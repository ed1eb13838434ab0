//! Finds Codex for an engine, and remembers what it found for as long as the files are the same: `codex --version` takes
//! as long as a small turn.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::{CodexBinary, CodexSearch, LocateError, candidate, locate};

/// Maximum number of cached searches: each client has its own PATH.
const REMEMBERED: usize = 16;

/// Finds Codex, and remembers it.
#[derive(Debug, Default)]
pub struct CodexLocator(Mutex<HashMap<CodexSearch, Remembered>>);

#[derive(Debug)]
struct Remembered {
    binary: CodexBinary,
    /// The file that was found first, and the program that it starts.
    files: [(PathBuf, Option<FileStamp>); 2],
}

/// Changes when a file is replaced or written.
#[derive(Debug, PartialEq, Eq)]
struct FileStamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl CodexLocator {
    /// Finds Codex; asks it for its version unless the same file was asked before.
    pub async fn find(&self, search: &CodexSearch) -> Result<CodexBinary, LocateError> {
        let found = candidate(search);
        if let Some(found) = &found
            && let Some(binary) = self.remembered(search, found)
        {
            return Ok(binary);
        }
        let binary = locate(search).await?;
        // One that replaces another is not remembered: the other may become usable.
        if let (Some(found), None) = (found, &binary.passed_over) {
            self.remember(search, found, &binary);
        }
        Ok(binary)
    }

    fn remembered(&self, search: &CodexSearch, found: &Path) -> Option<CodexBinary> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Remembered { binary, files } = known.get(search)?;
        let is_same =
            |(path, stamp): &(PathBuf, Option<FileStamp>)| stamp.is_some() && *stamp == stamp_of(path);
        (files[0].0 == found && files.iter().all(is_same)).then(|| binary.clone())
    }

    fn remember(&self, search: &CodexSearch, found: PathBuf, binary: &CodexBinary) {
        let files = [found, binary.path.clone()].map(|path| {
            let stamp = stamp_of(&path);
            (path, stamp)
        });
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(search.clone(), Remembered { binary: binary.clone(), files });
    }
}

fn stamp_of(path: &Path) -> Option<FileStamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(FileStamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        length: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A program that counts how often it is asked for its version.
    fn program(directory: &Path, version: &str) -> PathBuf {
        let (path, asked) = (directory.join("codex"), directory.join("asked"));
        // A new file each time, as an upgrade makes one; writing to a program that runs fails.
        let fresh = directory.join("fresh");
        fs::write(&fresh, format!("#!/bin/sh\necho x >> {}\necho codex-cli {version}\n", asked.display()))
            .unwrap();
        fs::set_permissions(&fresh, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(&fresh, &path).unwrap();
        path
    }

    fn asked(directory: &Path) -> usize {
        fs::read_to_string(directory.join("asked")).unwrap_or_default().lines().count()
    }

    #[tokio::test]
    async fn the_same_file_is_asked_once_and_a_replaced_one_again() {
        let directory = tempfile::tempdir().unwrap();
        program(directory.path(), "0.166.0");
        let search = CodexSearch {
            explicit: None,
            path: Some(directory.path().into()),
            installed: directory.path().join("installed"),
        };
        let locator = CodexLocator::default();
        for _ in 0..3 {
            assert_eq!(locator.find(&search).await.unwrap().version.to_string(), "0.166.0");
        }
        assert_eq!(asked(directory.path()), 1);
        let replaced = program(directory.path(), "0.165.0");
        assert_eq!(locator.find(&search).await.unwrap().version.to_string(), "0.165.0");
        assert_eq!(asked(directory.path()), 2);
        fs::remove_file(replaced).unwrap();
        assert!(matches!(locator.find(&search).await, Err(LocateError::NotFound { .. })));
    }

    #[tokio::test]
    async fn one_that_comes_first_on_path_later_is_found() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        program(second.path(), "0.166.0");
        let path = std::env::join_paths([first.path(), second.path()]).unwrap();
        let search =
            CodexSearch { explicit: None, path: Some(path), installed: first.path().join("installed") };
        let locator = CodexLocator::default();
        assert_eq!(locator.find(&search).await.unwrap().version.to_string(), "0.166.0");
        program(first.path(), "0.165.0");
        assert_eq!(locator.find(&search).await.unwrap().version.to_string(), "0.165.0");
    }
}
