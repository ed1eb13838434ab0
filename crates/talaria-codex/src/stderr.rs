//! The standard error of Codex: read to the end so that Codex never blocks on it, with the last lines kept.
//!
//! The lines are for people, after a failure; the code that shows them redacts them. Colours are removed. A mark
//! separates the lines of one turn from earlier ones. A kept host writes to a file, since a pipe would break with us;
//! it is read on demand, and truncated when it has grown large. The file is unlinked, because its lines may hold
//! secrets: only the process itself still has it open, and the next engine opens it through the process.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt, BufReader};
use tokio::process::ChildStderr;

/// How many lines are kept.
pub(crate) const LINES: usize = 500;
/// How much of a line is kept.
const LINE_BYTES: usize = 2000;
/// How large a file may grow before it is emptied.
const FILE_BYTES: u64 = 1024 * 1024;

/// The last lines of a standard error.
#[derive(Clone, Debug, Default)]
pub struct HostStderr {
    kept: Arc<Mutex<StderrLines>>,
}

#[derive(Debug, Default)]
struct StderrLines {
    lines: VecDeque<String>,
    /// Lines seen, including those that are no longer kept.
    seen: usize,
    /// Lines before this one belong to nothing that runs now.
    quoted_from: usize,
    /// The beginning of a line that is not finished.
    partial: Vec<u8>,
    /// Where the rest is read from, if it is a file.
    file: Option<File>,
}

/// A position among the lines.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StderrMark(usize);

impl HostStderr {
    /// Reads a pipe to its end.
    pub(crate) async fn read(self, pipe: ChildStderr) {
        let mut pipe = BufReader::new(pipe);
        let mut chunk = [0; 4096];
        while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
            self.lock().take(&chunk[..read]);
        }
        self.finish();
    }

    /// Ends the input: an unfinished line counts as a line.
    pub(crate) fn finish(&self) {
        let mut kept = self.lock();
        if !kept.partial.is_empty() {
            kept.finish_line();
        }
    }

    /// Creates an unlinked file in this directory. Also returns the file for the process to write to, in append mode,
    /// so that it can be truncated meanwhile.
    pub(crate) fn in_unlinked_file(directory: &Path) -> io::Result<(Self, File)> {
        let path = directory.join("stderr");
        let writer = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
        let stderr = Self::in_file(&path);
        fs::remove_file(&path)?;
        Ok((stderr?, writer))
    }

    /// The standard error of a process that an earlier engine started, including earlier lines. Where the files of a
    /// process cannot be opened (macOS), there are no lines.
    pub(crate) fn of_process(pid: i32) -> Self {
        Self::in_file(Path::new(&format!("/proc/{pid}/fd/2"))).unwrap_or_default()
    }

    fn in_file(path: &Path) -> io::Result<Self> {
        // A terminal or a pipe would be waited for. Emptying it needs the right to write.
        if !fs::metadata(path)?.is_file() {
            return Ok(Self::default());
        }
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let stderr = Self::default();
        stderr.guard().file = Some(file);
        stderr.refresh();
        Ok(stderr)
    }

    /// Reads new output, and truncates the file if it is large. Output between the two is lost.
    pub(crate) fn refresh(&self) {
        drop(self.lock());
    }

    /// The last lines.
    #[cfg(test)]
    pub(crate) fn tail(&self, count: usize) -> Vec<String> {
        let kept = self.lock();
        kept.tail(count)
    }

    /// Where the lines end now.
    pub(crate) fn mark(&self) -> StderrMark {
        StderrMark(self.lock().seen)
    }

    /// The lines after a mark, as far as they are kept.
    pub(crate) fn since(&self, mark: StderrMark) -> Vec<String> {
        let kept = self.lock();
        kept.tail(kept.seen.saturating_sub(mark.0))
    }

    /// Marks all lines so far as unrelated to what follows: they are no longer quoted.
    pub(crate) fn stop_quoting(&self) {
        let mut kept = self.lock();
        kept.quoted_from = kept.seen;
    }

    /// Returns the last non-empty lines below a heading with their number; empty if there are none.
    pub(crate) fn quoted(&self, count: usize) -> String {
        let kept = self.lock();
        let forgotten = kept.seen - kept.lines.len();
        let current = kept.lines.iter().skip(kept.quoted_from.saturating_sub(forgotten));
        let said: Vec<&str> = current.map(|line| line.trim_end()).filter(|line| !line.is_empty()).collect();
        let last = &said[said.len().saturating_sub(count)..];
        let heading = match last.len() {
            0 => return String::new(),
            1 => "\ncodex stderr (last line):".to_owned(),
            count => format!("\ncodex stderr (last {count} lines):"),
        };
        last.iter().fold(heading, |text, line| format!("{text}\n  {line}"))
    }

    fn lock(&self) -> MutexGuard<'_, StderrLines> {
        let mut kept = self.guard();
        kept.read_file();
        kept
    }

    fn guard(&self) -> MutexGuard<'_, StderrLines> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StderrLines {
    /// A file that cannot be read has nothing new: standard error is never a reason to fail.
    fn read_file(&mut self) {
        let Some(mut file) = self.file.take() else { return };
        let size = file.metadata().map_or(0, |file| file.len());
        // After a long time without a reader it may be of any size; only its end is of interest.
        if size > FILE_BYTES && file.stream_position().is_ok_and(|at| at < size - FILE_BYTES) {
            let _ = file.seek(SeekFrom::Start(size - FILE_BYTES));
            self.partial.clear();
        }
        let mut chunk = [0; 8192];
        while let Ok(read @ 1..) = file.read(&mut chunk) {
            self.take(&chunk[..read]);
        }
        if size > FILE_BYTES && file.set_len(0).is_ok() {
            let _ = file.rewind();
        }
        self.file = Some(file);
    }

    fn take(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                b'\n' => self.finish_line(),
                _ if self.partial.len() < LINE_BYTES => self.partial.push(byte),
                _ => {}
            }
        }
    }

    fn finish_line(&mut self) {
        let line = std::mem::take(&mut self.partial);
        self.keep(&line);
    }

    fn keep(&mut self, line: &[u8]) {
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.seen += 1;
        self.lines.push_back(strip_escapes(&String::from_utf8_lossy(line)));
    }

    fn tail(&self, count: usize) -> Vec<String> {
        self.lines.iter().skip(self.lines.len().saturating_sub(count)).cloned().collect()
    }
}

/// Removes colour sequences: Codex writes them even when it has no terminal.
fn strip_escapes(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character != '\u{1b}' {
            plain.push(character);
        } else if characters.next() == Some('[') {
            // A sequence ends with its first letter.
            characters.by_ref().find(char::is_ascii_alphabetic);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn stderr(lines: &[&str]) -> HostStderr {
        let stderr = HostStderr::default();
        lines.iter().for_each(|line| stderr.lock().keep(line.as_bytes()));
        stderr
    }

    #[test]
    fn colours_are_removed_from_complaints() {
        assert_eq!(strip_escapes("\u{1b}[2m2026\u{1b}[0m \u{1b}[31mERROR\u{1b}[0m x"), "2026 ERROR x");
    }

    #[test]
    fn the_heading_counts_the_lines_that_are_shown() {
        assert_eq!(stderr(&["", "  "]).quoted(20), "");
        assert_eq!(stderr(&["", "a  "]).quoted(20), "\ncodex stderr (last line):\n  a");
        let many = stderr(&["a", "", "b", "   ", "c", ""]);
        assert_eq!(many.quoted(2), "\ncodex stderr (last 2 lines):\n  b\n  c");
        assert_eq!(many.quoted(20), "\ncodex stderr (last 3 lines):\n  a\n  b\n  c");
    }

    #[test]
    fn what_is_done_with_is_not_quoted() {
        let stderr = stderr(&["old"]);
        stderr.stop_quoting();
        assert_eq!(stderr.quoted(20), "");
        stderr.lock().keep(b"new");
        assert_eq!(stderr.quoted(20), "\ncodex stderr (last line):\n  new");
        (0..LINES * 2).for_each(|_| stderr.lock().keep(b"flood"));
        assert!(stderr.quoted(20).starts_with("\ncodex stderr (last 20 lines):\n  flood"));
        stderr.stop_quoting();
        assert_eq!(stderr.quoted(20), "");
    }

    #[test]
    fn the_lines_of_a_turn_are_those_after_its_mark() {
        let stderr = stderr(&["before"]);
        let mark = stderr.mark();
        assert!(stderr.since(mark).is_empty());
        stderr.lock().keep(b"after");
        assert_eq!(stderr.since(mark), ["after"]);
        (0..LINES * 2).for_each(|_| stderr.lock().keep(b"flood"));
        assert_eq!(stderr.since(mark).len(), LINES);
    }

    #[test]
    fn a_file_is_read_as_it_grows_and_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let (stderr, mut writer) = HostStderr::in_unlinked_file(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        writer.write_all(b"one\ntw").unwrap();
        let mark = stderr.mark();
        assert_eq!(stderr.tail(5), ["one"]);
        writer.write_all(b"o\nthree\n").unwrap();
        assert_eq!(stderr.since(mark), ["two", "three"]);
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        assert!(HostStderr::in_file(folder.path()).unwrap().tail(1).is_empty());
        assert!(HostStderr::of_process(i32::MAX).tail(1).is_empty());
    }

    #[test]
    fn a_file_that_grows_large_is_emptied_under_its_writer_and_its_end_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (stderr, mut writer) = HostStderr::in_unlinked_file(folder.path()).unwrap();
        let flood: String = (0..120_000).map(|n| format!("{n:09}\n")).collect();
        for _ in 0..3 {
            writer.write_all(flood.as_bytes()).unwrap();
            assert_eq!(stderr.tail(1), ["000119999"]);
            assert_eq!(writer.metadata().unwrap().len(), 0);
        }
        writer.write_all(b"last\n").unwrap();
        assert_eq!(stderr.tail(2), ["000119999", "last"]);
        assert_eq!(writer.metadata().unwrap().len(), 5);
    }
}
