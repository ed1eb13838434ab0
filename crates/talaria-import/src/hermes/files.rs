//! Which files would be copied. Links are not followed, neither there nor here; a file that is here is never
//! overwritten.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::plain_file;

/// The longest file, all files together, their number, and how deep they may lie.
const LONGEST: u64 = 8 * 1024 * 1024;
const ALL: u64 = 256 * 1024 * 1024;
const MOST: usize = 10_000;
const DEEPEST: usize = 12;
/// Maximum number of skipped files in a report.
const NAMED: usize = 200;
/// Files that programs leave and that are no skill.
const LITTER: [&str; 4] = [".git", "__pycache__", "node_modules", ".hub"];

/// What becomes, or became, of the files of a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilesPlan {
    /// Those that are new here.
    pub copies: Vec<Copy>,
    /// How many are here already, with the same content.
    pub same: usize,
    /// Those that stay where they are.
    pub left: Vec<SkippedFile>,
    /// How many more stay than are named.
    pub more_left: usize,
}

/// A file that is new here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// Where it lies in Hermes's home.
    pub from: PathBuf,
    /// Its target, below Talaria's home.
    pub to: String,
    /// Its content.
    pub digest: String,
    /// Its permission bits.
    pub(super) mode: u32,
}

/// A file that is not copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedFile {
    /// Its path in Hermes's home.
    pub path: String,
    /// Why.
    pub why: String,
}

impl FilesPlan {
    pub(super) fn leave(&mut self, path: &str, why: impl Into<String>) {
        match self.left.len() {
            0..NAMED => self.left.push(SkippedFile { path: path.to_owned(), why: why.into() }),
            _ => self.more_left += 1,
        }
    }
}

/// Looks at one directory of Hermes's home.
pub(super) fn plan(source: &Path, name: &str, target: &Path) -> FilesPlan {
    let mut walk = Walk { plan: FilesPlan::default(), target, seen: 0, bytes: 0 };
    match fs::symlink_metadata(source.join(name)) {
        Ok(found) if found.is_dir() => walk.directory(&source.join(name), name, 0),
        Ok(_) => walk.plan.leave(name, "it is not a directory"),
        Err(_) => {}
    }
    walk.plan
}

struct Walk<'a> {
    plan: FilesPlan,
    target: &'a Path,
    seen: usize,
    bytes: u64,
}

impl Walk<'_> {
    fn directory(&mut self, path: &Path, name: &str, depth: usize) {
        if depth > DEEPEST {
            return self.plan.leave(name, format!("it lies more than {DEEPEST} directories deep"));
        }
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return self.plan.leave(name, format!("it cannot be read: {error}")),
        };
        let mut entries: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        entries.sort();
        for entry in entries {
            let Some(text) = entry.to_str() else {
                self.plan
                    .leave(&format!("{name}/{}", entry.to_string_lossy()), "its name is not valid UTF-8");
                continue;
            };
            let (path, name) = (path.join(&entry), format!("{name}/{text}"));
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() && LITTER.contains(&text) => {}
                Ok(found) if found.is_dir() => self.directory(&path, &name, depth + 1),
                Ok(found) if found.is_file() && text.ends_with(".lock") && found.len() == 0 => {}
                Ok(found) if found.is_file() => self.file(path, name, &found),
                Ok(found) if found.is_symlink() => self.plan.leave(&name, "it is a link"),
                Ok(_) => self.plan.leave(&name, "it is no file"),
                Err(error) => self.plan.leave(&name, format!("it cannot be read: {error}")),
            }
        }
    }

    fn file(&mut self, from: PathBuf, name: String, found: &Metadata) {
        (self.seen, self.bytes) = (self.seen + 1, self.bytes.saturating_add(found.len()));
        if found.len() > LONGEST {
            return self.plan.leave(&name, format!("it is longer than {} MiB", LONGEST >> 20));
        }
        if self.seen > MOST {
            return self.plan.leave(&name, format!("there are more than {MOST} files"));
        }
        if self.bytes > ALL {
            return self.plan.leave(&name, format!("all files together are more than {} MiB", ALL >> 20));
        }
        let digest = match content(&from) {
            Ok(bytes) => digest(&bytes),
            Err(error) => return self.plan.leave(&name, format!("it cannot be read: {error}")),
        };
        match here(self.target, &name) {
            Here::Nothing => {
                let mode = if found.mode() & 0o100 != 0 { 0o700 } else { 0o600 };
                self.plan.copies.push(Copy { from, to: name, digest, mode });
            }
            Here::File(known) if known == digest => self.plan.same += 1,
            Here::File(_) => self.plan.leave(&name, "another file of this name is here"),
            Here::InTheWay(what) => self.plan.leave(&name, what),
        }
    }
}

/// What lies at the place of a file.
pub(super) enum Here {
    Nothing,
    /// A file with this digest.
    File(String),
    InTheWay(String),
}

/// Looks at the place of a file, and at every directory on the way there.
pub(super) fn here(home: &Path, name: &str) -> Here {
    let mut path = home.to_owned();
    let mut parts = name.split('/').peekable();
    while let Some(part) = parts.next() {
        path.push(part);
        let is_last = parts.peek().is_none();
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Here::Nothing,
            Err(error) => return Here::InTheWay(format!("its place here cannot be read: {error}")),
            Ok(found) if !is_last && found.is_dir() => {}
            Ok(found) if is_last && found.is_file() => {
                return match content(&path) {
                    Ok(bytes) => Here::File(digest(&bytes)),
                    Err(error) => Here::InTheWay(format!("the file here cannot be read: {error}")),
                };
            }
            Ok(found) if found.is_symlink() => {
                return Here::InTheWay(format!("a link is in its way here: {part}"));
            }
            Ok(_) => return Here::InTheWay(format!("something else is in its way here: {part}")),
        }
    }
    Here::Nothing
}

/// Reads a file that is no link, up to the limit.
pub(super) fn content(path: &Path) -> std::io::Result<Vec<u8>> {
    plain_file::read(path, LONGEST)
}

pub(super) fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
