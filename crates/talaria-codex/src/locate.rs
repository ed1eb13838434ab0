//! Finds the Codex program that Talaria will start.
//!
//! Owns the order: the configured path and nothing else, or `codex` on PATH, or the one that `talaria setup`
//! installed. Every result was verified by running `--version` (`locator` caches it); nothing is copied or moved,
//! because Codex needs the rest of its package next to it. Called by `exec`, `demo` and `doctor`; `install` uses
//! the parts.

pub mod child_guard;
mod error;
mod locator;
pub(crate) mod native;
pub(crate) mod probe;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use talaria_core::version::{Support, Version, support};

pub use error::LocateError;
pub use locator::CodexLocator;
pub use talaria_core::api::CodexOrigin;
use talaria_home::home::TalariaHome;

/// A Codex that answered with its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodexBinary {
    /// What to start; absolute, the native program wherever it could be found.
    pub path: PathBuf,
    /// The npm launcher through which `path` was found; equal to `path` if it starts no native program.
    pub launcher: Option<PathBuf>,
    /// A directory that older launchers prepend to PATH (it contains `rg`): the code that starts `path` does the
    /// same.
    pub path_dir: Option<PathBuf>,
    /// Its origin.
    pub origin: CodexOrigin,
    /// Its reported version.
    pub version: Version,
    /// Why the `codex` on PATH was skipped and an installed one is used instead.
    pub passed_over: Option<LocateError>,
}

/// Where to look.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CodexSearch {
    /// The program that the user named, if any; then nothing else is considered.
    pub explicit: Option<PathBuf>,
    /// The value of PATH.
    pub path: Option<OsString>,
    /// The directory of the installed versions.
    pub installed: PathBuf,
}

impl CodexSearch {
    /// Looks in the PATH of this process and in `home`.
    pub fn from_env(explicit: Option<PathBuf>, home: &TalariaHome) -> Self {
        Self { explicit, path: std::env::var_os("PATH"), installed: home.codex_root() }
    }

    /// Looks in the PATH of a program that runs elsewhere, and in `home`. Relative directories are skipped: they
    /// depend on that program's working directory.
    pub fn from_path(explicit: Option<PathBuf>, path: &OsStr, home: &TalariaHome) -> Self {
        let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute());
        // It is a PATH that was split: nothing in it needs quoting.
        Self { explicit, path: std::env::join_paths(directories).ok(), installed: home.codex_root() }
    }
}

/// Finds Codex and asks it for its version. Dropping the future ends what it started.
///
/// A `codex` on PATH that cannot be used (too old, not executable, broken) is an error only if no installed version can
/// replace it: `talaria setup` must help without a change of PATH.
pub async fn locate(search: &CodexSearch) -> Result<CodexBinary, LocateError> {
    if let Some(explicit) = &search.explicit {
        return examine(explicit, CodexOrigin::Configured).await;
    }
    let on_path = match first_on_path(search) {
        Some(candidate) => match examine(&candidate, CodexOrigin::Path).await {
            Ok(binary) => return Ok(binary),
            Err(error) => Some(error),
        },
        None => None,
    };
    let mut broken = None;
    for launcher in installed_launchers(&search.installed) {
        match examine(&launcher, CodexOrigin::Installed).await {
            Ok(binary) => return Ok(CodexBinary { passed_over: on_path, ..binary }),
            Err(error) => broken = broken.or(Some(error)),
        }
    }
    Err(on_path.or(broken).unwrap_or_else(|| {
        let looked_in = path_dirs(search).chain([search.installed.clone()]).collect();
        LocateError::NotFound { looked_in }
    }))
}

/// The file that [`locate`] looks at first, if there is any.
fn candidate(search: &CodexSearch) -> Option<PathBuf> {
    let installed = || installed_launchers(&search.installed).into_iter().next();
    search.explicit.clone().or_else(|| first_on_path(search)).or_else(installed)
}

/// Proves that the file at `found` is a Codex we can drive.
pub(crate) async fn examine(found: &Path, origin: CodexOrigin) -> Result<CodexBinary, LocateError> {
    let path = found.to_owned();
    // Codex is started in another directory, and a bare name would be searched on PATH again.
    let found = match std::path::absolute(found) {
        Ok(found) => found,
        Err(error) => return Err(LocateError::FailedToRun { path, origin, cause: error.to_string() }),
    };
    match std::fs::metadata(&found) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(LocateError::NoSuchFile { path });
        }
        Err(error) => return Err(LocateError::FailedToRun { path, origin, cause: error.to_string() }),
        Ok(metadata) if !metadata.is_file() => return Err(LocateError::NotAFile { path, origin }),
        Ok(_) if !is_executable(&found) => return Err(LocateError::NotExecutable { path, origin }),
        Ok(_) => {}
    }
    let launcher = native::is_launcher(&found).then(|| found.clone());
    let path = launcher.as_deref().and_then(native::native_of).unwrap_or(found);
    let path_dir = native::path_dir(&path);
    let version = probe::version_of(&path, origin, probe::LIMIT).await?;
    if support(&version) == Support::TooOld {
        return Err(LocateError::TooOld { path, origin, version });
    }
    Ok(CodexBinary { path, launcher, path_dir, origin, version, passed_over: None })
}

/// Returns whether the file is executable for any user; running it shows whether we may.
pub(crate) fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Like a shell: the first executable one. Failing that the first file of the name, so that it can be named.
fn first_on_path(search: &CodexSearch) -> Option<PathBuf> {
    let files = || path_dirs(search).map(|dir| dir.join("codex")).filter(|candidate| candidate.is_file());
    files().find(|candidate| is_executable(candidate)).or_else(|| files().next())
}

/// The directories of PATH, each once. An empty entry means the working directory.
fn path_dirs(search: &CodexSearch) -> impl Iterator<Item = PathBuf> {
    let mut entries: Vec<PathBuf> = Vec::new();
    for dir in search.path.iter().flat_map(std::env::split_paths) {
        if !entries.contains(&dir) {
            entries.push(dir);
        }
    }
    entries.into_iter().map(|dir| if dir.as_os_str().is_empty() { PathBuf::from(".") } else { dir })
}

/// The launchers of the complete installations, the newest version first.
fn installed_launchers(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut found: Vec<(Version, PathBuf)> = entries
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            let launcher = native::launcher_in(&entry.path());
            native::native_of(&launcher).map(|_| (version, launcher))
        })
        .collect();
    found.sort_by(|(left, _), (right, _)| right.cmp(left));
    found.into_iter().map(|(_, launcher)| launcher).collect()
}

#[cfg(test)]
pub(crate) mod tests;
