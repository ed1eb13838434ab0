//! The checks of `talaria doctor` that are about the engine: does one run, can it be reached, is what it keeps sound?
//!
//! Nothing is started and nothing is changed; the database is only read, for a bounded time, which does not block an engine
//! that writes it.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use talaria_engine::engine::leftovers::{self, is_held};
use talaria_engine::engine::{Inspection, inspect_store};
use talaria_home::home::TalariaHome;
use talaria_server::client::ClientError;
use talaria_server::socket_path;

use super::Check;
use crate::amounts::bytes;
use crate::{engine, leftover_text};

/// How long the database is looked at.
const INSPECTION: Duration = Duration::from_secs(3);

/// Does an engine run, and is it this version?
pub(super) async fn engine(home: &TalariaHome) -> Check {
    match engine::find_any(home).await {
        Ok(None) if is_held(home) => Check::warning(
            "engine",
            "it is starting or ending: it holds this home and does not answer",
            "run `talaria doctor` again in a moment; `talaria stop` names a process that stays like this",
        ),
        Ok(None) => Check::ok("engine", "none is running; commands start one"),
        Ok(Some(client)) => {
            let info = client.engine();
            let detail = format!("Talaria {}, process {}", info.version, info.pid);
            if info.version == env!("CARGO_PKG_VERSION") {
                return Check::ok("engine", detail);
            }
            let remedy = "the next command of a newer version replaces it; its turns continue";
            Check::warning("engine", format!("{detail}; this is {}", env!("CARGO_PKG_VERSION")), remedy)
        }
        Err(error) => {
            let remedy = error.next_step().unwrap_or_else(|| "stop it with `talaria stop`".into());
            match error {
                // It is not known whether it works.
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
            return Check::ok("socket", format!("{shown} is created by the engine"));
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

/// Is the database sound? It is opened for real, and only read.
pub(super) async fn store(home: &TalariaHome) -> Check {
    check_store(&home.store_file()).await
}

async fn check_store(path: &Path) -> Check {
    let shown = path.display();
    let found = match inspect_store(path, INSPECTION).await {
        Ok(found) => found,
        Err(error) => return Check::problem("store", error.to_string(), error.next_step()),
    };
    let metadata = match (found, path.metadata()) {
        (Inspection::Missing, _) => {
            return Check::ok("store", format!("{shown} is created with the first conversation"));
        }
        (Inspection::HotJournal, _) => {
            let detail = format!("{shown} has an unfinished transaction of an engine that was killed");
            return Check::warning("store", detail, "the next command that starts the engine rolls it back");
        }
        (_, Ok(metadata)) => metadata,
        (_, Err(error)) => {
            return Check::problem("store", format!("{shown}: {error}"), "check the permissions of the file");
        }
    };
    if metadata.mode() & 0o077 != 0 {
        return Check::warning(
            "store",
            format!("{shown} can be read by others"),
            format!("chmod 600 {shown}"),
        );
    }
    let size = bytes(metadata.len());
    match found {
        Inspection::SoundSoFar => {
            let seconds = INSPECTION.as_secs();
            Check::ok("store", format!("{shown}, {size}; no damage found in {seconds} seconds of looking"))
        }
        _ => Check::ok("store", format!("{shown}, {size}, sound")),
    }
}

/// Does something of this home run without an engine?
pub(super) fn leftovers(home: &TalariaHome) -> Option<Check> {
    let found = leftovers::find(home);
    let detail = format!("running without an engine: {}", leftover_text::count(&found));
    let remedy = "`talaria stop` ends it; the next command that needs the engine resumes it";
    (!found.is_empty())
        .then(|| Check::warning("left over", format!("{detail}\n{}", leftover_text::lines(&found)), remedy))
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use super::super::Status;
    use super::*;

    #[tokio::test]
    async fn a_store_that_is_none_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("talaria.db");
        assert_eq!(check_store(&path).await.status, Status::Ok);
        for (content, expected) in
            [("", Status::Ok), ("<html>", Status::Problem), ("SQLite format 3\0 and so on", Status::Problem)]
        {
            write(&path, content).unwrap();
            let check = check_store(&path).await;
            assert_eq!(check.status, expected, "{content:?}: {}", check.detail);
        }
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
