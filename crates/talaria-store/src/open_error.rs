//! Why the database could not be opened. Whatever the reason, the file was not changed.

use std::io;
use std::path::{Path, PathBuf};

use talaria_core::next_step::NextStep;

use crate::error::StoreError;

/// Why the database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreOpenError {
    /// Its place cannot be written.
    #[error("{} cannot be written: {why}", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        why: String,
    },
    /// The directory or the file could not be made or read.
    #[error("cannot open {}: {cause}", path.display())]
    Unreachable {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        cause: io::Error,
    },
    /// There is no room even for an empty database.
    #[error("cannot open {}: the disk is full", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Something that is no file is in its place.
    #[error("{} is not a file", .0.display())]
    NotAFile(PathBuf),
    /// A file of something else is in its place.
    #[error("{} is not a database of Talaria", .0.display())]
    Foreign(PathBuf),
    /// A newer Talaria wrote it.
    #[error("{} was written by a newer Talaria: its version is {found}, this program knows {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// It is damaged; a copy was made.
    #[error("{} is damaged ({why}); a copy is in {}", path.display(), copy.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The copy.
        copy: PathBuf,
        /// The problem.
        why: String,
    },
    /// It is damaged; the file was only read.
    #[error("{} is damaged ({why})", path.display())]
    FoundDamaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: String,
    },
    /// It is damaged, and a copy could not be made.
    #[error("{} is damaged ({why}), and it could not be copied: {cause}", path.display())]
    DamagedAndNotCopied {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: String,
        /// Why there is no copy.
        cause: io::Error,
    },
    /// Another program locked it for longer than our timeout.
    #[error("another program keeps {} busy", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// SQLite refused for another reason.
    #[error("cannot open {}: {cause}", path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: StoreError,
    },
}

impl StoreOpenError {
    /// Next step for the user.
    pub fn next_step(&self) -> NextStep {
        let text = match self {
            Self::ReadOnly { .. } => {
                "make the place writable, or set TALARIA_HOME to a directory that you can write"
            }
            Self::Unreachable { .. } => {
                "remove the cause and try again, or set TALARIA_HOME to a directory that you can write"
            }
            Self::Full { .. } => "make room on the disk, or set TALARIA_HOME to a directory with room",
            Self::NotAFile(_) | Self::Foreign(_) => {
                "move it away, or set TALARIA_HOME to another directory; nothing of it was changed"
            }
            Self::Newer { .. } => "use the newer Talaria, or set TALARIA_HOME to another directory",
            Self::Damaged { .. } | Self::FoundDamaged { .. } => {
                "repair it with `sqlite3 FILE .recover`, or move it away to start with an empty one; the file is unchanged"
            }
            Self::DamagedAndNotCopied { .. } => "copy the file to a safe place yourself, then move it away",
            Self::Busy { .. } => "end the program that has the database open, then try again",
            Self::Store { cause, .. } => return cause.next_step(),
        };
        text.into()
    }

    pub(crate) fn of_io(path: &Path, cause: io::Error) -> Self {
        let path = path.to_owned();
        match cause.kind() {
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                Self::ReadOnly { path, why: cause.to_string() }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            io::ErrorKind::IsADirectory => Self::NotAFile(path),
            _ => Self::Unreachable { path, cause },
        }
    }

    /// Everything but damage, which asks for a copy.
    pub(crate) fn of_store(path: &Path, cause: StoreError) -> Self {
        let path = path.to_owned();
        match cause {
            StoreError::ReadOnly(why) => Self::ReadOnly { path, why },
            StoreError::Full => Self::Full { path },
            StoreError::Busy => Self::Busy { path },
            cause => Self::Store { path, cause },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_about_the_disk_is_told_in_its_own_words() {
        let of = |kind: io::ErrorKind| StoreOpenError::of_io(Path::new("/x/talaria.db"), kind.into());
        assert!(matches!(of(io::ErrorKind::ReadOnlyFilesystem), StoreOpenError::ReadOnly { .. }));
        assert!(matches!(of(io::ErrorKind::PermissionDenied), StoreOpenError::ReadOnly { .. }));
        assert!(matches!(of(io::ErrorKind::StorageFull), StoreOpenError::Full { .. }));
        assert!(matches!(of(io::ErrorKind::NotADirectory), StoreOpenError::Unreachable { .. }));
    }
}
