//! The checks of `talaria doctor` that are about the engine: does one run, can it be reached, is what it keeps sound?
//!
//! Nothing is started and nothing is changed; the database is not opened, because the engine may be writing it.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use talaria_engine::home::TalariaHome;
use talaria_server::client::ClientError;
use talaria_server::socket_path;

use super::Check;
use crate::amounts::bytes;
use crate::engine;

/// How every SQLite file begins.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Does an engine run, and is it this version?
pub(super) async fn engine(home: &TalariaHome) -> Check {
    match engine::find_any(home).await {
        Ok(None) => Check::ok("engine", "none is running; commands start one"),
        Ok(Some(client)) => {
            let info = client.engine();
            let detail = format!("Talaria {}, process {}", info.version, info.pid);
            if info.version == env!("CARGO_PKG_VERSION") {
                return Check::ok("engine", detail);
            }
            let remedy = "the next command of a newer version replaces it; its turns go on";
            Check::warning("engine", format!("{detail}; this is {}", env!("CARGO_PKG_VERSION")), remedy)
        }
        Err(error) => {
            let remedy = error.next_step().unwrap_or_else(|| "stop it with `talaria stop`".to_owned());
            match error {
                // Nobody knows whether it works.
                ClientError::Broken(_) => Check::warning("engine", error.to_string(), remedy),
                _ => Check::problem("engine", error.to_string(), remedy),
            }
        }
    }
}

/// Is the place of the socket free, or a socket of ours?
pub(super) fn socket(home: &TalariaHome) -> Check {
    check_socket(&socket_path(home.root()))
}

fn check_socket(path: &Path) -> Check {
    let shown = path.display();
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Check::ok("socket", format!("{shown} comes with the engine"));
        }
        Err(error) => return Check::problem("socket", format!("{shown}: {error}"), "check the directory"),
    };
    let (owner, own) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if !metadata.file_type().is_socket() {
        return Check::problem("socket", format!("{shown} is not a socket"), "move it away");
    }
    if owner != own {
        let detail = format!("{shown} belongs to user {owner}, not to you (user {own})");
        return Check::problem("socket", detail, "set TALARIA_HOME to a directory of your own");
    }
    match metadata.mode() & 0o077 {
        0 => Check::ok("socket", format!("{shown} is yours alone")),
        _ => Check::problem("socket", format!("{shown} is open to others"), format!("chmod 600 {shown}")),
    }
}

/// Is the file of what is kept sound, as far as can be seen from outside?
pub(super) fn store(home: &TalariaHome) -> Check {
    check_store(&home.store_file())
}

fn check_store(path: &Path) -> Check {
    let shown = path.display();
    let unreadable = |error: &io::Error| {
        Check::problem("store", format!("{shown}: {error}"), "check the permissions of the file")
    };
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Check::ok("store", format!("{shown} comes with the first conversation"));
        }
        Err(error) => return unreadable(&error),
    };
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut beginning));
    if let Err(error) = read {
        return unreadable(&error);
    }
    // An empty file is a database without anything in it.
    if !beginning.is_empty() && beginning != MAGIC {
        let detail = format!("{shown} is no database");
        return Check::problem(
            "store",
            detail,
            "move it away or restore it from a backup; nothing is recreated silently",
        );
    }
    if metadata.mode() & 0o077 != 0 {
        return Check::warning(
            "store",
            format!("{shown} can be read by others"),
            format!("chmod 600 {shown}"),
        );
    }
    Check::ok("store", format!("{shown}, {}", bytes(metadata.len())))
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use super::super::Status;
    use super::*;

    #[test]
    fn a_store_that_is_none_or_open_to_others_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("talaria.db");
        let status = |mode: u32, content: &[u8]| {
            write(&path, content).unwrap();
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            check_store(&path).status
        };
        assert_eq!(check_store(&path).status, Status::Ok);
        assert_eq!(status(0o600, b"SQLite format 3\0 and so on"), Status::Ok);
        assert_eq!(status(0o600, b""), Status::Ok);
        assert_eq!(status(0o644, b"SQLite format 3\0"), Status::Warning);
        assert_eq!(status(0o600, b"<html>"), Status::Problem);
        assert_eq!(status(0o600, b"SQLite"), Status::Problem);
    }

    #[test]
    fn what_is_in_the_place_of_the_socket_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("engine.sock");
        assert_eq!(check_socket(&path).status, Status::Ok);
        write(&path, "x").unwrap();
        assert_eq!(check_socket(&path).status, Status::Problem);
        std::fs::remove_file(&path).unwrap();
        let _listener = UnixListener::bind(&path).unwrap();
        set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        assert_eq!(check_socket(&path).status, Status::Problem);
        set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(check_socket(&path).status, Status::Ok);
    }
}
