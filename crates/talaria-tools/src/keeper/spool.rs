//! What a command prints, on disk: written by its keeper, read by any engine, bounded, and never twice.
//!
//! The output is divided into segments of equal length, `output-0`, `output-1`, …. The first ones and the last ones are
//! kept; those between are removed as it grows, so that a reader sees the beginning, the end, and how much is missing.
//! A position is a number of bytes from the beginning and stays true whatever was removed. Synchronous: the keeper has
//! no runtime, and a reader reads from the page cache.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

const PREFIX: &str = "output-";

/// How much output of a command is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpoolLimits {
    /// Bytes in a segment.
    pub segment: u64,
    /// How many segments are kept from the beginning.
    pub head: u64,
    /// How many segments are kept at the end.
    pub tail: u64,
}

impl Default for SpoolLimits {
    /// One MiB of the beginning, three of the end.
    fn default() -> Self {
        Self { segment: 256 * 1024, head: 4, tail: 12 }
    }
}

/// Writes the output of one command. There is one writer.
#[derive(Debug)]
pub struct SpoolWriter {
    directory: PathBuf,
    limits: SpoolLimits,
    written: u64,
    segment: Option<File>,
}

impl SpoolWriter {
    /// Writes into an empty directory.
    pub fn new(directory: &Path, limits: SpoolLimits) -> Self {
        Self { directory: directory.to_owned(), limits, written: 0, segment: None }
    }

    /// How many bytes were written, those that were removed since included.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Appends bytes. After an error `written` is still true: it counts what a reader can find.
    pub fn append(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = self.limits.segment - self.written % self.limits.segment;
            let length = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
            let mut file = match self.segment.take() {
                Some(file) if room < self.limits.segment => file,
                _ => self.next_segment()?,
            };
            let done = file.write(&bytes[..length])?;
            if done == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.written += done as u64;
            self.segment = Some(file);
            bytes = &bytes[done..];
        }
        Ok(())
    }

    fn next_segment(&self) -> io::Result<File> {
        let SpoolLimits { segment, head, tail } = self.limits;
        let index = self.written / segment;
        let path = segment_path(&self.directory, index);
        let file = File::options().append(true).create(true).mode(0o600).open(path)?;
        let oldest = index.checked_sub(tail).filter(|oldest| *oldest >= head);
        if let Some(oldest) = oldest {
            // A segment that cannot be removed is only more than was promised to be kept.
            let _ = fs::remove_file(segment_path(&self.directory, oldest));
        }
        Ok(file)
    }
}

/// Reads the output of one command from a position on. Any number of readers, in any process, at any time.
#[derive(Clone, Debug)]
pub struct SpoolReader {
    directory: PathBuf,
    segment: u64,
    position: u64,
}

/// A piece of output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpoolPiece {
    /// How many bytes before it are not kept any more.
    pub skipped: u64,
    /// The bytes; empty if nothing is there yet.
    pub bytes: Vec<u8>,
}

impl SpoolReader {
    /// Reads from `position` on.
    pub fn new(directory: &Path, limits: SpoolLimits, position: u64) -> Self {
        Self { directory: directory.to_owned(), segment: limits.segment, position }
    }

    /// The position of the next byte.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Reads at most this many bytes that were not read before.
    ///
    /// A piece does not cross a place where something is missing. An empty one means that there is nothing more now.
    pub fn read(&mut self, most: usize) -> io::Result<SpoolPiece> {
        let mut piece = SpoolPiece::default();
        while piece.bytes.len() < most {
            match self.read_segment(most - piece.bytes.len(), &mut piece.bytes)? {
                Found::Bytes => {}
                Found::End => break,
                Found::Missing if !piece.bytes.is_empty() => break,
                Found::Missing => match self.next_kept()? {
                    Some(kept) => {
                        piece.skipped += kept - self.position;
                        self.position = kept;
                    }
                    None => break,
                },
            }
        }
        Ok(piece)
    }

    fn read_segment(&mut self, most: usize, bytes: &mut Vec<u8>) -> io::Result<Found> {
        let inside = self.position % self.segment;
        let mut file = match File::open(segment_path(&self.directory, self.position / self.segment)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Missing),
            Err(error) => return Err(error),
        };
        file.seek(SeekFrom::Start(inside))?;
        let room = (self.segment - inside).min(most as u64);
        let read = file.take(room).read_to_end(bytes)?;
        self.position += read as u64;
        Ok(if read == 0 { Found::End } else { Found::Bytes })
    }

    /// Where the first segment after the present one begins that is kept; none if there is none.
    fn next_kept(&self) -> io::Result<Option<u64>> {
        let present = self.position / self.segment;
        let mut next: Option<u64> = None;
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            let index = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u64>().ok());
            if let Some(index) = index.filter(|index| *index > present) {
                next = Some(next.map_or(index, |least| least.min(index)));
            }
        }
        Ok(next.map(|index| index * self.segment))
    }
}

/// Result of reading a position.
enum Found {
    Bytes,
    /// The segment has no more bytes yet.
    End,
    /// There is no such segment: it was removed, or it was not begun.
    Missing,
}

fn segment_path(directory: &Path, index: u64) -> PathBuf {
    directory.join(format!("{PREFIX}{index}"))
}

#[cfg(test)]
mod tests;
