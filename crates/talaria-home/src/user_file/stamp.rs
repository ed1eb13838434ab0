//! Recognizes a file that was written here and that no one changed since.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

/// Identifies a file and its last change: truncating, writing or replacing the file changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    device: u64,
    inode: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl FileStamp {
    /// Reads the stamp of the file at this path, all links followed.
    pub fn read(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(|found| Self::of(&found))
    }

    /// Stamps a file that is complete. The kernel's own time may be some milliseconds coarse, and would be the same after a
    /// change directly afterwards.
    pub(super) fn set(file: &File) -> io::Result<Self> {
        // A file system without such times keeps its own.
        let _ = file.set_modified(SystemTime::now());
        file.metadata().map(|found| Self::of(&found))
    }

    fn of(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            seconds: found.mtime(),
            nanoseconds: found.mtime_nsec(),
        }
    }
}
