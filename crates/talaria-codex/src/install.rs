//! Installs a Codex version with npm into Talaria's home.
//!
//! Owns the steps: lock, download to a temporary directory, verify, rename. A version's directory appears only
//! complete and verified, and dropping the future leaves nothing: npm is killed, the half-made directory removed.
//! npm's own settings (registry, proxy, certificates) are the user's and are not changed. Called by `setup` and
//! `demo`.

mod error;
mod npm;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use talaria_core::version::Version;
use tempfile::TempDir;

use super::locate::native;
use super::locate::{CodexBinary, CodexOrigin, examine};
pub use error::InstallError;
use talaria_home::home::{TalariaHome, ensure_dir};

/// Poll interval for the size on disk and for the lock.
const POLL: Duration = Duration::from_millis(200);

/// Free disk space required after an installation.
const SPARE: usize = 1024 * 1024;

/// The names of directories that are not installed versions; never the name of a version.
const INCOMING: &str = ".incoming-";
const OUTGOING: &str = ".outgoing-";

/// Progress of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallProgress {
    /// Another process installs into the same home.
    Waiting,
    /// npm was started and nothing is on disk yet.
    Resolving,
    /// The package arrives.
    Downloading {
        /// Bytes unpacked so far.
        bytes_on_disk: u64,
        /// The final size, if the registry reports it.
        expected: Option<u64>,
    },
    /// It is here and is being asked for its version.
    Verifying,
    /// It works.
    Done,
}

/// An installed Codex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallOutcome {
    /// It was installed and works; nothing was downloaded.
    AlreadyThere(CodexBinary),
    /// It was installed now.
    Fresh(CodexBinary),
}

impl InstallOutcome {
    /// The installed Codex.
    pub fn binary(&self) -> &CodexBinary {
        match self {
            Self::AlreadyThere(binary) | Self::Fresh(binary) => binary,
        }
    }
}

/// Finds the native program of an installed version, without running it.
pub fn installed(home: &TalariaHome, version: &Version) -> Option<PathBuf> {
    native::native_of(&native::launcher_in(&home.codex_dir(version)))
}

/// Installs `version` unless a working one exists. Dropping the future undoes the installation.
pub async fn install(
    home: &TalariaHome,
    version: &Version,
    progress: &mut (dyn FnMut(InstallProgress) + Send),
) -> Result<InstallOutcome, InstallError> {
    install_with(Path::new("npm"), home, version, progress).await
}

async fn install_with(
    npm: &Path,
    home: &TalariaHome,
    version: &Version,
    progress: &mut (dyn FnMut(InstallProgress) + Send),
) -> Result<InstallOutcome, InstallError> {
    let dir = home.codex_dir(version);
    if let Ok(binary) = prove(&dir, version).await {
        progress(InstallProgress::Done);
        return Ok(InstallOutcome::AlreadyThere(binary));
    }
    let platform = native::platform().ok_or(InstallError::UnsupportedPlatform)?;
    let root = home.codex_root();
    ensure_dir(&root)?;
    let _lock = lock(&root, progress).await?;
    // The previous holder of the lock may have done the work.
    if let Ok(binary) = prove(&dir, version).await {
        progress(InstallProgress::Done);
        return Ok(InstallOutcome::AlreadyThere(binary));
    }
    clear_leftovers(&root);
    let incoming = beside(&root, INCOMING)?;
    npm::download(npm, incoming.path(), version, platform, progress).await?;
    progress(InstallProgress::Verifying);
    check_space(incoming.path(), &root)?;
    prove(incoming.path(), version).await?;
    move_into_place(incoming, &root, &dir)?;
    let binary = prove(&dir, version).await?;
    progress(InstallProgress::Done);
    Ok(InstallOutcome::Fresh(binary))
}

/// Runs the Codex in `dir` and compares its version with the wanted one.
///
/// This, not the existence of the directory, is what "installed" means: a power cut may leave empty files.
async fn prove(dir: &Path, version: &Version) -> Result<CodexBinary, InstallError> {
    let launcher = native::launcher_in(dir);
    native::native_of(&launcher).ok_or(InstallError::Incomplete)?;
    let binary = examine(&launcher, CodexOrigin::Installed).await?;
    if binary.version == *version {
        Ok(binary)
    } else {
        Err(InstallError::WrongVersion { wanted: version.clone(), found: binary.version })
    }
}

/// npm reports success although the disk was full, and leaves truncated files: writing one more file shows it.
fn check_space(dir: &Path, root: &Path) -> Result<(), InstallError> {
    let path = dir.join(".space");
    let written = std::fs::write(&path, vec![1; SPARE]).and_then(|()| std::fs::remove_file(&path));
    written.map_err(|source| InstallError::disk(root, source))
}

/// Waits for the right to install. Asks again and again instead of blocking a thread, which could not be cancelled.
async fn lock(root: &Path, progress: &mut (dyn FnMut(InstallProgress) + Send)) -> Result<File, InstallError> {
    let path = root.join(".lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|source| InstallError::disk(&path, source))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => progress(InstallProgress::Waiting),
            Err(TryLockError::Error(source)) => return Err(InstallError::disk(&path, source)),
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Removes the leftovers of a killed installation; we hold the lock, so they are unused.
fn clear_leftovers(root: &Path) {
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if [INCOMING, OUTGOING].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            // Not being able to tidy up is no reason not to install.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Moves the verified package to its final path; an existing one there did not work.
fn move_into_place(incoming: TempDir, root: &Path, dir: &Path) -> Result<(), InstallError> {
    let disk = |source| InstallError::disk(dir, source);
    if std::fs::symlink_metadata(dir).is_ok() {
        let outgoing = beside(root, OUTGOING)?;
        std::fs::rename(dir, outgoing.path().join("codex")).map_err(disk)?;
    }
    std::fs::rename(incoming.path(), dir).map_err(disk)?;
    // The directory has another name now; there is nothing to remove under the old one.
    let _ = incoming.keep();
    Ok(())
}

fn beside(root: &Path, prefix: &str) -> Result<TempDir, InstallError> {
    let made = tempfile::Builder::new().prefix(prefix).tempdir_in(root);
    made.map_err(|source| InstallError::disk(root, source))
}

#[cfg(test)]
mod tests;
