//! One planned change of a file: recorded before it happens, applied by one rename, and recognised afterwards.
//!
//! The digests before and after are what an engine records first. After a crash `fate` compares them with the file: it
//! has one of the two contents, because a rename has no middle, or another program wrote meanwhile, and then it is not
//! known. `apply` reaches the file without following a link, so that a command that turns a directory into a link between
//! the judgement and the write cannot lead it elsewhere. Blocks: call it from a thread that may.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use talaria_home::user_file::{UserFile, UserFileError};

use super::digest::ContentDigest;
use super::path::ResolvedPath;

/// A change that is about to be made. Has no content: it is stored beside the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedChange {
    /// The file itself, links followed.
    pub path: PathBuf,
    /// What it is before; none if there is no file.
    pub before: Option<ContentDigest>,
    /// What it is to become.
    pub after: ContentDigest,
}

/// Result of a planned change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeFate {
    /// The file has the new content.
    Landed,
    /// The file has the old content, or is still not there.
    NotLanded,
    /// The file has neither: another program changed it, or it cannot be read.
    Unknown,
}

/// Why a change was not made. The file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum FileChangeError {
    /// It is not what was read.
    #[error("{0} was changed by another program since it was read; read it again")]
    Changed(String),
    /// Something on the way to it is not the directory that it was.
    #[error("cannot reach {path}: {source}")]
    Unreachable {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// It cannot be read or written.
    #[error("{0}")]
    File(String),
}

impl PlannedChange {
    /// Plans to give a file another text. `before` is what was read of it.
    pub fn new(path: &ResolvedPath, before: Option<&str>, after: &str) -> Self {
        let digest = |text: &str| ContentDigest::of(text.as_bytes());
        Self { path: path.real.clone(), before: before.map(digest), after: digest(after) }
    }

    /// Makes the change. After an error the file is as it was; after a crash it has the old or the new text.
    pub fn apply(&self, after: &str) -> Result<(), FileChangeError> {
        let shown = || self.path.display().to_string();
        let unreachable = |source| FileChangeError::Unreachable { path: shown(), source };
        let name = self.path.file_name().ok_or_else(|| unreachable(io::ErrorKind::InvalidInput.into()))?;
        let parent = self.path.parent().unwrap_or(Path::new("/"));
        let directory = PinnedDirectory::reach(parent).map_err(unreachable)?;
        let path = directory.path.join(name);
        // The path of the pinned directory means nothing to people.
        let failed = |error: &UserFileError| {
            FileChangeError::File(error.to_string().replace(&path.display().to_string(), &shown()))
        };
        let locked = UserFile::lock(&path).map_err(|error| failed(&error))?;
        let found = locked.text().map(|text| ContentDigest::of(text.as_bytes()));
        // A link in its place would be followed by the lock.
        if found != self.before || locked.real_path() != path {
            return Err(FileChangeError::Changed(shown()));
        }
        locked.with_usual_mode().replace(after).map_err(|error| match error {
            UserFileError::Changed(_) => FileChangeError::Changed(shown()),
            error => failed(&error),
        })
    }

    /// Its result, by the file alone.
    pub fn fate(&self) -> ChangeFate {
        let Ok(found) = UserFile::read(&self.path) else { return ChangeFate::Unknown };
        let found = found.map(|text| ContentDigest::of(text.as_bytes()));
        if found.as_ref() == Some(&self.after) {
            ChangeFate::Landed
        } else if found == self.before {
            ChangeFate::NotLanded
        } else {
            ChangeFate::Unknown
        }
    }
}

/// A directory that was reached without following a link, and stays the same whatever its name becomes.
struct PinnedDirectory {
    path: PathBuf,
    _descriptor: Option<File>,
}

impl PinnedDirectory {
    /// Opens a directory part by part and creates those that are missing.
    #[cfg(target_os = "linux")]
    fn reach(directory: &Path) -> io::Result<Self> {
        use std::os::fd::{AsRawFd as _, OwnedFd};
        use std::path::Component;

        use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
        use rustix::io::Errno;

        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut at: OwnedFd = openat(CWD, "/", flags, Mode::empty())?;
        for part in directory.components() {
            let Component::Normal(name) = part else { continue };
            at = match openat(&at, name, flags, Mode::empty()) {
                Err(Errno::NOENT) => {
                    match mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    openat(&at, name, flags, Mode::empty())?
                }
                opened => opened?,
            };
        }
        let path = PathBuf::from(format!("/proc/self/fd/{}", at.as_raw_fd()));
        Ok(Self { path, _descriptor: Some(File::from(at)) })
    }

    /// Elsewhere a descriptor has no path. The directory is compared after it was created, and the lock compares again.
    #[cfg(not(target_os = "linux"))]
    fn reach(directory: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(directory)?;
        match directory.canonicalize()? == directory {
            true => Ok(Self { path: directory.to_owned(), _descriptor: None }),
            false => Err(io::Error::other("a link is on the way")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::files::{FileKind, resolve_path};

    fn resolved(folder: &Path, name: &str) -> ResolvedPath {
        resolve_path(&folder.canonicalize().unwrap(), None, name).unwrap()
    }

    #[test]
    fn a_change_lands_once_and_is_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let path = resolved(folder.path(), "new/dir/file.txt");
        let change = PlannedChange::new(&path, None, "one\n");
        assert_eq!(change.fate(), ChangeFate::NotLanded);
        change.apply("one\n").unwrap();
        assert_eq!(change.fate(), ChangeFate::Landed);
        assert!(matches!(change.apply("one\n"), Err(FileChangeError::Changed(_))), "never twice");
        let next = PlannedChange::new(&path, Some("one\n"), "two\n");
        assert_eq!((next.fate(), change.fate()), (ChangeFate::NotLanded, ChangeFate::Landed));
        fs::write(&path.real, "by an editor\n").unwrap();
        let error = next.apply("two\n").unwrap_err().to_string();
        assert!(
            error.ends_with("was changed by another program since it was read; read it again"),
            "{error}"
        );
        assert!(error.starts_with(&path.real.display().to_string()), "{error}");
        assert_eq!(
            (next.fate(), fs::read_to_string(&path.real).unwrap().as_str()),
            (ChangeFate::Unknown, "by an editor\n")
        );
    }

    #[test]
    fn mode_and_links_are_kept_and_a_new_file_has_the_usual_mode() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::write(base.join("script"), "a\n").unwrap();
        fs::set_permissions(base.join("script"), fs::Permissions::from_mode(0o750)).unwrap();
        symlink("script", base.join("link")).unwrap();
        let path = resolved(&base, "link");
        PlannedChange::new(&path, Some("a\n"), "b\n").apply("b\n").unwrap();
        assert_eq!(fs::read_link(base.join("link")).unwrap(), Path::new("script"));
        let mode = |name: &str| fs::metadata(base.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (fs::read_to_string(base.join("script")).unwrap().as_str(), mode("script")),
            ("b\n", 0o750)
        );
        fs::write(base.join("usual"), "").unwrap();
        PlannedChange::new(&resolved(&base, "new"), None, "x\n").apply("x\n").unwrap();
        assert_eq!(mode("new"), mode("usual"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_directory_that_became_a_link_meanwhile_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in ["inside", "outside"] {
            fs::create_dir(base.join(name)).unwrap();
            fs::write(base.join(name).join("file"), "a\n").unwrap();
        }
        let path = resolved(&base, "inside/file");
        assert_eq!(path.kind, FileKind::Regular);
        let change = PlannedChange::new(&path, Some("a\n"), "b\n");
        fs::rename(base.join("inside"), base.join("moved")).unwrap();
        symlink("outside", base.join("inside")).unwrap();
        assert!(matches!(change.apply("b\n"), Err(FileChangeError::Unreachable { .. })));
        // The same with the file itself.
        fs::remove_file(base.join("moved/file")).unwrap();
        symlink(base.join("outside/file"), base.join("moved/file")).unwrap();
        let moved = PlannedChange { path: base.join("moved/file"), ..change };
        assert!(matches!(moved.apply("b\n"), Err(FileChangeError::Changed(_))));
        assert_eq!(fs::read_to_string(base.join("outside/file")).unwrap(), "a\n");
    }
}
