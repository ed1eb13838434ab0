//! One engine per home: the process that holds the lock file. The file names the holder, for the message to a second
//! one.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The right to be the engine of a home; ends with the process at the latest.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Who holds a home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// Its version of Talaria.
    pub version: String,
}

/// Why the right was not had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another engine has it.
    #[error("another engine holds this home: {}", holder_words(.0.as_ref()))]
    Held(Option<Holder>),
    /// The file cannot be used.
    #[error("cannot use {}: {cause}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
}

impl Lock {
    /// Takes the lock and records who has it. Does not wait.
    pub fn take(path: &Path, holder: &Holder) -> Result<Self, LockError> {
        let failed = |cause| LockError::File { path: path.to_owned(), cause };
        let open = File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
        let mut file = open.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Err(LockError::Held(read(&mut file))),
            Err(std::fs::TryLockError::Error(cause)) => return Err(failed(cause)),
        }
        write(&mut file, holder).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

/// Who holds a home, as far as the file says.
pub fn holder(path: &Path) -> Option<Holder> {
    let mut file = File::open(path).ok()?;
    match file.try_lock_shared() {
        Ok(()) => None,
        Err(_) => read(&mut file),
    }
}

/// Returns whether the lock is held now.
pub fn is_locked(path: &Path) -> bool {
    File::open(path)
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)))
}

fn read(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn write(file: &mut File, holder: &Holder) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(serde_json::to_string(holder)?.as_bytes())
}

fn holder_words(holder: Option<&Holder>) -> String {
    match holder {
        Some(Holder { pid, version }) => format!("process {pid}, Talaria {version}"),
        None => "it does not say who it is".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_one_is_told_who_was_first() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("engine.lock");
        assert_eq!(holder(&path), None);
        let who = |pid| Holder { pid, version: "1.2.3".to_owned() };
        let first = Lock::take(&path, &who(7)).unwrap();
        let error = Lock::take(&path, &who(8)).unwrap_err();
        assert_eq!(error.to_string(), "another engine holds this home: process 7, Talaria 1.2.3");
        assert_eq!(holder(&path), Some(who(7)));
        drop(first);
        assert_eq!(holder(&path), None, "what a dead engine wrote says nothing");
        assert!(Lock::take(&path, &who(9)).is_ok());
    }
}
