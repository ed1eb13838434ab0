//! What Codex writes to its standard error: read to the end so that Codex never blocks on it, the last lines kept.
//!
//! The lines are for people, after something went wrong; whoever shows them redacts them. Colours are removed. A mark
//! tells the lines of one turn from those before it. A kept host writes to a file, since a pipe would break with us; it
//! is read whenever somebody asks, and emptied when it has grown large. The file has no name, because what Codex says may
//! hold secrets: only the process itself still has it, and the next engine gets it from there.

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
pub struct Complaints {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<String>,
    /// How many there were, those that are no longer kept included.
    seen: usize,
    /// What came before concerns nothing that runs now.
    done_with: usize,
    /// The beginning of a line that is not finished.
    begun: Vec<u8>,
    /// Where the rest is read from, if it is a file.
    file: Option<File>,
}

/// A place among the lines.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark(usize);

impl Complaints {
    /// Reads a pipe to its end.
    pub(crate) async fn read(self, pipe: ChildStderr) {
        let mut pipe = BufReader::new(pipe);
        let mut chunk = [0; 4096];
        while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
            self.lock().take(&chunk[..read]);
        }
        self.finish();
    }

    /// Nothing more comes: what was begun is a line too.
    pub(crate) fn finish(&self) {
        let mut kept = self.lock();
        if !kept.begun.is_empty() {
            kept.finish_line();
        }
    }

    /// The complaints in a file without a name, made in this directory. Gives also the file for the process to write to,
    /// always at its end, so that it can be emptied under it.
    pub(crate) fn in_nameless_file(directory: &Path) -> io::Result<(Self, File)> {
        let path = directory.join("stderr");
        let writer = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
        let complaints = Self::in_file(&path);
        fs::remove_file(&path)?;
        Ok((complaints?, writer))
    }

    /// The complaints of a process that somebody else started, those included that were there before. Where a process
    /// cannot be asked for its files (macOS), what it says from now on is not known.
    pub(crate) fn of_process(pid: i32) -> Self {
        Self::in_file(Path::new(&format!("/proc/{pid}/fd/2"))).unwrap_or_default()
    }

    fn in_file(path: &Path) -> io::Result<Self> {
        // A terminal or a pipe would be waited for. Emptying it needs the right to write.
        if !fs::metadata(path)?.is_file() {
            return Ok(Self::default());
        }
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let complaints = Self::default();
        complaints.guard().file = Some(file);
        complaints.refresh();
        Ok(complaints)
    }

    /// Reads what came since, and empties the file if it is large. What is written between the two is lost.
    pub(crate) fn refresh(&self) {
        drop(self.lock());
    }

    /// The last lines.
    pub(crate) fn tail(&self, count: usize) -> Vec<String> {
        let kept = self.lock();
        kept.tail(count)
    }

    /// Where the lines end now.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.lock().seen)
    }

    /// The lines after a mark, as far as they are kept.
    pub(crate) fn since(&self, mark: Mark) -> Vec<String> {
        let kept = self.lock();
        kept.tail(kept.seen.saturating_sub(mark.0))
    }

    /// Notes that what was said so far concerns nothing that is to come: it is not quoted any more.
    pub(crate) fn be_done_with(&self) {
        let mut kept = self.lock();
        kept.done_with = kept.seen;
    }

    /// The last lines that say something, below a heading that tells how many they are; empty if there are none.
    pub(crate) fn quoted(&self, count: usize) -> String {
        let kept = self.lock();
        let forgotten = kept.seen - kept.lines.len();
        let current = kept.lines.iter().skip(kept.done_with.saturating_sub(forgotten));
        let said: Vec<&str> = current.map(|line| line.trim_end()).filter(|line| !line.is_empty()).collect();
        let last = &said[said.len().saturating_sub(count)..];
        let heading = match last.len() {
            0 => return String::new(),
            1 => "\ncodex stderr (last line):".to_owned(),
            count => format!("\ncodex stderr (last {count} lines):"),
        };
        last.iter().fold(heading, |text, line| format!("{text}\n  {line}"))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        let mut kept = self.guard();
        kept.read_file();
        kept
    }

    fn guard(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// A file that cannot be read has nothing new: complaints are never a reason to fail.
    fn read_file(&mut self) {
        let Some(mut file) = self.file.take() else { return };
        let size = file.metadata().map_or(0, |file| file.len());
        // After a long time without anybody it may be of any size; only its end is of interest.
        if size > FILE_BYTES && file.stream_position().is_ok_and(|at| at < size - FILE_BYTES) {
            let _ = file.seek(SeekFrom::Start(size - FILE_BYTES));
            self.begun.clear();
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
                _ if self.begun.len() < LINE_BYTES => self.begun.push(byte),
                _ => {}
            }
        }
    }

    fn finish_line(&mut self) {
        let line = std::mem::take(&mut self.begun);
        self.keep(&line);
    }

    fn keep(&mut self, line: &[u8]) {
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.seen += 1;
        self.lines.push_back(without_escapes(&String::from_utf8_lossy(line)));
    }

    fn tail(&self, count: usize) -> Vec<String> {
        self.lines.iter().skip(self.lines.len().saturating_sub(count)).cloned().collect()
    }
}

/// Removes colour sequences: Codex writes them also when nobody looks.
fn without_escapes(line: &str) -> String {
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

    fn complaints(lines: &[&str]) -> Complaints {
        let complaints = Complaints::default();
        lines.iter().for_each(|line| complaints.lock().keep(line.as_bytes()));
        complaints
    }

    #[test]
    fn colours_are_removed_from_complaints() {
        assert_eq!(without_escapes("\u{1b}[2m2026\u{1b}[0m \u{1b}[31mERROR\u{1b}[0m x"), "2026 ERROR x");
    }

    #[test]
    fn the_heading_counts_the_lines_that_are_shown() {
        assert_eq!(complaints(&["", "  "]).quoted(20), "");
        assert_eq!(complaints(&["", "a  "]).quoted(20), "\ncodex stderr (last line):\n  a");
        let many = complaints(&["a", "", "b", "   ", "c", ""]);
        assert_eq!(many.quoted(2), "\ncodex stderr (last 2 lines):\n  b\n  c");
        assert_eq!(many.quoted(20), "\ncodex stderr (last 3 lines):\n  a\n  b\n  c");
    }

    #[test]
    fn what_is_done_with_is_not_quoted() {
        let complaints = complaints(&["old"]);
        complaints.be_done_with();
        assert_eq!(complaints.quoted(20), "");
        complaints.lock().keep(b"new");
        assert_eq!(complaints.quoted(20), "\ncodex stderr (last line):\n  new");
        (0..LINES * 2).for_each(|_| complaints.lock().keep(b"flood"));
        assert!(complaints.quoted(20).starts_with("\ncodex stderr (last 20 lines):\n  flood"));
        complaints.be_done_with();
        assert_eq!(complaints.quoted(20), "");
    }

    #[test]
    fn the_lines_of_a_turn_are_those_after_its_mark() {
        let complaints = complaints(&["before"]);
        let mark = complaints.mark();
        assert!(complaints.since(mark).is_empty());
        complaints.lock().keep(b"after");
        assert_eq!(complaints.since(mark), ["after"]);
        (0..LINES * 2).for_each(|_| complaints.lock().keep(b"flood"));
        assert_eq!(complaints.since(mark).len(), LINES);
    }

    #[test]
    fn a_file_is_read_as_it_grows_and_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let (complaints, mut writer) = Complaints::in_nameless_file(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        writer.write_all(b"one\ntw").unwrap();
        let mark = complaints.mark();
        assert_eq!(complaints.tail(5), ["one"]);
        writer.write_all(b"o\nthree\n").unwrap();
        assert_eq!(complaints.since(mark), ["two", "three"]);
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Complaints::in_file(folder.path()).unwrap().tail(1).is_empty());
        assert!(Complaints::of_process(i32::MAX).tail(1).is_empty());
    }

    #[test]
    fn a_file_that_grows_large_is_emptied_under_its_writer_and_its_end_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (complaints, mut writer) = Complaints::in_nameless_file(folder.path()).unwrap();
        let flood: String = (0..120_000).map(|n| format!("{n:09}\n")).collect();
        for _ in 0..3 {
            writer.write_all(flood.as_bytes()).unwrap();
            assert_eq!(complaints.tail(1), ["000119999"]);
            assert_eq!(writer.metadata().unwrap().len(), 0);
        }
        writer.write_all(b"last\n").unwrap();
        assert_eq!(complaints.tail(2), ["000119999", "last"]);
        assert_eq!(writer.metadata().unwrap().len(), 5);
    }
}
