//! Replaces a text file that belongs to the user: whole or not at all, and only as long as it is what was read.
//!
//! Owns the lock (on the directory, so that no lock file remains), the temporary file, the comparison before the exchange
//! of the two files, the exchange, and the comparison after it: an edit between the two comparisons is restored. A symbolic link
//! is kept: the file that it names is replaced and keeps its mode and, where that is allowed, its owner. A file that its owner
//! made read-only is not replaced, although a rename could. The caller owns the meaning of the text: `config set`, the runtime
//! switch, migration and import. Blocks; not for the engine's actors.

mod error;
mod find;
mod read;
mod stamp;
mod temporary;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::faults::blocking_point;
pub use error::UserFileError;
use read::Content;
pub use stamp::FileStamp;

/// How long to wait for the lock.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);
/// A file of the home is its owner's alone.
const PRIVATE: u32 = 0o600;

/// Names a file of the user; see [`UserFile::lock`].
#[derive(Debug)]
pub enum UserFile {}

/// A file that no other user of this module can change. Dropping it releases the lock and leaves the file unchanged.
#[derive(Debug)]
pub struct LockedUserFile {
    /// As it was asked for, possibly a link.
    named: PathBuf,
    /// The file itself.
    real: PathBuf,
    content: Option<Content>,
    directory: File,
    /// The mode of a file that does not exist yet, before the umask.
    new_mode: u32,
}

impl UserFile {
    /// Reads a file without a lock; none if there is no such file.
    pub fn read(path: &Path) -> Result<Option<String>, UserFileError> {
        Ok(Content::read(path)?.map(|content| content.text))
    }

    /// Takes the right to change a file and reads it. Its directory must exist.
    ///
    /// Waits for other processes for at most ten seconds, and removes the temporary files of crashed runs.
    pub fn lock(path: &Path) -> Result<LockedUserFile, UserFileError> {
        Self::lock_within(path, PATIENCE)
    }

    /// As [`UserFile::lock`], with the time to wait.
    pub fn lock_within(path: &Path, patience: Duration) -> Result<LockedUserFile, UserFileError> {
        let since = Instant::now();
        let read = |source| UserFileError::Read { path: path.to_owned(), source };
        let named = std::path::absolute(path).map_err(read)?;
        loop {
            let real = find::real(&named)?;
            let directory = open_directory(&real)?;
            while let Err(error) = directory.try_lock() {
                match error {
                    TryLockError::WouldBlock if since.elapsed() < patience => std::thread::sleep(PAUSE),
                    TryLockError::WouldBlock => return Err(UserFileError::Busy(real)),
                    TryLockError::Error(source) => return Err(UserFileError::Lock { path: real, source }),
                }
            }
            // A link that was turned elsewhere meanwhile would have locked the wrong directory.
            if find::real(&named)? == real {
                temporary::sweep(&real);
                let content = Content::read(&real)?;
                blocking_point("after:file-locked");
                return Ok(LockedUserFile { named, real, content, directory, new_mode: PRIVATE });
            }
            if since.elapsed() >= patience {
                return Err(UserFileError::Busy(real));
            }
        }
    }
}

impl LockedUserFile {
    /// Content of the file when it was locked; none if there is no such file.
    pub fn text(&self) -> Option<&str> {
        self.content.as_ref().map(|content| content.text.as_str())
    }

    /// Where the file is, all links followed.
    pub fn real_path(&self) -> &Path {
        &self.real
    }

    /// The mode of the file; none if there is no such file.
    pub fn mode(&self) -> Option<u32> {
        self.content.as_ref().map(|content| content.mode)
    }

    /// Creates a file that does not exist yet with the user's usual mode: for files of a project, not of a home.
    #[must_use]
    pub fn with_usual_mode(mut self) -> Self {
        self.new_mode = 0o666;
        self
    }

    /// Replaces the text.
    ///
    /// After an error the file is the old one, after a crash at any point the old or the new one, after `Ok` the new
    /// one. The same text again changes nothing.
    pub fn replace(self, new: &str) -> Result<(), UserFileError> {
        self.replace_with(new, |written, real, _| written.rename_over(real)).map(drop)
    }

    /// Replaces the text of a file that people edit while Talaria runs: an edit after the last comparison is restored. After a
    /// crash in between, the exchanged file is kept under a visible name. Returns the stamp of the new file; none if the text
    /// was the same.
    pub fn exchange(self, new: &str) -> Result<Option<FileStamp>, UserFileError> {
        self.replace_with(new, |written, real, old| written.take_place_of(real, old, new))
    }

    fn replace_with(
        self,
        new: &str,
        put: impl FnOnce(temporary::Temporary, &Path, Option<&str>) -> Result<(), UserFileError>,
    ) -> Result<Option<FileStamp>, UserFileError> {
        if self.text() == Some(new) {
            return Ok(None);
        }
        if let Some(content) = &self.content {
            content.check_writable(&self.real)?;
        }
        let (written, stamp) =
            temporary::Temporary::write(&self.real, new, self.content.as_ref(), self.new_mode)?;
        self.compare()?;
        blocking_point("after:file-compared");
        put(written, &self.real, self.text())?;
        blocking_point("after:file-renamed");
        self.keep_directory();
        Ok(Some(stamp))
    }

    /// Removes the file, if it is unchanged since it was read. A link to it is kept.
    pub fn remove(self) -> Result<(), UserFileError> {
        let Some(content) = &self.content else { return Ok(()) };
        content.check_writable(&self.real)?;
        self.compare()?;
        let path = self.real.clone();
        fs::remove_file(&self.real).map_err(|source| UserFileError::Write { path, source })?;
        blocking_point("after:file-removed");
        self.keep_directory();
        Ok(())
    }

    /// An editor knows nothing of our lock.
    fn compare(&self) -> Result<(), UserFileError> {
        let now = Content::read(&self.real)?;
        let same = now.as_ref().map(|now| &now.text) == self.content.as_ref().map(|then| &then.text);
        if same && find::real(&self.named)? == self.real {
            Ok(())
        } else {
            Err(UserFileError::Changed(self.real.clone()))
        }
    }

    /// Syncs the directory. The rename is done already, so an unsupported sync is no failure.
    fn keep_directory(&self) {
        let _ = self.directory.sync_all();
    }
}

/// Reads a file of the user without the right to change it; none if there is no such file. The same limits
/// apply.
pub fn read(path: &Path) -> Result<Option<String>, UserFileError> {
    Ok(Content::read(path)?.map(|content| content.text))
}

fn open_directory(real: &Path) -> Result<File, UserFileError> {
    let parent = real.parent().unwrap_or(Path::new("/"));
    File::open(parent).map_err(|source| UserFileError::Directory { path: parent.to_owned(), source })
}

#[cfg(test)]
mod tests;
