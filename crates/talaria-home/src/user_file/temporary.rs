//! The temporary file with the new text, next to the file until the two are exchanged. Only the holder of the lock has one,
//! so that the next holder may remove leftovers of a crashed run.
//!
//! The files are exchanged, not renamed over one another: an editor does not use the lock, and may write between the last
//! comparison and the exchange. The exchanged file is compared once more, and restored if it is not what was read. During the
//! exchange the temporary file has a name of its own, because it may hold a person's edit: the next run keeps such a leftover
//! under a visible name instead of removing it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::UserFileError;
use super::read::Content;
use super::stamp::FileStamp;
use crate::clock::now_ms;
use crate::faults::{blocking_point, check_space};

/// Ends the name while two files are exchanged.
const EXCHANGING: &str = ".exchange";

/// A written file that is removed when it is dropped before its rename.
#[derive(Debug)]
pub(super) struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Writes the text next to `real`, with the mode and owner of the file that it replaces, and syncs it.
    /// If it replaces nothing, `new_mode` is its mode, before the umask.
    pub(super) fn write(
        real: &Path,
        text: &str,
        old: Option<&Content>,
        new_mode: u32,
    ) -> Result<(Self, FileStamp), UserFileError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mut name = prefix(real);
        name.push(format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)));
        let failed = |source| UserFileError::Write { path: real.to_owned(), source };
        let path = real.with_file_name(name);
        // Until it has the mode of the old file, it must not be readable for more.
        let mode = if old.is_some() { 0o600 } else { new_mode };
        let file = File::options().write(true).create_new(true).mode(mode).open(&path).map_err(failed)?;
        let temporary = Self { path };
        blocking_point("after:file-created");
        let stamp = fill(file, text, old).map_err(failed)?;
        blocking_point("after:file-written");
        Ok((temporary, stamp))
    }

    /// Takes the place of `real`, if that is still what was read: `expected`, or nothing. `text` is what was written here.
    pub(super) fn take_place_of(
        mut self,
        real: &Path,
        expected: Option<&str>,
        text: &str,
    ) -> Result<(), UserFileError> {
        let failed = |source| UserFileError::Write { path: real.to_owned(), source };
        let changed = || UserFileError::Changed(real.to_owned());
        let Some(expected) = expected else {
            return match rename(&self.path, real, RenameFlags::NOREPLACE) {
                Ok(()) => {
                    self.forget();
                    Ok(())
                }
                Err(Errno::EXIST) => Err(changed()),
                Err(error) if is_unsupported(error) => self.rename_over(real),
                Err(error) => Err(failed(error.into())),
            };
        };
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(EXCHANGING);
        let exchanging = self.path.with_file_name(name);
        fs::rename(&self.path, &exchanging).map_err(failed)?;
        self.path = exchanging;
        match rename(&self.path, real, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(changed()),
            Err(error) if is_unsupported(error) => return self.rename_over(real),
            Err(error) => return Err(failed(error.into())),
        }
        blocking_point("after:file-exchanged");
        if holds(&self.path, expected) {
            return Ok(());
        }
        // A person wrote in between: that is put back, and our own text is removed.
        let is_back = rename(&self.path, real, RenameFlags::EXCHANGE).is_ok();
        if !is_back || !holds(&self.path, text) {
            keep(&self.path, real).map_err(failed)?;
            self.forget();
        }
        Err(changed())
    }

    /// Replaces `real`. An edit since the last comparison is lost.
    pub(super) fn rename_over(self, real: &Path) -> Result<(), UserFileError> {
        let failed = |source| UserFileError::Write { path: real.to_owned(), source };
        fs::rename(&self.path, real).map_err(failed)?;
        self.forget();
        Ok(())
    }

    /// There is nothing left to remove, and by now the name could belong to another process.
    fn forget(self) {
        std::mem::forget(self);
    }
}

fn rename(from: &Path, to: &Path, flags: RenameFlags) -> Result<(), Errno> {
    renameat_with(CWD, from, CWD, to, flags)
}

fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

fn holds(path: &Path, text: &str) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes == text.as_bytes())
}

/// Renames a file next to `real` to a visible name that no other file has.
fn keep(path: &Path, real: &Path) -> io::Result<()> {
    let mut name = real.file_name().unwrap_or_default().to_owned();
    name.push(format!(".kept-{}", now_ms()));
    // A link fails where a rename would replace a file.
    fs::hard_link(path, real.with_file_name(name))?;
    fs::remove_file(path)
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // The next run sweeps what cannot be removed now.
        let _ = fs::remove_file(&self.path);
    }
}

fn fill(mut file: File, text: &str, old: Option<&Content>) -> io::Result<FileStamp> {
    file.write_all(text.as_bytes())?;
    check_space()?;
    if let Some(old) = old {
        let ours = file.metadata()?;
        let mut mode = old.mode;
        if (ours.uid(), ours.gid()) != (old.owner, old.group) {
            // Only the superuser may change the owner; otherwise at least the group is set.
            let given = fchown(&file, Some(old.owner), Some(old.group));
            if given.or_else(|_| fchown(&file, None, Some(old.group))).is_err() {
                // What its group was allowed is not for another group.
                mode &= !0o070;
            }
        }
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    let stamp = FileStamp::set(&file)?;
    file.sync_all()?;
    Ok(stamp)
}

/// Removes leftovers of crashed runs next to `real`. Only under the lock.
pub(super) fn sweep(real: &Path) {
    let prefix = prefix(real);
    let Some(Ok(entries)) = real.parent().map(fs::read_dir) else { return };
    for entry in entries.filter_map(Result::ok) {
        if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let (name, path) = (entry.file_name(), entry.path());
        let exchanging = name.as_encoded_bytes().strip_suffix(EXCHANGING.as_bytes());
        let is_left = |name: &[u8]| is_ours(name, &prefix);
        if is_left(name.as_encoded_bytes()) {
            let _ = fs::remove_file(path);
        } else if exchanging.is_some_and(is_left) {
            let is_same = fs::read(real).is_ok_and(|now| fs::read(&path).is_ok_and(|then| now == then));
            let _ = if is_same { fs::remove_file(path) } else { keep(&path, real) };
        }
    }
}

fn prefix(real: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(real.file_name().unwrap_or_default());
    prefix.push(".talaria-");
    prefix
}

fn is_ours(name: &[u8], prefix: &OsStr) -> bool {
    let Some(rest) = name.strip_prefix(prefix.as_encoded_bytes()) else { return false };
    let mut parts = rest.split(|byte| *byte == b'-');
    let is_number = |part: Option<&[u8]>| {
        part.is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
    };
    is_number(parts.next()) && is_number(parts.next()) && parts.next().is_none()
}
