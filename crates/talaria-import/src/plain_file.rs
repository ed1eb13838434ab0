//! Reads a file of another program: no link, no pipe, nothing that has no end.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Reads a file that is no link. One that is longer than `limit` bytes returns one byte more than that.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    // A pipe in its place would wait for a writer.
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
