//! Reads a file with a size limit, and the attributes that a replacement must keep.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, OFlags};
use rustix::io::Errno;

use super::UserFileError;

/// More is not a file that a person wrote.
const MOST: u64 = 16 * 1024 * 1024;

/// A file as it was read.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) text: String,
    pub(super) mode: u32,
    pub(super) owner: u32,
    pub(super) group: u32,
}

impl Content {
    /// Reads a file; none if there is no such file.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, UserFileError> {
        let failed = |source| UserFileError::Read { path: path.to_owned(), source };
        // A pipe in its place would wait for a writer.
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        let file = match File::options().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(failed(source)),
        };
        let metadata = file.metadata().map_err(failed)?;
        check_kind(path, &metadata)?;
        let mut bytes = Vec::new();
        file.take(MOST + 1).read_to_end(&mut bytes).map_err(failed)?;
        let size = metadata.len().max(bytes.len() as u64);
        if size > MOST {
            return Err(UserFileError::TooLarge { path: path.to_owned(), size, most: MOST });
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
            UserFileError::NotUtf8 { path: path.to_owned(), line }
        })?;
        let mode = metadata.mode() & 0o7777;
        Ok(Some(Self { text, mode, owner: metadata.uid(), group: metadata.gid() }))
    }

    /// A rename checks only the directory's permissions; a user who made the file read-only meant the file.
    pub(super) fn check_writable(&self, path: &Path) -> Result<(), UserFileError> {
        let allowed = rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS);
        let forbidden = matches!(allowed, Err(Errno::ACCESS | Errno::PERM | Errno::ROFS));
        // The superuser may write everything, including read-only files.
        if self.mode & 0o222 == 0 || forbidden {
            return Err(UserFileError::ReadOnly(path.to_owned()));
        }
        Ok(())
    }
}

fn check_kind(path: &Path, metadata: &Metadata) -> Result<(), UserFileError> {
    match metadata {
        metadata if metadata.is_dir() => Err(UserFileError::IsDirectory(path.to_owned())),
        metadata if !metadata.is_file() => Err(UserFileError::NotAFile(path.to_owned())),
        _ => Ok(()),
    }
}
