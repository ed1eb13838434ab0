//! The private directory of one host: an empty working directory, a socket, and a lock that says who owns it.
//!
//! The path of a unix socket is limited to about a hundred bytes, so a long home is not used for it. Everything is
//! readable by its owner alone and is removed when the host ends. The directory of a kept host is marked as kept and
//! lives as long as the host, even if its engine dies.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use rustix::process::geteuid;

/// The longest socket path that every supported system takes (104 on macOS, 108 on Linux, with the final zero).
const SOCKET_PATH_LIMIT: usize = 103;

/// The name prefix of an unfinished directory.
pub(crate) const BUILDING: &str = ".";

/// Who a host belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tenure {
    /// To the process that started it.
    Private,
    /// To the engine of a home, whichever process that is.
    Kept,
}

/// The private directory of one host.
#[derive(Debug)]
pub(crate) struct HostDirectory {
    place: HostPaths,
    /// Locked as long as this process owns the host; see `sweep`.
    lock: Mutex<Option<File>>,
    /// True if the host ends with us; then the directory is removed.
    goes_with_us: AtomicBool,
}

/// Where the directory of a host is.
#[derive(Clone, Debug)]
pub struct HostPaths {
    /// The directory itself.
    pub root: PathBuf,
    /// Where `sweep` finds it; a link if the directory itself lies elsewhere.
    listed: PathBuf,
}

/// Why an existing directory is not taken over.
#[derive(Debug)]
pub(crate) enum Doubt {
    /// A living process owns it.
    Owned,
    /// It is not as we left it.
    Odd(String),
}

impl HostPaths {
    /// Where the directory of a host will be: below `hosts`, or in the system's runtime directory if the path would be
    /// too long.
    pub(crate) fn of(hosts: &Path, nonce: &str) -> Self {
        let listed = hosts.join(nonce);
        let fits = listed.join("s").as_os_str().len() <= SOCKET_PATH_LIMIT;
        let root = if fits { listed.clone() } else { short_parent().join(format!("talaria-{nonce}")) };
        Self { root, listed }
    }

    /// Where the directory of a host is that another process made: a link says so, since the runtime directory may have
    /// been another one then. Only names of our own form are accepted.
    pub fn find(hosts: &Path, nonce: &str) -> Self {
        let place = Self::of(hosts, nonce);
        match fs::read_link(&place.listed) {
            Ok(root) if root.file_name().is_some_and(|name| *name == *format!("talaria-{nonce}")) => {
                Self { root, listed: place.listed }
            }
            _ => place,
        }
    }

    /// Where the host listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.root.join("s")
    }

    /// An empty directory, so that the host itself has nothing to read or write around it.
    pub(crate) fn working_directory(&self) -> PathBuf {
        self.root.join("empty")
    }

    /// The process that was recorded here, with its start time, if it was.
    pub fn recorded(&self) -> Option<(i32, String)> {
        let text = fs::read_to_string(self.root.join("pid")).ok()?;
        let (pid, started) = text.split_once(' ')?;
        Some((pid.parse().ok()?, started.to_owned()))
    }
}

impl HostDirectory {
    /// Makes the directory. It appears in `hosts` only when it is locked, so that no sweep takes it for one whose owner
    /// died.
    pub(crate) fn create(hosts: &Path, nonce: &str, tenure: Tenure) -> io::Result<Self> {
        let private = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path);
        private(hosts)?;
        let place = HostPaths::of(hosts, nonce);
        let fits = place.root == place.listed;
        let building = if fits { hosts.join(format!("{BUILDING}{nonce}")) } else { place.root.clone() };
        private(&building)?;
        let lock = File::create(building.join("lock"))?;
        lock.try_lock().map_err(io::Error::from)?;
        private(&building.join("empty"))?;
        private(&building.join("tmp"))?;
        if tenure == Tenure::Kept {
            File::create(building.join("kept"))?;
        }
        if fits {
            fs::rename(&building, &place.root)?;
        } else {
            symlink(&place.root, &place.listed)?;
        }
        Ok(Self { place, lock: Mutex::new(Some(lock)), goes_with_us: AtomicBool::new(true) })
    }

    /// Takes over the directory of a kept host whose engine is gone, if it is unchanged.
    pub(crate) fn adopt(hosts: &Path, nonce: &str) -> Result<Self, Doubt> {
        let place = HostPaths::find(hosts, nonce);
        let odd = |what: &str| Doubt::Odd(format!("{} {what}", place.root.display()));
        let looked =
            fs::symlink_metadata(&place.root).map_err(|error| odd(&format!("is not there: {error}")))?;
        if !looked.is_dir() || looked.mode() & 0o777 != 0o700 || looked.uid() != geteuid().as_raw() {
            return Err(odd("is not a directory of ours alone"));
        }
        if !is_kept(&place.root) {
            return Err(odd("is not that of a kept host"));
        }
        let lock = File::open(place.root.join("lock")).map_err(|_| odd("has no lock"))?;
        lock.try_lock().map_err(|_| Doubt::Owned)?;
        // Newer versions listen elsewhere, in a directory of the user's alone, and leave a link.
        let socket = fs::metadata(place.socket()).map_err(|_| odd("has no socket"))?;
        if !socket.file_type().is_socket() || socket.uid() != geteuid().as_raw() {
            return Err(odd("has a socket that is not ours"));
        }
        Ok(Self { place, lock: Mutex::new(Some(lock)), goes_with_us: AtomicBool::new(false) })
    }

    /// Where the host listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.place.socket()
    }

    /// Where the host works.
    pub(crate) fn working_directory(&self) -> PathBuf {
        self.place.working_directory()
    }

    /// A temporary directory of the host's own.
    pub(crate) fn tmp(&self) -> PathBuf {
        self.place.root.join("tmp")
    }

    /// The directory itself.
    pub(crate) fn root(&self) -> &Path {
        &self.place.root
    }

    /// Records which process this is, for a later cleanup.
    pub(crate) fn record(&self, pid: i32, started: Option<&str>) -> io::Result<()> {
        fs::write(self.place.root.join("pid"), format!("{pid} {}", started.unwrap_or("")))
    }

    /// When the host was started, as the file about its process says.
    pub(crate) fn recorded_at(&self) -> Option<SystemTime> {
        fs::metadata(self.place.root.join("pid")).and_then(|file| file.modified()).ok()
    }

    /// Releases the directory without removing it; another engine may take it over.
    pub(crate) fn leave(&self) {
        self.goes_with_us.store(false, Ordering::Relaxed);
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Removes the directory, once the host has ended.
    pub(crate) fn remove(&self) {
        remove(&self.place.listed);
    }
}

impl Drop for HostDirectory {
    fn drop(&mut self) {
        if *self.goes_with_us.get_mut() {
            self.remove();
        }
    }
}

/// Returns whether this directory belongs to a kept host.
pub(crate) fn is_kept(root: &Path) -> bool {
    root.join("kept").exists()
}

/// Returns whether a living process owns this directory.
pub fn is_owned(root: &Path) -> bool {
    File::open(root.join("lock")).is_ok_and(|lock| lock.try_lock().is_err())
}

/// Removes what is left of a host that has ended, if it is ours to remove.
pub fn remove_leftovers(hosts: &Path, nonce: &str) {
    let place = HostPaths::find(hosts, nonce);
    let is_ours = |path: &Path| {
        fs::symlink_metadata(path).is_ok_and(|looked| looked.is_dir() && looked.uid() == geteuid().as_raw())
    };
    if is_ours(&place.root) {
        remove_socket(&place.root);
        let _ = fs::remove_dir_all(&place.root);
    }
    if place.listed.is_symlink() {
        let _ = fs::remove_file(&place.listed);
    }
    // One whose engine died while it was built.
    let building = hosts.join(format!("{BUILDING}{nonce}"));
    if is_ours(&building) {
        let _ = fs::remove_dir_all(building);
    }
}

/// Removes copied links and directories of the original's hosts from a copy of a home, but not their targets, which
/// belong to the original. Directories of a living process are kept.
pub fn remove_copies(hosts: &Path) {
    for entry in fs::read_dir(hosts).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_symlink() {
            let _ = fs::remove_file(path);
        } else if !is_owned(&path) {
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Removes a directory and the link to it. If that fails, the next sweep removes it.
pub(crate) fn remove(listed: &Path) {
    if let Ok(root) = listed.canonicalize() {
        remove_socket(&root);
        let _ = fs::remove_dir_all(root);
    }
    let _ = fs::remove_file(listed);
}

/// Removes the socket of a Codex that was killed, at the path of a newer version; it removes it itself when it is
/// asked to end. Its name is derived from ours, so no other directory can be affected.
fn remove_socket(root: &Path) {
    let Ok(socket) = fs::read_link(root.join("s")) else { return };
    let directory = format!("codex-daemon-{}", geteuid().as_raw());
    if socket.parent().and_then(Path::file_name).is_some_and(|name| *name == *directory) {
        let _ = fs::remove_file(&socket);
        let _ = fs::remove_file(socket.with_extension("lock"));
    }
}

fn short_parent() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    runtime.filter(|path| path.is_dir()).unwrap_or_else(|| PathBuf::from("/tmp"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn nonce() -> String {
        uuid::Uuid::new_v4().simple().to_string()
    }

    #[test]
    fn a_long_home_still_gives_a_short_socket_path() {
        let base = tempfile::tempdir().unwrap();
        let long = base.path().join("x".repeat(120));
        let directory = HostDirectory::create(&long, &nonce(), Tenure::Private).unwrap();
        assert!(directory.socket().as_os_str().len() <= SOCKET_PATH_LIMIT);
        let root = directory.place.root.clone();
        assert!(root.join("empty").is_dir());
        assert!(fs::symlink_metadata(&directory.place.listed).is_ok());
        drop(directory);
        assert!(!root.exists());
        assert_eq!(fs::read_dir(&long).unwrap().count(), 0);
    }

    #[test]
    fn a_kept_directory_changes_hands_only_when_it_is_as_it_was_left() {
        let base = tempfile::tempdir().unwrap();
        for hosts in [base.path().join("h"), base.path().join("x".repeat(120))] {
            let nonce = nonce();
            let odd = |part: &str| match HostDirectory::adopt(&hosts, &nonce) {
                Err(Doubt::Odd(why)) => assert!(why.contains(part), "{why}"),
                other => panic!("{other:?}"),
            };
            odd("is not there");
            let directory = HostDirectory::create(&hosts, &nonce, Tenure::Kept).unwrap();
            let root = directory.place.root.clone();
            assert!(matches!(HostDirectory::adopt(&hosts, &nonce), Err(Doubt::Owned)));
            directory.leave();
            drop(directory);
            odd("has no socket");
            let _listener = UnixListener::bind(root.join("s")).unwrap();
            fs::set_permissions(&root, fs::Permissions::from_mode(0o750)).unwrap();
            odd("of ours alone");
            fs::set_permissions(&root, fs::Permissions::from_mode(0o700)).unwrap();
            let adopted = HostDirectory::adopt(&hosts, &nonce).unwrap();
            drop(adopted);
            assert!(root.exists(), "it stays for as long as the host does");
            HostDirectory::adopt(&hosts, &nonce).unwrap().remove();
            assert!(!root.exists() && fs::read_dir(&hosts).unwrap().count() == 0);
        }
    }

    #[test]
    fn a_link_to_somebody_elses_directory_is_not_followed() {
        let base = tempfile::tempdir().unwrap();
        let (hosts, precious, nonce) = (base.path().join("h"), base.path().join("precious"), nonce());
        fs::create_dir_all(&hosts).unwrap();
        fs::create_dir(&precious).unwrap();
        symlink(&precious, hosts.join(&nonce)).unwrap();
        assert!(matches!(HostDirectory::adopt(&hosts, &nonce), Err(Doubt::Odd(_))));
        remove_leftovers(&hosts, &nonce);
        assert!(precious.is_dir() && fs::read_dir(&hosts).unwrap().count() == 0);
    }

    #[test]
    fn the_socket_that_codex_put_elsewhere_goes_as_well_and_nothing_else_does() {
        let base = tempfile::tempdir().unwrap();
        let elsewhere = base.path().join(format!("codex-daemon-{}", geteuid().as_raw()));
        fs::create_dir(&elsewhere).unwrap();
        let hosts = base.path().join("h");
        for (target, goes) in [(elsewhere.join("ab12"), true), (base.path().join("precious"), false)] {
            let lock = target.with_extension("lock");
            for file in [&target, &lock] {
                File::create(file).unwrap();
            }
            let directory = HostDirectory::create(&hosts, &nonce(), Tenure::Private).unwrap();
            symlink(&target, directory.socket()).unwrap();
            drop(directory);
            assert_eq!((target.exists(), lock.exists()), (!goes, !goes));
        }
    }
}
