//! Divides a Markdown text into entries of the memory: one for each section of the first two levels. Pure.
//!
//! Headings inside of code are text. A heading without anything below it is no entry. A section that is too long for an
//! entry is divided between paragraphs, each piece under its heading.

use talaria_core::memory::LONGEST_ENTRY;
use talaria_core::memory::file::{is_separator, tidy};

/// The longest entry that is made here, in characters: masking a secret can make it longer.
const LONGEST: usize = LONGEST_ENTRY - 500;

/// A text in entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DividedText {
    pub(super) texts: Vec<String>,
    /// How many lines only name another file, as Claude Code writes it: `@path`.
    pub(super) references: usize,
}

/// Divides a text. Lines for which `skips` is true are left out.
pub(super) fn divide(text: &str, skips: impl Fn(&str) -> bool) -> DividedText {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut sections, mut references) = (vec![Vec::new()], 0);
    let mut fence: Option<&str> = None;
    for line in after_front_matter(text).lines() {
        let trimmed = line.trim_start();
        match fence {
            Some(mark) if trimmed.starts_with(mark) => fence = None,
            Some(_) => {}
            None => {
                fence = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
                if is_reference(trimmed) {
                    references += 1;
                    continue;
                }
                if skips(line) {
                    continue;
                }
                if is_separator(line) {
                    sections.push(Vec::new());
                    continue;
                }
                if is_heading(line) {
                    sections.push(Vec::new());
                }
            }
        }
        // A separator inside of code would end the entry in the file of the memory.
        let line = if is_separator(line) { "" } else { line };
        if let Some(section) = sections.last_mut() {
            section.push(line);
        }
    }
    let texts = sections.iter().flat_map(|lines| entries(lines)).collect();
    DividedText { texts, references }
}

/// The text after the block between two lines of dashes with which it may begin.
fn after_front_matter(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else { return text };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        at += line.len();
        if line.trim_end() == "---" {
            return &rest[at..];
        }
    }
    text
}

fn is_heading(line: &str) -> bool {
    line.starts_with("# ") || line.starts_with("## ")
}

fn is_reference(line: &str) -> bool {
    let path = line.strip_prefix('@').map(str::trim_end);
    path.is_some_and(|path| !path.is_empty() && !path.contains(char::is_whitespace))
}

/// The entries of one section.
fn entries(lines: &[&str]) -> Vec<String> {
    let heading = lines.first().filter(|line| is_heading(line)).copied();
    let body = tidy(&lines[usize::from(heading.is_some())..].join("\n"));
    if body.is_empty() {
        return Vec::new();
    }
    let heading = heading.map(|heading| heading.chars().take(200).collect::<String>());
    let head = heading.as_deref().map(|heading| format!("{}\n", heading.trim_end())).unwrap_or_default();
    let room = LONGEST - head.chars().count();
    pieces(&body, room).into_iter().map(|piece| tidy(&format!("{head}{piece}"))).collect()
}

/// Divides a text into pieces of at most `room` characters: between paragraphs, else lines, else words, else anywhere.
fn pieces(mut text: &str, room: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    while let Some((limit, _)) = text.char_indices().nth(room) {
        let half = text.floor_char_boundary(limit / 2);
        let tail = &text[half..limit];
        let cut = ["\n\n", "\n", " "].iter().find_map(|mark| Some(half + tail.rfind(mark)? + mark.len()));
        let (piece, rest) = text.split_at(cut.unwrap_or(limit));
        pieces.push(piece.to_owned());
        text = rest;
    }
    pieces.push(text.to_owned());
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}
