//! A shell command of the person while it runs: its last lines are above the input line. When it has ended, it is
//! added to the transcript, and the model does not see it.

use std::time::Duration;

use talaria_guard::plain::one_line;

use super::transcript::Ran;
use talaria_render::{Paint, Style, StyledLine, cut};

/// Maximum size of its output; the beginning is dropped.
const MOST: usize = 256 * 1024;

/// The command, and what it has printed.
#[derive(Debug)]
pub(super) struct Shell {
    command: String,
    output: String,
    is_cut: bool,
    since: Duration,
}

impl Shell {
    pub(super) fn new(command: String, now: Duration) -> Self {
        Self { command, output: String::new(), is_cut: false, since: now }
    }

    /// It printed something.
    pub(super) fn print(&mut self, text: &str) {
        self.output.push_str(text);
        if let Some(over) = self.output.len().checked_sub(MOST).filter(|&over| over > 0) {
            let at = (over..self.output.len()).find(|&at| self.output.is_char_boundary(at));
            self.output.drain(..at.unwrap_or(self.output.len()));
            self.is_cut = true;
        }
    }

    /// The command and its last lines, at most `height` rows.
    pub(super) fn rows(&self, width: usize, height: usize, now: Duration, paint: Paint) -> Vec<StyledLine> {
        let seconds = now.saturating_sub(self.since).as_secs();
        let head = format!("! {}  {seconds}s (Ctrl-C stops it)", one_line(&self.command));
        let mut lines = vec![StyledLine::of(Style::BOLD, cut(&head, width, paint))];
        // Of a long output only the end is looked at, since this is done for every frame.
        let begin = self.output.len().saturating_sub(16 * 1024);
        let begin = (begin..=self.output.len()).find(|&at| self.output.is_char_boundary(at)).unwrap_or(0);
        let tail: Vec<&str> = self.output[begin..].lines().rev().take(height.saturating_sub(1)).collect();
        for text in tail.into_iter().rev() {
            lines.push(StyledLine::of(Style::DIM, cut(&format!("  {}", one_line(text)), width, paint)));
        }
        lines.truncate(height);
        lines
    }

    /// All of it, when it has ended.
    pub(super) fn end(self, exit: Option<i32>, took_ms: Option<u64>, note: Option<String>) -> Ran {
        let (command, output, is_cut) = (self.command, self.output, self.is_cut);
        Ran { command, output, is_cut, exit, took: took_ms.map(Duration::from_millis), note }
    }
}
