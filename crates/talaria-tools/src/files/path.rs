//! What a path of a model means: the file itself, all links followed, and what kind of thing is there.
//!
//! A file need not exist yet, and neither need the directories above it. Reads the file system and changes nothing.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;

/// A path as the model wrote it and the file that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPath {
    /// Absolute, links and all.
    pub named: PathBuf,
    /// Where it leads: no link is left in it.
    pub real: PathBuf,
    /// The file type.
    pub kind: FileKind,
}

/// Type of the file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Nothing.
    Missing,
    /// A file.
    Regular,
    /// A directory.
    Directory,
    /// A device, a pipe or a socket, by its name for people.
    Special(&'static str),
}

/// Why a path names no file.
#[derive(Debug, thiserror::Error)]
pub enum PathRefusal {
    /// It is empty, or has a zero byte.
    #[error("the path is empty or has a zero byte")]
    NotAPath,
    /// Links that lead in a circle.
    #[error("cannot follow {0}: its symbolic links form a circle")]
    Circle(String),
    /// It cannot be looked at.
    #[error("cannot look at {path}: {source}")]
    Unreadable {
        /// The path.
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// Resolves a path of a model. Relative ones are seen from `cwd`, which is absolute; `~` is `home`.
pub fn resolve_path(cwd: &Path, home: Option<&Path>, text: &str) -> Result<ResolvedPath, PathRefusal> {
    if text.is_empty() || text.contains('\0') {
        return Err(PathRefusal::NotAPath);
    }
    let named = match (text.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => cwd.join(text),
    };
    let real = real_path(&named)?;
    let kind = match fs::symlink_metadata(&real) {
        Ok(found) => kind_of(found.file_type()),
        Err(error) if is_absent(&error) => FileKind::Missing,
        Err(source) => return Err(PathRefusal::Unreadable { path: named.display().to_string(), source }),
    };
    Ok(ResolvedPath { named, real, kind })
}

/// Follows every link of a path, part by part, as the kernel does; what does not exist is taken as it is written.
pub(super) fn real_path(path: &Path) -> Result<PathBuf, PathRefusal> {
    let mut todo: Vec<PathBuf> = parts(path);
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = todo.pop() {
        match part.components().next() {
            Some(Component::ParentDir) => drop(real.pop()),
            Some(Component::Normal(name)) => {
                let next = real.join(name);
                match fs::read_link(&next) {
                    Ok(target) => {
                        links += 1;
                        if links > MOST_LINKS {
                            return Err(PathRefusal::Circle(path.display().to_string()));
                        }
                        if target.is_absolute() {
                            real = PathBuf::from("/");
                        }
                        todo.extend(parts(&target));
                    }
                    // No link, or nothing at all.
                    Err(error) if error.kind() == io::ErrorKind::InvalidInput || is_absent(&error) => {
                        real = next;
                    }
                    Err(source) => {
                        return Err(PathRefusal::Unreadable { path: path.display().to_string(), source });
                    }
                }
            }
            _ => {}
        }
    }
    Ok(real)
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let mut parts: Vec<PathBuf> = path.components().map(|part| PathBuf::from(part.as_os_str())).collect();
    parts.reverse();
    parts
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn kind_of(kind: fs::FileType) -> FileKind {
    if kind.is_file() {
        FileKind::Regular
    } else if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_fifo() {
        FileKind::Special("a pipe")
    } else if kind.is_socket() {
        FileKind::Special("a socket")
    } else {
        FileKind::Special("a device")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_part_by_part_and_missing_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("real/deep")).unwrap();
        symlink("real/deep", base.join("link")).unwrap();
        symlink("missing/file", base.join("dangling")).unwrap();
        symlink("round", base.join("round")).unwrap();
        let real = |text: &str| resolve_path(&base, Some(&base), text).map(|found| (found.real, found.kind));
        assert_eq!(real("link/new.txt").unwrap(), (base.join("real/deep/new.txt"), FileKind::Missing));
        // The kernel follows the link before it goes up.
        assert_eq!(real("link/../x").unwrap(), (base.join("real/x"), FileKind::Missing));
        assert_eq!(real("dangling").unwrap(), (base.join("missing/file"), FileKind::Missing));
        assert_eq!(real("~/real").unwrap(), (base.join("real"), FileKind::Directory));
        assert_eq!(real("/dev/null").unwrap().1, FileKind::Special("a device"));
        assert!(matches!(real("round"), Err(PathRefusal::Circle(_))));
        assert!(matches!(real(""), Err(PathRefusal::NotAPath)));
    }
}
