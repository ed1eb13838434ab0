//! Makes the engine's socket: readable by its owner alone, in a directory that is no one else's.
//!
//! An existing file is replaced only if it is our own socket without a listener. The caller holds the engine's
//! lock, so that no second engine does the same at the same time.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use talaria_core::next_step::NextStep;
use tokio::net::UnixListener;

/// Why the engine cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The socket or its directory belongs to someone else.
    #[error("{} belongs to user {owner}, not to you", path.display())]
    Foreign {
        /// The socket or directory.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// Something else is in the place of the socket.
    #[error("{} is in the way: it is not a socket", .0.display())]
    NotASocket(PathBuf),
    /// Something else is in the place of its directory.
    #[error("{} is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// Someone listens there.
    #[error("another engine listens on {}", .0.display())]
    InUse(PathBuf),
    /// The system refused.
    #[error("cannot listen on {}: {source}", path.display())]
    System {
        /// The socket or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl BindError {
    /// What to do next.
    pub fn next_step(&self) -> NextStep {
        NextStep::from(match self {
            Self::Foreign { .. } => "set TALARIA_HOME to a directory of your own, or remove it as its owner",
            Self::NotASocket(_) | Self::NotADirectory(_) => "move it away",
            Self::InUse(_) => return NextStep::StopEngine,
            Self::System { .. } => "set TALARIA_HOME to a directory that you may write",
        })
    }
}

/// Makes the socket at `path` and listens on it. Needs a tokio runtime.
pub fn bind(path: &Path) -> Result<UnixListener, BindError> {
    let own = rustix::process::geteuid().as_raw();
    if let Some(directory) = path.parent() {
        make_private(directory, own)?;
    }
    make_room(path, own)?;
    let listener = UnixListener::bind(path).map_err(system(path))?;
    // Until here only the directory keeps others out.
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(system(path))?;
    Ok(listener)
}

fn make_private(directory: &Path, own: u32) -> Result<(), BindError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(BindError::NotADirectory(directory.to_owned()));
        }
        made => made.map_err(system(directory))?,
    }
    // A link is followed only if it is ours too: in a shared directory anyone can make one.
    check_owner(directory, own, &fs::symlink_metadata(directory).map_err(system(directory))?)?;
    let metadata = fs::metadata(directory).map_err(system(directory))?;
    check_owner(directory, own, &metadata)?;
    if metadata.mode() & 0o077 != 0 {
        fs::set_permissions(directory, Permissions::from_mode(0o700)).map_err(system(directory))?;
    }
    Ok(())
}

fn make_room(path: &Path, own: u32) -> Result<(), BindError> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        metadata => metadata.map_err(system(path))?,
    };
    check_owner(path, own, &metadata)?;
    if !metadata.file_type().is_socket() {
        return Err(BindError::NotASocket(path.to_owned()));
    }
    match UnixStream::connect(path) {
        // Left over from an engine that was killed.
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(system(path))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(_) => Err(BindError::InUse(path.to_owned())),
        // A full queue of connections.
        Err(error) if error.kind() == ErrorKind::WouldBlock => Err(BindError::InUse(path.to_owned())),
        Err(source) => Err(BindError::System { path: path.to_owned(), source }),
    }
}

fn check_owner(path: &Path, own: u32, metadata: &Metadata) -> Result<(), BindError> {
    let owner = metadata.uid();
    if owner == own { Ok(()) } else { Err(BindError::Foreign { path: path.to_owned(), owner }) }
}

fn system(path: &Path) -> impl Fn(io::Error) -> BindError {
    move |source| BindError::System { path: path.to_owned(), source }
}
