//! One skill on the disk: its files are read, written, and the whole is moved. Blocks.
//!
//! Nothing outside the folder is read or written, even if its content changes meanwhile: links are refused, and the folder
//! must be the one that was checked. Texts of the user are replaced by `UserFile` alone.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use talaria_core::skill::name::{SUPPORT_FOLDERS, check_file};
use talaria_home::user_file::{UserFile, UserFileError};

/// The longest file that is read, in bytes.
const LONGEST: u64 = 1024 * 1024;
/// How many other files of a skill are listed.
const MOST_FILES: usize = 100;

/// Why a file of a skill was not read or not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SkillFileError {
    #[error("{0} is a link, which is not followed")]
    Link(String),
    #[error("{0} is not UTF-8 text")]
    NotText(String),
    #[error("{0} is no file")]
    NotAFile(String),
    #[error("{0} has more than 1 MB")]
    TooLarge(String),
    #[error("{0}")]
    Name(#[from] talaria_core::skill::name::SkillNameError),
    #[error("{} leads elsewhere now", .0.display())]
    Moved(PathBuf),
    #[error("cannot use {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(transparent)]
    User(#[from] UserFileError),
}

/// The folder of a skill, which need not exist.
#[derive(Clone, Debug)]
pub(crate) struct SkillFolder {
    path: PathBuf,
}

impl SkillFolder {
    /// A folder, as it was found or will be made; without links.
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Reads a file; none if it does not exist.
    pub(crate) fn read(&self, file: &str) -> Result<Option<String>, SkillFileError> {
        check_file(file)?;
        let path = self.path.join(file);
        if self.way_to(file)?.is_none() {
            return Ok(None);
        }
        let failed = |source| SkillFileError::Io { path: path.clone(), source };
        let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
        let opened = match File::options().read(true).custom_flags(flags).open(&path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let about = opened.metadata().map_err(failed)?;
        if !about.is_file() {
            return Err(SkillFileError::NotAFile(file.to_owned()));
        }
        let mut bytes = Vec::new();
        opened.take(LONGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > LONGEST {
            return Err(SkillFileError::TooLarge(file.to_owned()));
        }
        String::from_utf8(bytes).map(Some).map_err(|_| SkillFileError::NotText(file.to_owned()))
    }

    /// Writes a file if it is still `expected`, and returns its path. After a crash it is the old one or the new one.
    pub(crate) fn write(
        &self,
        file: &str,
        expected: Option<&str>,
        new: &str,
    ) -> Result<PathBuf, SkillFileError> {
        check_file(file)?;
        if resolve(&self.path) != self.path {
            return Err(SkillFileError::Moved(self.path.clone()));
        }
        let path = self.path.join(file);
        let parent = path.parent().unwrap_or(&self.path);
        fs::create_dir_all(parent)
            .map_err(|source| SkillFileError::Io { path: parent.to_owned(), source })?;
        if resolve(parent) != parent {
            return Err(SkillFileError::Moved(parent.to_owned()));
        }
        self.way_to(file)?;
        let locked = UserFile::lock(&path)?;
        if locked.real_path() != path {
            return Err(SkillFileError::Link(file.to_owned()));
        }
        if locked.text() != expected {
            return Err(UserFileError::Changed(path).into());
        }
        locked.replace(new)?;
        Ok(path)
    }

    /// Lists the other files, as `read` takes them.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        for folder in SUPPORT_FOLDERS {
            self.list(folder, 0, &mut found);
        }
        found
    }

    fn list(&self, folder: &str, depth: usize, found: &mut Vec<String>) {
        let Ok(entries) = fs::read_dir(self.path.join(folder)) else { return };
        let mut names: Vec<(String, fs::FileType)> = entries
            .flatten()
            .take(MOST_FILES)
            .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.file_type().ok()?)))
            .collect();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, kind) in names {
            let file = format!("{folder}/{name}");
            if kind.is_dir() && depth < 3 {
                self.list(&file, depth + 1, found);
            } else if kind.is_file() && check_file(&file).is_ok() && found.len() < MOST_FILES {
                found.push(file);
            }
        }
    }

    /// Is it there?
    pub(crate) fn exists(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok()
    }

    /// Moves the whole folder to a place where nothing is.
    pub(crate) fn move_to(&self, target: &Path) -> Result<(), SkillFileError> {
        let failed = |source| SkillFileError::Io { path: self.path.clone(), source };
        if resolve(&self.path) != self.path {
            return Err(SkillFileError::Moved(self.path.clone()));
        }
        if fs::symlink_metadata(target).is_ok() {
            let source = io::Error::new(io::ErrorKind::AlreadyExists, "something is there already");
            return Err(SkillFileError::Io { path: target.to_owned(), source });
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        fs::rename(&self.path, target).map_err(failed)
    }

    /// Refuses links between the folder and a file. None if a folder on the way, or the file, does not exist.
    fn way_to(&self, file: &str) -> Result<Option<()>, SkillFileError> {
        let mut path = self.path.clone();
        for part in std::iter::once("").chain(file.split('/')) {
            if !part.is_empty() {
                path.push(part);
            }
            match fs::symlink_metadata(&path) {
                Ok(about) if about.is_symlink() => return Err(SkillFileError::Link(file.to_owned())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(source) => return Err(SkillFileError::Io { path, source }),
            }
        }
        Ok(Some(()))
    }
}

/// Resolves the links of a path as far as it exists.
pub(crate) fn resolve(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = fs::canonicalize(ancestor) {
            return match path.strip_prefix(ancestor) {
                Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
                _ => real,
            };
        }
    }
    path.to_owned()
}
