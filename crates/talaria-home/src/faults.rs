//! Named points at which a test may stop or kill Talaria, Codex or both. Only in test builds (feature `faults`).
//!
//! If `TALARIA_FAULTS` names a unix socket, a point writes its name there and waits until the other side answers or
//! disconnects; the listener may kill processes meanwhile. Without the feature a point does nothing.

/// Passes a point.
#[cfg(not(feature = "faults"))]
#[inline]
pub async fn point(_name: &str) {}

/// Passes a point.
#[cfg(feature = "faults")]
pub async fn point(name: &str) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let Some(socket) = std::env::var_os("TALARIA_FAULTS") else { return };
    // Without a listening harness every point passes.
    let Ok(mut stream) = tokio::net::UnixStream::connect(socket).await else { return };
    if stream.write_all(format!("{name}\n").as_bytes()).await.is_ok() {
        let mut answer = [0; 1];
        let _ = stream.read(&mut answer).await;
    }
}

/// Passes a point outside of any runtime.
#[cfg(not(feature = "faults"))]
#[inline]
pub fn blocking_point(_name: &str) {}

/// Passes a point outside of any runtime.
#[cfg(feature = "faults")]
pub fn blocking_point(name: &str) {
    use std::io::{Read, Write};

    let Some(socket) = std::env::var_os("TALARIA_FAULTS") else { return };
    let Ok(mut stream) = std::os::unix::net::UnixStream::connect(socket) else { return };
    if stream.write_all(format!("{name}\n").as_bytes()).is_ok() {
        let mut answer = [0; 1];
        let _ = stream.read(&mut answer);
    }
}

/// Returns an error while a test simulates a full disk for the user's files.
#[cfg(not(feature = "faults"))]
#[inline]
pub fn check_space() -> std::io::Result<()> {
    Ok(())
}

/// Returns an error while a test simulates a full disk for the user's files: while the file exists that `TALARIA_FULL_DISK`
/// names. A small file system would need privileges, and a limit on sizes would hit the database first.
#[cfg(feature = "faults")]
pub fn check_space() -> std::io::Result<()> {
    let mark = std::env::var_os("TALARIA_FULL_DISK");
    match mark.is_some_and(|mark| std::path::Path::new(&mark).exists()) {
        true => Err(std::io::ErrorKind::StorageFull.into()),
        false => Ok(()),
    }
}

/// Returns whether a test injects a panic at this point of a command.
#[cfg(not(feature = "faults"))]
#[inline]
pub fn is_panic_wanted(_name: &str) -> bool {
    false
}

/// Returns whether a test injects a panic at this point of a command. `TALARIA_PANIC` names it.
#[cfg(feature = "faults")]
pub fn is_panic_wanted(name: &str) -> bool {
    std::env::var_os("TALARIA_PANIC").is_some_and(|wanted| wanted == name)
}
