//! Copies files that were planned. A copy appears complete or not at all, and never replaces another file: it is
//! written under a temporary name in the same directory and then linked, which fails if the name exists.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::HermesError;
use super::files::{Copy, FilesPlan, Here, content, digest, here};
use talaria_home::faults::blocking_point;
use talaria_home::home::ensure_dir;

/// Copies all of them; files that changed meanwhile are kept and reported.
pub(super) fn all(files: &mut FilesPlan, home: &Path) -> Result<(), HermesError> {
    for copy in std::mem::take(&mut files.copies) {
        let bytes = match content(&copy.from) {
            Ok(bytes) if digest(&bytes) == copy.digest => bytes,
            Ok(_) => {
                files.leave(&copy.to, "it changed meanwhile; run the command again");
                continue;
            }
            Err(error) => {
                files.leave(&copy.to, format!("it cannot be read: {error}"));
                continue;
            }
        };
        match here(home, &copy.to) {
            Here::Nothing => {}
            Here::File(known) if known == copy.digest => {
                files.same += 1;
                continue;
            }
            Here::File(_) => {
                files.leave(&copy.to, "another file of this name is here");
                continue;
            }
            Here::InTheWay(what) => {
                files.leave(&copy.to, what);
                continue;
            }
        }
        let place = home.join(&copy.to);
        match put(&copy, &bytes, &place) {
            Ok(()) => files.copies.push(copy),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                files.leave(&copy.to, "another file of this name is here");
            }
            Err(source) => return Err(HermesError::Write { path: place, source }),
        }
        blocking_point("after:import-file");
    }
    Ok(())
}

/// Removes the temporary files of an interrupted run next to these files.
pub(super) fn sweep<'a>(names: impl Iterator<Item = &'a String>, home: &Path) {
    for name in names {
        // If that fails, it is reported when the path is needed.
        let _ = fs::remove_file(beside(&home.join(name)));
    }
}

fn put(copy: &Copy, bytes: &[u8], place: &Path) -> io::Result<()> {
    let directory = place.parent().unwrap_or(Path::new("/"));
    ensure_dir(directory).map_err(io::Error::other)?;
    let beside = beside(place);
    // We hold the import lock, so an existing file was left by an interrupted run.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let written = write(&beside, bytes, copy.mode).and_then(|()| fs::hard_link(&beside, place));
    let removed = fs::remove_file(&beside);
    written.and(removed)?;
    File::open(directory)?.sync_all()
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.sync_all()
}

/// Where a copy is written before it is at its place.
pub(super) fn beside(place: &Path) -> PathBuf {
    let mut digest = digest(place.as_os_str().as_encoded_bytes());
    digest.truncate(12);
    place.with_file_name(format!(".talaria-import-{digest}"))
}
