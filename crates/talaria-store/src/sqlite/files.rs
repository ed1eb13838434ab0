//! The files of a database: their names, their modes, and copies of damaged ones.
//!
//! Nothing here deletes or overwrites anything.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The first bytes of an SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// What exists at the path of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Nothing yet, or an empty file.
    Empty,
    /// A file of SQLite.
    Database,
    /// A directory, a socket and so on.
    NotAFile,
    /// A file of something else.
    Foreign,
}

/// The write-ahead log of a database.
pub(crate) fn log_of(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// The first bytes of a rollback journal that has something to roll back.
const JOURNAL_MAGIC: &[u8; 8] = &[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Returns whether a writer died in the middle of a transaction before the database had a write-ahead log. SQLite then
/// has to roll the file back before its content is meaningful, which needs a connection that may write.
pub(crate) fn has_hot_journal(path: &Path) -> bool {
    let mut head = [0; JOURNAL_MAGIC.len()];
    let read = File::open(beside(path, "-journal")).and_then(|mut journal| journal.read_exact(&mut head));
    read.is_ok() && head == *JOURNAL_MAGIC
}

/// A file whose name is longer by a suffix.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Inspects the file.
pub(crate) fn examine(path: &Path) -> io::Result<Content> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::Empty),
        Err(error) => return Err(error),
    };
    if !metadata.is_file() {
        return Ok(Content::NotAFile);
    }
    let mut head = Vec::new();
    File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut head)?;
    Ok(match head.as_slice() {
        [] => Content::Empty,
        head if head == MAGIC => Content::Database,
        _ => Content::Foreign,
    })
}

/// Makes the directory (0700) and an empty file (0600) if they are missing, and removes the access of other users.
/// SQLite creates its other files with the same mode.
pub(crate) fn prepare(path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Copies a damaged database and its log to a backup whose name has the time. The same bytes are not copied twice.
pub(crate) fn copy_aside(path: &Path, now: i64) -> io::Result<PathBuf> {
    let copy = beside(path, &format!(".damaged-{}", stamp(now)));
    if let Some(earlier) = earlier_copy(path)? {
        return Ok(earlier);
    }
    copy_private(path, &copy)?;
    let log = log_of(path);
    if log.exists() {
        copy_private(&log, &log_of(&copy))?;
    }
    Ok(copy)
}

fn copy_private(from: &Path, to: &Path) -> io::Result<()> {
    let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut File::open(from)?, &mut target)?;
    target.sync_all()
}

fn earlier_copy(path: &Path) -> io::Result<Option<PathBuf>> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let prefix = [name.as_encoded_bytes(), b".damaged-"].concat();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_copy =
            name.as_encoded_bytes().starts_with(&prefix) && !name.as_encoded_bytes().ends_with(b"-wal");
        let copy = entry.path();
        if is_copy && is_same(path, &copy)? && is_same(&log_of(path), &log_of(&copy))? {
            return Ok(Some(copy));
        }
    }
    Ok(None)
}

/// Returns whether both have the same bytes, or neither exists.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    match (File::open(one), File::open(other)) {
        (Ok(one), Ok(other)) if one.metadata()?.len() == other.metadata()?.len() => {
            let mut pair = (io::BufReader::new(one), io::BufReader::new(other));
            let (mut left, mut right) = ([0; 1 << 16], [0; 1 << 16]);
            loop {
                let count = pair.0.read(&mut left)?;
                if count == 0 {
                    return Ok(true);
                }
                pair.1.read_exact(&mut right[..count])?;
                if left[..count] != right[..count] {
                    return Ok(false);
                }
            }
        }
        (one, other) => Ok(one.is_err() && other.is_err()),
    }
}

/// A moment as `20261116T034251Z`.
fn stamp(millis: i64) -> String {
    let seconds = millis.div_euclid(1000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years that begin in March, in eras of 400 years: leap days come last.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_copy_says_when() {
        assert_eq!(stamp(0), "19700101T000000Z");
        assert_eq!(stamp(951_782_400_000), "20000229T000000Z");
        assert_eq!(stamp(1_794_800_571_123), "20261116T034251Z");
    }
}
