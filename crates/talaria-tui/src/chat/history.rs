//! The input history: walking and searching. Passed in and returned as data; the driver of the chat stores it in a file.
//! Lines for that file are redacted.

use std::collections::VecDeque;

use talaria_guard::redact::redact;

use super::images::without_images;

/// The most lines that are remembered.
pub const MOST: usize = 1_000;
/// The most bytes of all of them; the newest is always remembered.
const MOST_BYTES: usize = 2 * 1024 * 1024;
/// A longer line is remembered in this process, but not stored.
const LONGEST_KEPT: usize = 16 * 1024;

/// Sent lines, newest last.
#[derive(Clone, Debug, Default)]
pub struct PromptHistory {
    lines: VecDeque<Line>,
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Line {
    typed: String,
    images: Vec<String>,
    /// The stored form: images are not kept, and a note says so.
    kept: Option<String>,
}

impl PromptHistory {
    /// Loads stored lines, newest last.
    pub fn new(kept: Vec<String>) -> Self {
        let mut history = Self::default();
        for line in kept {
            history.push(&line, &[]);
        }
        history
    }

    /// Remembers a line, and until the end its images. An equal one before it is forgotten.
    pub fn push(&mut self, typed: &str, images: &[String]) {
        if typed.trim().is_empty() {
            return;
        }
        if let Some(at) = self.find(typed, images) {
            self.forget(at);
        }
        let kept = (typed.len() <= LONGEST_KEPT).then(|| redact(&without_images(typed, images)).into_owned());
        let line = Line { typed: typed.to_owned(), images: images.to_vec(), kept };
        self.bytes += line.weight();
        self.lines.push_back(line);
        while self.lines.len() > MOST || (self.bytes > MOST_BYTES && self.lines.len() > 1) {
            self.forget(0);
        }
    }

    /// The lines as they may be written down: without secrets and without repeats, the newest last.
    #[cfg(test)]
    pub(crate) fn to_lines(&self) -> Vec<String> {
        let mut kept: Vec<String> = Vec::with_capacity(self.lines.len());
        let mut seen = std::collections::HashSet::new();
        for line in self.lines.iter().rev().filter_map(|line| line.kept.as_ref()) {
            if seen.insert(line) {
                kept.push(line.clone());
            }
        }
        kept.reverse();
        kept
    }

    /// The newest line as it may be written down, if it may.
    pub fn newest_kept(&self) -> Option<&str> {
        self.lines.back()?.kept.as_deref()
    }

    /// Is this one of them?
    pub fn has_line(&self, typed: &str, images: &[String]) -> bool {
        self.find(typed, images).is_some()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// One of them; 0 is the oldest.
    pub fn get(&self, at: usize) -> Option<&str> {
        self.lines.get(at).map(|line| line.typed.as_str())
    }

    /// The images of one of them.
    pub fn images(&self, at: usize) -> &[String] {
        self.lines.get(at).map_or(&[], |line| &line.images)
    }

    /// Finds the newest line older than `before` that has these letters in it, whatever their case.
    pub fn find_older(&self, letters: &str, before: usize) -> Option<usize> {
        let letters = letters.to_lowercase();
        (0..before.min(self.len())).rev().find(|&at| self.has(at, &letters))
    }

    /// Finds the oldest line newer than `behind` that contains these letters, ignoring case.
    pub fn find_newer(&self, letters: &str, behind: usize) -> Option<usize> {
        let letters = letters.to_lowercase();
        (behind + 1..self.len()).find(|&at| self.has(at, &letters))
    }

    fn has(&self, at: usize, letters: &str) -> bool {
        self.get(at).is_some_and(|line| line.to_lowercase().contains(letters))
    }

    fn find(&self, typed: &str, images: &[String]) -> Option<usize> {
        self.lines.iter().position(|line| line.typed == typed && line.images == images)
    }

    fn forget(&mut self, at: usize) {
        self.bytes -= self.lines.remove(at).map_or(0, |line| line.weight());
    }
}

impl Line {
    fn weight(&self) -> usize {
        self.typed.len() + self.images.iter().map(String::len).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_remembered_once_and_in_order() {
        let history = PromptHistory::new(["a", "b", " ", "a", "c"].map(str::to_owned).to_vec());
        assert_eq!(history.to_lines(), ["b", "a", "c"]);
    }

    #[test]
    fn the_newest_is_not_the_line_before_one_that_is_not_kept() {
        let mut history = PromptHistory::default();
        history.push("short", &[]);
        assert_eq!(history.newest_kept(), Some("short"));
        history.push(&"x".repeat(LONGEST_KEPT + 1), &[]);
        assert_eq!(history.newest_kept(), None, "the line before it is not the newest");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut history = PromptHistory::new((0..MOST + 5).map(|at| at.to_string()).collect());
        assert_eq!((history.len(), history.get(0)), (MOST, Some("5")));
        history.push(&"x".repeat(MOST_BYTES + 1), &[]);
        assert_eq!(history.len(), 1);
        assert_eq!(history.to_lines(), Vec::<String>::new());
        history.push("y", &[]);
        assert_eq!(history.to_lines(), ["y"]);
    }

    #[test]
    fn secrets_are_recalled_but_not_kept() {
        let mut history = PromptHistory::default();
        let secret = format!("ghp_{}", "a1B2".repeat(9));
        history.push(&format!("use {secret}"), &[]);
        assert!(history.get(0).is_some_and(|line| line.contains(&secret)));
        assert!(history.to_lines().iter().all(|line| !line.contains(&secret)), "{:?}", history.to_lines());
    }

    #[test]
    fn images_are_remembered_and_a_line_that_is_kept_says_that_they_are_gone() {
        let mut history = PromptHistory::default();
        let images = ["/v/a.png".to_owned(), "/w/a.png".to_owned()];
        history.push("compare [image a.png] with [image a.png 2]", &images);
        assert_eq!(
            (history.get(0), history.images(0)),
            (Some("compare [image a.png] with [image a.png 2]"), &images[..])
        );
        let kept = "compare [image a.png, not attached] with [image a.png 2, not attached]";
        assert_eq!(history.newest_kept(), Some(kept));
        assert_eq!(PromptHistory::new(history.to_lines()).to_lines(), [kept], "once is enough");
        history.push("[image a.png]: [image a.png]", &images[..1]);
        let kept = "[image a.png, not attached]: [image a.png, not attached]";
        assert_eq!(history.newest_kept(), Some(kept), "whichever was typed");
    }

    #[test]
    fn search_goes_both_ways_and_ignores_case() {
        let history = PromptHistory::new(["Fix it", "look", "fix that"].map(str::to_owned).to_vec());
        assert_eq!(history.find_older("FIX", 3), Some(2));
        assert_eq!(history.find_older("fix", 2), Some(0));
        assert_eq!(history.find_older("fix", 0), None);
        assert_eq!(history.find_newer("fix", 0), Some(2));
    }
}
