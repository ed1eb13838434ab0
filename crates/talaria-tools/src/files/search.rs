//! Searches files: lines that match a regular expression, or files by their names. Bounded in matches, size and time.
//!
//! Respects `.gitignore` and `.ignore`, skips `.git`, binary files, files that are too long, and files that the tools may
//! not read; what is skipped is counted. Sorted by path, so that the same search has the same result. The expressions of
//! `regex` take linear time, whatever the model writes. Blocks: call it from a thread that may.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ignore::WalkBuilder;
use ignore::overrides::{Override, OverrideBuilder};
use regex::bytes::{Regex, RegexBuilder};
use talaria_core::quantity::quantity;
use talaria_core::tool::LONGEST_RESULT;
use talaria_guard::shorten::shorten;

use super::path::{FileKind, ResolvedPath};
use super::permission::{FileBounds, FilePermission, judge_read};

/// How much of a file is looked at for bytes that no text has.
const LOOKED_AT: usize = 8 * 1024;
/// How much of a line is shown, in characters.
const LONGEST_LINE: usize = 300;
/// Space of a result for matches; the rest is for the first line and for masks of secrets.
const ROOM: usize = LONGEST_RESULT - 600;

/// The search.
#[derive(Clone, Debug)]
pub struct SearchWish {
    /// A regular expression for lines, or a glob for names.
    pub pattern: String,
    /// A file, or the directory below which is searched.
    pub root: ResolvedPath,
    /// Only files whose path below the root matches this glob.
    pub glob: Option<String>,
    /// What the pattern is compared with.
    pub mode: SearchMode,
}

/// What a pattern is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchMode {
    /// The lines of files.
    #[default]
    Content,
    /// The names of files.
    Files,
}

/// When a search ends before it has seen everything.
#[derive(Clone, Copy, Debug)]
pub struct SearchLimits {
    /// After this many matches.
    pub matches: usize,
    /// After this time.
    pub time: Duration,
    /// Longer files are skipped.
    pub file_bytes: u64,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self { matches: 200, time: Duration::from_secs(10), file_bytes: 16 * 1024 * 1024 }
    }
}

/// Why nothing was searched, for the model.
#[derive(Debug, thiserror::Error)]
pub enum SearchRefusal {
    /// There is nothing at the path.
    #[error("there is no file or directory {0}")]
    Missing(String),
    /// The expression is not one.
    #[error("the pattern is no regular expression: {0}")]
    Pattern(String),
    /// The glob is not one.
    #[error("the glob cannot be read: {0}")]
    Glob(String),
}

/// Searches, and returns the text for the model.
pub fn search_files(
    wish: &SearchWish,
    bounds: &FileBounds,
    limits: SearchLimits,
) -> Result<String, SearchRefusal> {
    if wish.root.kind == FileKind::Missing {
        return Err(SearchRefusal::Missing(wish.root.named.display().to_string()));
    }
    let matcher = match wish.mode {
        SearchMode::Content => Some(line_matcher(&wish.pattern)?),
        SearchMode::Files => None,
    };
    let mut search = Search { wish, bounds, limits, matcher, found: Found::default(), began: Instant::now() };
    search.walk(selection(wish)?);
    Ok(search.found.text(wish, limits))
}

fn line_matcher(pattern: &str) -> Result<Regex, SearchRefusal> {
    let built = RegexBuilder::new(pattern).multi_line(true).crlf(true).build();
    built.map_err(|error| SearchRefusal::Pattern(error.to_string()))
}

/// The globs that select files: the wanted one, and the pattern where it is compared with names. The walk does not have them:
/// there a file that a glob selects would count although it is ignored.
fn selection(wish: &SearchWish) -> Result<Option<Override>, SearchRefusal> {
    let names = (wish.mode == SearchMode::Files && !wish.pattern.is_empty()).then_some(wish.pattern.as_str());
    // Two selections are alternatives for this crate, so a pattern of names has no further glob.
    let Some(glob) = names.or(wish.glob.as_deref()) else { return Ok(None) };
    let failed = |error: ignore::Error| SearchRefusal::Glob(error.to_string());
    let mut builder = OverrideBuilder::new(&wish.root.real);
    builder.add(glob).map_err(failed)?;
    builder.build().map(Some).map_err(failed)
}

struct Search<'a> {
    wish: &'a SearchWish,
    bounds: &'a FileBounds,
    limits: SearchLimits,
    matcher: Option<Regex>,
    found: Found,
    began: Instant,
}

impl Search<'_> {
    fn walk(&mut self, selection: Option<Override>) {
        let is_selected = |path: &Path| {
            selection.as_ref().is_none_or(|selection| !selection.matched(path, false).is_ignore())
        };
        let mut builder = WalkBuilder::new(&self.wish.root.real);
        // Hidden files are part of a project, its repository is not. Ignore files count outside of repositories too.
        builder.hidden(false).require_git(false).follow_links(false);
        builder.filter_entry(|entry| entry.file_name() != ".git").sort_by_file_path(Path::cmp);
        for entry in builder.build() {
            if self.found.stopped.is_some() {
                return;
            }
            if self.is_late() {
                self.found.stopped = Some(Stopped::Time);
                return;
            }
            match entry {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                    if is_selected(entry.path()) {
                        self.visit(entry.into_path());
                    }
                }
                Ok(_) => {}
                Err(_) => self.found.unreadable += 1,
            }
        }
    }

    fn visit(&mut self, path: PathBuf) {
        let file = ResolvedPath { named: path.clone(), real: path.clone(), kind: FileKind::Regular };
        if judge_read(self.bounds, &file) != FilePermission::Free {
            self.found.withheld += 1;
            return;
        }
        let shown = path.strip_prefix(&self.wish.root.real).unwrap_or(&path);
        let shown = if shown.as_os_str().is_empty() { path.as_path() } else { shown }.display().to_string();
        let Some(matcher) = &self.matcher else {
            self.found.add_match(&shown, self.limits);
            return;
        };
        match read_text(&path, self.limits.file_bytes) {
            Ok(Content::Text(bytes)) => {
                // What follows the last line end is no line.
                let last = bytes.iter().filter(|byte| **byte == b'\n').count();
                let lines = bytes.split(|byte| *byte == b'\n').enumerate();
                let mut is_first = true;
                for (index, line) in lines {
                    let line = line.strip_suffix(b"\r").unwrap_or(line);
                    if !matcher.is_match(line) || (line.is_empty() && index == last) {
                        continue;
                    }
                    if std::mem::take(&mut is_first) {
                        self.found.add_file(&shown);
                    }
                    let text = String::from_utf8_lossy(line);
                    self.found
                        .add_match(&format!("{}: {}", index + 1, shorten(&text, LONGEST_LINE)), self.limits);
                    if self.found.stopped.is_some() {
                        return;
                    }
                }
            }
            Ok(Content::Binary) => self.found.binary += 1,
            Ok(Content::TooLong) => self.found.too_long += 1,
            Err(_) => self.found.unreadable += 1,
        }
    }

    fn is_late(&self) -> bool {
        self.began.elapsed() >= self.limits.time
    }
}

enum Content {
    Text(Vec<u8>),
    Binary,
    TooLong,
}

fn read_text(path: &Path, most: u64) -> io::Result<Content> {
    if std::fs::metadata(path)?.len() > most {
        return Ok(Content::TooLong);
    }
    let bytes = std::fs::read(path)?;
    Ok(match bytes[..bytes.len().min(LOOKED_AT)].contains(&0) {
        true => Content::Binary,
        false => Content::Text(bytes),
    })
}

/// Why a search ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    Matches,
    Length,
    Time,
}

#[derive(Default)]
struct Found {
    text: String,
    /// The length of the text in characters.
    length: usize,
    matches: usize,
    files: usize,
    stopped: Option<Stopped>,
    binary: usize,
    too_long: usize,
    withheld: usize,
    unreadable: usize,
}

impl Found {
    fn add_file(&mut self, name: &str) {
        self.files += 1;
        self.length += name.chars().count() + 1;
        let _ = writeln!(self.text, "{name}");
    }

    fn add_match(&mut self, line: &str, limits: SearchLimits) {
        let length = line.chars().count() + 1;
        if self.matches >= limits.matches {
            self.stopped = Some(Stopped::Matches);
        } else if self.length + length > ROOM {
            self.stopped = Some(Stopped::Length);
        } else {
            self.matches += 1;
            self.length += length;
            let _ = writeln!(self.text, "{line}");
        }
    }

    fn text(&self, wish: &SearchWish, limits: SearchLimits) -> String {
        let what = match wish.mode {
            SearchMode::Content => {
                let matches = quantity(self.matches, "match", "matches");
                format!("{matches} in {}", quantity(self.files, "file", "files"))
            }
            SearchMode::Files => quantity(self.matches, "file", "files"),
        };
        let root = wish.root.named.display();
        let end = match self.stopped {
            None => "complete".to_owned(),
            Some(Stopped::Matches | Stopped::Length) => {
                "incomplete: there are more; use a narrower pattern, path or glob".to_owned()
            }
            Some(Stopped::Time) => {
                format!("incomplete: stopped after {} s; use a narrower path", limits.time.as_secs())
            }
        };
        let skipped = [
            (self.too_long, "too long"),
            (self.binary, "binary"),
            (self.withheld, "with keys or passwords"),
            (self.unreadable, "unreadable"),
        ];
        let skipped: Vec<String> = skipped
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, why)| format!("{count} {why}"))
            .collect();
        let skipped =
            if skipped.is_empty() { String::new() } else { format!(" Skipped: {}.", skipped.join(", ")) };
        format!("{what} below {root}, {end}.{skipped}\n{}", self.text)
    }
}

#[cfg(test)]
mod tests;
