//! Why a file of the user was not read or not replaced, with the message for the user.

use std::io;
use std::path::PathBuf;

use talaria_core::next_step::NextStep;

/// Why a file was left as it is.
#[derive(Debug, thiserror::Error)]
pub enum UserFileError {
    /// The directory of the file does not exist or is not readable.
    #[error("cannot open the directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process holds the lock for too long.
    #[error("{} is being changed by another process", .0.display())]
    Busy(PathBuf),
    /// This file system has no locks.
    #[error("cannot lock the directory of {}: {source}", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Links that lead nowhere.
    #[error("cannot read {}: its symbolic links go round in a circle", .0.display())]
    Links(PathBuf),
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A directory in its place.
    #[error("cannot read {}: it is a directory", .0.display())]
    IsDirectory(PathBuf),
    /// A pipe, a device or a socket in its place.
    #[error("cannot read {}: it is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// It is no text.
    #[error("cannot read {}: line {line} is not UTF-8", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Where.
        line: usize,
    },
    /// It is too long to be what it should be.
    #[error("cannot read {}: it has {size} bytes, more than {most}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How long it is.
        size: u64,
        /// How long it may be.
        most: u64,
    },
    /// Its owner, or the file system, does not want it changed.
    #[error("cannot change {}: it is read-only", .0.display())]
    ReadOnly(PathBuf),
    /// It is not what was read any more.
    #[error("cannot change {}: another program changed it meanwhile", .0.display())]
    Changed(PathBuf),
    /// The new one cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl UserFileError {
    /// What to do next.
    pub fn next_step(&self) -> NextStep {
        NextStep::from(match self {
            Self::Directory { .. } => "create the directory, or check its permissions",
            Self::Busy(_) => "wait until it is done, then run the command again",
            Self::Lock { .. } => "put the file on a file system that has locks",
            Self::Links(_) => "remove the link and put a file in its place",
            Self::Read { .. } => "check the permissions of the file",
            Self::IsDirectory(_) | Self::NotAFile(_) | Self::TooLarge { .. } => {
                "move it away, or put a TOML file in its place"
            }
            Self::NotUtf8 { .. } => "correct that line, or move the file away",
            Self::ReadOnly(_) => "make it writable first, for example with chmod u+w",
            Self::Changed(_) => "look at the file, then run the command again",
            Self::Write { .. } => {
                "check the free space and the permissions of the directory; the file is as it was"
            }
        })
    }
}
