//! Runs npm and measures its progress on the disk: npm prints no progress into a pipe.
//!
//! Owns npm's command lines. No registry is named: npm knows the user's.

use std::io;
use std::path::Path;
use std::pin::pin;
use std::process::Stdio;

use talaria_core::version::Version;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::MissedTickBehavior;

use super::{InstallError, InstallProgress, POLL};
use crate::locate::child_guard::ChildGuard;
use crate::locate::native::Platform;

/// How much of npm's last output is kept.
const KEPT: usize = 16 * 1024;

/// Overrides of user settings that would put the package elsewhere, leave half of it out, or run its scripts; the
/// Codex packages have none.
const INSTALL: &[&str] = &[
    "install",
    "--no-global",
    "--no-save",
    "--no-package-lock",
    "--no-audit",
    "--no-fund",
    "--include=optional",
    "--bin-links",
    "--ignore-scripts",
    "--loglevel=error",
    "--no-update-notifier",
    "--no-color",
];

/// Installs `version` below `dir`. Dropping the future kills npm.
pub(super) async fn download(
    npm: &Path,
    dir: &Path,
    version: &Version,
    platform: Platform,
    progress: &mut (dyn FnMut(InstallProgress) + Send),
) -> Result<(), InstallError> {
    let mut command = Command::new(npm);
    // A directory of our own: a project's settings or tool versions must not decide about Talaria's Codex.
    command.args(INSTALL).arg("--prefix").arg(dir).arg(format!("@openai/codex@{version}")).current_dir(dir);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut guard = ChildGuard::spawn(&mut command).map_err(|error| cannot_start(npm, &error))?;
    let child = guard.child();
    let stderr = child.stderr.take();
    progress(InstallProgress::Resolving);

    let mut finish = pin!(async { tokio::join!(tail(stderr), child.wait()) });
    let mut sizing = pin!(unpacked_size(npm, dir, version, platform));
    let mut tick = tokio::time::interval(POLL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut sized, mut expected) = (false, None);
    let (stderr, status) = loop {
        tokio::select! {
            finished = &mut finish => break finished,
            size = &mut sizing, if !sized => (sized, expected) = (true, size),
            _ = tick.tick() => report(dir, expected, progress),
        }
    };
    // The directory itself is gone when the message is read; its parent is what the user knows.
    let failed = |status| InstallError::npm(status, &stderr, dir.parent().unwrap_or(dir));
    match status {
        Ok(status) if status.success() => {
            report(dir, expected, progress);
            // npm reports success although the package of the platform, an optional one, failed half-way.
            let is_whole = expected.is_none_or(|expected| bytes_below(dir) >= expected);
            is_whole.then_some(()).ok_or(InstallError::Incomplete)
        }
        Ok(status) => Err(failed(status.to_string())),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Asks the registry how large the unpacked package is; not every registry reports it.
async fn unpacked_size(npm: &Path, dir: &Path, version: &Version, platform: Platform) -> Option<u64> {
    let mut command = Command::new(npm);
    // The packages of the platforms are published as versions of the one name.
    let package = format!("@openai/codex@{version}-{}", platform.name);
    command.args([
        "view",
        "--json",
        "--loglevel=error",
        "--no-update-notifier",
        &package,
        "dist.unpackedSize",
    ]);
    command.current_dir(dir).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut guard = ChildGuard::spawn(&mut command).ok()?;
    let answer = tail(guard.child().stdout.take()).await;
    serde_json::from_str(&answer).ok()
}

fn cannot_start(npm: &Path, error: &io::Error) -> InstallError {
    match error.kind() {
        io::ErrorKind::NotFound => InstallError::NpmMissing,
        _ => InstallError::npm("it did not start".to_owned(), &error.to_string(), npm),
    }
}

/// Nothing is said before the first file: a download of 0 bytes would be a claim without evidence.
fn report(dir: &Path, expected: Option<u64>, progress: &mut (dyn FnMut(InstallProgress) + Send)) {
    let bytes_on_disk = bytes_below(dir);
    if bytes_on_disk > 0 {
        progress(InstallProgress::Downloading { bytes_on_disk, expected });
    }
}

/// Adds up the files below a directory. The package has some hundred files: no need for another thread.
fn bytes_below(dir: &Path) -> u64 {
    // npm moves files meanwhile: a missing one counts as zero.
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) if metadata.is_file() => metadata.len(),
        _ => 0,
    });
    sizes.sum()
}

/// Reads to the end and keeps the last part.
async fn tail(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let mut kept = Vec::new();
    if let Some(mut pipe) = pipe {
        let mut chunk = vec![0; 4096];
        while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
            kept.extend_from_slice(&chunk[..count]);
            kept.drain(..kept.len().saturating_sub(KEPT));
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}
