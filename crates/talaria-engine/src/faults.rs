//! Named points at which a test may stop or kill Talaria, Codex or both. Only in test builds (feature `faults`).
//!
//! If `TALARIA_FAULTS` names a unix socket, a point writes its name there and waits until the other side answers or goes
//! away; whoever listens kills whom it wants in the meantime. Without the feature a point is nothing.
//!
//! The file that `TALARIA_MAX_PAGES` names holds the most pages that the database may have: that is how a disk gets full,
//! and with an empty file it has room again.

use talaria_store::Store;

/// Passes a point.
#[cfg(not(feature = "faults"))]
#[inline]
pub(crate) async fn point(_name: &str) {}

/// Passes a point.
#[cfg(feature = "faults")]
pub(crate) async fn point(name: &str) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let Some(socket) = std::env::var_os("TALARIA_FAULTS") else { return };
    // A harness that is gone lets everything pass.
    let Ok(mut stream) = tokio::net::UnixStream::connect(socket).await else { return };
    if stream.write_all(format!("{name}\n").as_bytes()).await.is_ok() {
        let mut answer = [0; 1];
        let _ = stream.read(&mut answer).await;
    }
}

/// Passes a point outside of any runtime.
#[cfg(not(feature = "faults"))]
#[inline]
pub(crate) fn blocking_point(_name: &str) {}

/// Passes a point outside of any runtime.
#[cfg(feature = "faults")]
pub(crate) fn blocking_point(name: &str) {
    use std::io::{Read, Write};

    let Some(socket) = std::env::var_os("TALARIA_FAULTS") else { return };
    let Ok(mut stream) = std::os::unix::net::UnixStream::connect(socket) else { return };
    if stream.write_all(format!("{name}\n").as_bytes()).is_ok() {
        let mut answer = [0; 1];
        let _ = stream.read(&mut answer);
    }
}

/// Lets a test fill the disk.
#[cfg(not(feature = "faults"))]
#[inline]
pub(crate) fn limit_disk(_store: &Store) {}

/// Lets a test fill the disk, for as long as the process lives.
#[cfg(feature = "faults")]
pub(crate) fn limit_disk(store: &Store) {
    /// More than any database has.
    const NO_LIMIT: u32 = u32::MAX - 1;
    let Some(file) = std::env::var_os("TALARIA_MAX_PAGES") else { return };
    let store = store.clone();
    tokio::spawn(async move {
        let mut in_force = NO_LIMIT;
        loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let wanted = text.trim().parse().unwrap_or(NO_LIMIT);
            if wanted != in_force && store.limit_pages(wanted).await.is_ok() {
                in_force = wanted;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    });
}

/// Does a test want a panic at this place of a command?
#[cfg(not(feature = "faults"))]
#[inline]
pub fn is_panic_wanted(_name: &str) -> bool {
    false
}

/// Does a test want a panic at this place of a command? `TALARIA_PANIC` names it.
#[cfg(feature = "faults")]
pub fn is_panic_wanted(name: &str) -> bool {
    std::env::var_os("TALARIA_PANIC").is_some_and(|wanted| wanted == name)
}
