//! The private directory of one host: an empty working directory, a socket, and a lock that says who owns it.
//!
//! The path of a unix socket is limited to about a hundred bytes, so a long home is not used for it. Everything is
//! readable by its owner alone, and goes when the host ends.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

/// The longest socket path that every supported system takes (104 on macOS, 108 on Linux, with the final zero).
const SOCKET_PATH_LIMIT: usize = 103;

/// How the name of a directory begins that is not finished.
pub(crate) const BUILDING: &str = ".";

/// The private directory of one host.
#[derive(Debug)]
pub(crate) struct HostDirectory {
    root: PathBuf,
    /// Where `sweep` finds it; a link if the directory itself lies elsewhere.
    listed: PathBuf,
    /// Held for as long as this process owns the host; see `sweep`.
    _lock: File,
}

impl HostDirectory {
    /// Makes the directory below `hosts`, or in the system's runtime directory if the path would be too long. It
    /// appears in `hosts` only when it is locked, so that nobody takes it for one whose owner died.
    pub(crate) fn create(hosts: &Path, nonce: &str) -> io::Result<Self> {
        let private = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path);
        private(hosts)?;
        let listed = hosts.join(nonce);
        let fits = listed.join("s").as_os_str().len() <= SOCKET_PATH_LIMIT;
        let (root, building) = if fits {
            (listed.clone(), hosts.join(format!("{BUILDING}{nonce}")))
        } else {
            let root = short_parent().join(format!("talaria-{nonce}"));
            (root.clone(), root)
        };
        private(&building)?;
        let lock = File::create(building.join("lock"))?;
        lock.try_lock().map_err(io::Error::from)?;
        private(&building.join("empty"))?;
        private(&building.join("tmp"))?;
        if fits {
            fs::rename(&building, &root)?;
        } else {
            symlink(&root, &listed)?;
        }
        Ok(Self { root, listed, _lock: lock })
    }

    /// Where the host listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.root.join("s")
    }

    /// An empty directory, so that the host itself has nothing to read or write around it.
    pub(crate) fn working_directory(&self) -> PathBuf {
        self.root.join("empty")
    }

    /// A temporary directory of the host's own.
    pub(crate) fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Writes down which process this is, for whoever has to clean up after us.
    pub(crate) fn record(&self, pid: i32, started: Option<&str>) -> io::Result<()> {
        fs::write(self.root.join("pid"), format!("{pid} {}", started.unwrap_or("")))
    }

    /// Removes the directory, once the host has ended.
    pub(crate) fn remove(&self) {
        remove(&self.listed);
    }
}

impl Drop for HostDirectory {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes a directory and the link to it. What cannot be removed now is removed by the next sweep.
pub(crate) fn remove(listed: &Path) {
    if let Ok(root) = listed.canonicalize() {
        let _ = fs::remove_dir_all(root);
    }
    let _ = fs::remove_file(listed);
}

fn short_parent() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    runtime.filter(|path| path.is_dir()).unwrap_or_else(|| PathBuf::from("/tmp"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_home_still_gives_a_short_socket_path() {
        let base = tempfile::tempdir().unwrap();
        let long = base.path().join("x".repeat(120));
        let directory = HostDirectory::create(&long, &uuid::Uuid::new_v4().simple().to_string()).unwrap();
        assert!(directory.socket().as_os_str().len() <= SOCKET_PATH_LIMIT);
        let root = directory.root.clone();
        assert!(root.join("empty").is_dir());
        assert!(fs::symlink_metadata(&directory.listed).is_ok());
        drop(directory);
        assert!(!root.exists());
        assert_eq!(fs::read_dir(&long).unwrap().count(), 0);
    }
}
