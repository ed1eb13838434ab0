//! The log of engines started in the background: their standard output and error.
//!
//! Only its owner can read it. Bounded at each start: a long log becomes `engine.log.old`, replacing the previous one.
//! The engine masks secrets before it writes; quotations are masked again, because a program that fails to start may not
//! be an engine.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use talaria_guard::redact::redact;

use super::LaunchError;

/// How large the log may be when an engine is started.
const LIMIT: u64 = 1024 * 1024;
/// How much of its end is read.
const END: u64 = 4096;
/// How many lines of it are quoted.
const LINES: usize = 12;

/// The log, as one command sees it: only what was written since it was opened is of interest.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
    from: u64,
}

impl Log {
    /// Opens the log of `home`, and creates it if it does not exist.
    pub(super) fn open(home: &Path) -> Result<Self, LaunchError> {
        let error = |path: &Path| {
            let path = path.to_owned();
            move |source| LaunchError::Home { path, source }
        };
        DirBuilder::new().recursive(true).mode(0o700).create(home).map_err(error(home))?;
        let path = home.join("engine.log");
        if fs::metadata(&path).is_ok_and(|metadata| metadata.len() > LIMIT) {
            fs::rename(&path, home.join("engine.log.old")).map_err(error(&path))?;
        }
        let file =
            OpenOptions::new().create(true).append(true).mode(0o600).open(&path).map_err(error(&path))?;
        // A log that someone made readable for others, or copied here, is private again.
        file.set_permissions(Permissions::from_mode(0o600)).map_err(error(&path))?;
        let from = file.metadata().map_err(error(&path))?.len();
        Ok(Self { path, file, from })
    }

    pub(super) fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// A handle for a process to write to.
    pub(super) fn writer(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// The last lines written since the log was opened, each on its own line, or nothing.
    pub(super) fn end(&self) -> String {
        let read = || -> io::Result<String> {
            let mut file = File::open(&self.path)?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(self.from.max(length.saturating_sub(END))))?;
            let mut bytes = Vec::new();
            file.take(END).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let text = read().unwrap_or_default();
        let text = redact(&text);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(LINES)..];
        last.iter().map(|line| format!("\n  {line}")).collect()
    }
}
