//! What Codex writes to its standard error: read to the end so that Codex never blocks on it, the last lines kept.
//!
//! The lines are for people, after something went wrong; whoever shows them redacts them. Colours are removed. A mark
//! tells the lines of one turn from those before it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt, BufReader};
use tokio::process::ChildStderr;

/// How many lines are kept.
pub(crate) const LINES: usize = 500;
/// How much of a line is kept.
const LINE_BYTES: usize = 2000;

/// The last lines of a standard error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Complaints {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<String>,
    /// How many there were, those that are no longer kept included.
    seen: usize,
}

/// A place among the lines.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark(usize);

impl Complaints {
    /// Reads to the end.
    pub(crate) async fn read(self, pipe: ChildStderr) {
        let mut pipe = BufReader::new(pipe);
        let mut chunk = [0; 4096];
        let mut line = Vec::new();
        while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
            for &byte in &chunk[..read] {
                match byte {
                    b'\n' => self.keep(&std::mem::take(&mut line)),
                    _ if line.len() < LINE_BYTES => line.push(byte),
                    _ => {}
                }
            }
        }
        if !line.is_empty() {
            self.keep(&line);
        }
    }

    fn keep(&self, line: &[u8]) {
        let mut kept = self.lock();
        if kept.lines.len() == LINES {
            kept.lines.pop_front();
        }
        kept.seen += 1;
        kept.lines.push_back(without_escapes(&String::from_utf8_lossy(line)));
    }

    /// The last lines.
    pub(crate) fn tail(&self, count: usize) -> Vec<String> {
        let kept = self.lock();
        kept.lines.iter().skip(kept.lines.len().saturating_sub(count)).cloned().collect()
    }

    /// Where the lines end now.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.lock().seen)
    }

    /// The lines after a mark, as far as they are kept.
    pub(crate) fn since(&self, mark: Mark) -> Vec<String> {
        let new = self.lock().seen.saturating_sub(mark.0);
        self.tail(new)
    }

    /// The last lines that say something, below a heading that tells how many they are; empty if there are none.
    pub(crate) fn quoted(&self, count: usize) -> String {
        let kept = self.lock();
        let said: Vec<&str> =
            kept.lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty()).collect();
        let last = &said[said.len().saturating_sub(count)..];
        let heading = match last.len() {
            0 => return String::new(),
            1 => "\ncodex stderr (last line):".to_owned(),
            count => format!("\ncodex stderr (last {count} lines):"),
        };
        last.iter().fold(heading, |text, line| format!("{text}\n  {line}"))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
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
    use super::*;

    fn complaints(lines: &[&str]) -> Complaints {
        let complaints = Complaints::default();
        lines.iter().for_each(|line| complaints.keep(line.as_bytes()));
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
    fn the_lines_of_a_turn_are_those_after_its_mark() {
        let complaints = complaints(&["before"]);
        let mark = complaints.mark();
        assert!(complaints.since(mark).is_empty());
        complaints.keep(b"after");
        assert_eq!(complaints.since(mark), ["after"]);
        (0..LINES * 2).for_each(|_| complaints.keep(b"flood"));
        assert_eq!(complaints.since(mark).len(), LINES);
    }
}
