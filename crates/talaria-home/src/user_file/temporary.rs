//! The temporary file with the new text, next to the file until it is renamed. Only the holder of the lock has
//! one, so that the next holder may remove leftovers of a crashed run.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::UserFileError;
use super::read::Content;
use crate::faults::{blocking_point, check_space};

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
    ) -> Result<Self, UserFileError> {
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
        fill(file, text, old).map_err(failed)?;
        blocking_point("after:file-written");
        Ok(temporary)
    }

    /// Renames it to `real`.
    pub(super) fn rename_to(self, real: &Path) -> Result<(), UserFileError> {
        let failed = |source| UserFileError::Write { path: real.to_owned(), source };
        fs::rename(&self.path, real).map_err(failed)?;
        // There is nothing left to remove, and by now the name could belong to another process.
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // The next run sweeps what cannot be removed now.
        let _ = fs::remove_file(&self.path);
    }
}

fn fill(mut file: File, text: &str, old: Option<&Content>) -> io::Result<()> {
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
    file.sync_all()
}

/// Removes leftovers of crashed runs next to `real`. Only under the lock.
pub(super) fn sweep(real: &Path) {
    let prefix = prefix(real);
    let Some(Ok(entries)) = real.parent().map(fs::read_dir) else { return };
    for entry in entries.filter_map(Result::ok) {
        if is_ours(&entry.file_name(), &prefix) && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn prefix(real: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(real.file_name().unwrap_or_default());
    prefix.push(".talaria-");
    prefix
}

fn is_ours(name: &OsStr, prefix: &OsStr) -> bool {
    let Some(rest) = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes()) else { return false };
    let mut parts = rest.split(|byte| *byte == b'-');
    let is_number = |part: Option<&[u8]>| {
        part.is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
    };
    is_number(parts.next()) && is_number(parts.next()) && parts.next().is_none()
}
