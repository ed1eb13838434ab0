//! The exact replacement of a text: found once and replaced, or refused with what the model needs to correct itself. Pure.
//!
//! No approximate matching: a text that differs in one character is not found (BUG-101). A text that occurs more than
//! once is refused with its lines. Line ends are the file's: a model sees `\n` and writes `\n`, and in a file with `\r\n`
//! both texts mean that. Nothing but the replaced text changes, no byte order mark, no last line end.

use std::fmt::Write as _;

use talaria_guard::shorten::shorten;

/// A byte order mark.
const BOM: char = '\u{feff}';
/// How many places of an ambiguous text are shown.
const SHOWN: usize = 10;
/// How much of a line is shown.
const LINE: usize = 120;

/// A replacement of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditWish {
    /// The text that is there.
    pub old: String,
    /// What it becomes.
    pub new: String,
    /// How often it may occur.
    pub occurrences: Occurrences,
}

/// How often the old text may occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrences {
    /// Exactly once.
    One,
    /// At least once; all are replaced.
    All,
}

/// Why a file was not edited, for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditRefusal {
    /// There is nothing to look for.
    #[error("old is empty: name the text to replace, or use write for a whole file")]
    EmptyOld,
    /// It would change nothing.
    #[error("old and new are equal: the edit would change nothing")]
    NoChange,
    /// It does not occur.
    #[error("old was not found; it must match exactly, white space included{0}")]
    NotFound(String),
    /// It is there more than once.
    #[error(
        "old occurs {count} times, at lines {lines}; add lines around it until it is unique, or set all to replace every one\n{shown}"
    )]
    Ambiguous {
        /// How often.
        count: usize,
        /// The numbers of the first lines.
        lines: String,
        /// Those lines.
        shown: String,
    },
}

/// Applies an edit to the text of a file. The result differs from `before`.
pub fn apply_edit(before: &str, wish: &EditWish) -> Result<String, EditRefusal> {
    if wish.old.is_empty() {
        return Err(EditRefusal::EmptyOld);
    }
    let crlf = wish.old.contains('\n').then(|| to_crlf(&wish.old));
    // As it is written first: a file may have both kinds of lines.
    let (old, found) = [Some(&wish.old), crlf.as_ref()]
        .into_iter()
        .flatten()
        .map(|old| (old, positions(before, old)))
        .find(|(_, found)| !found.is_empty())
        .ok_or_else(|| EditRefusal::NotFound(nearest(before, &wish.old)))?;
    let chosen = match (wish.occurrences, found.as_slice()) {
        (Occurrences::One, [only]) => vec![*only],
        (Occurrences::One, _) => return Err(ambiguous(before, &found)),
        (Occurrences::All, _) => without_overlaps(&found, old.len()),
    };
    let mut after = String::with_capacity(before.len() + wish.new.len());
    let mut at = 0;
    for position in chosen {
        after.push_str(&before[at..position]);
        match ends_with_crlf(before, position) {
            true => after.push_str(&to_crlf(&wish.new)),
            false => after.push_str(&wish.new),
        }
        at = position + old.len();
    }
    after.push_str(&before[at..]);
    if after == before { Err(EditRefusal::NoChange) } else { Ok(after) }
}

/// Makes a whole new text fit the file that it replaces: with its byte order mark and its line ends, if all are `\r\n`.
pub fn fit_whole_text(before: Option<&str>, new: &str) -> String {
    let Some(before) = before else { return new.to_owned() };
    let is_crlf = before.contains("\r\n") && before.matches('\n').count() == before.matches("\r\n").count();
    let text = if is_crlf { to_crlf(new) } else { new.to_owned() };
    match before.starts_with(BOM) && !text.starts_with(BOM) {
        true => format!("{BOM}{text}"),
        false => text,
    }
}

/// Where a text occurs, overlapping ones included: two readings of one place are two.
fn positions(text: &str, old: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(old).map(|at| from + at) {
        found.push(at);
        from = at + text[at..].chars().next().map_or(1, char::len_utf8);
    }
    found
}

fn without_overlaps(found: &[usize], length: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    for position in found {
        if kept.last().is_none_or(|last| last + length <= *position) {
            kept.push(*position);
        }
    }
    kept
}

/// Every `\n` without `\r` before it becomes `\r\n`.
fn to_crlf(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut last = '\0';
    for char in text.chars() {
        if char == '\n' && last != '\r' {
            out.push('\r');
        }
        out.push(char);
        last = char;
    }
    out
}

/// Does the line at this position end with `\r\n`? A last line without an end is as the one before it.
fn ends_with_crlf(text: &str, position: usize) -> bool {
    let end = text[position..].find('\n').map(|at| position + at).or_else(|| text[..position].rfind('\n'));
    end.is_some_and(|end| text[..end].ends_with('\r'))
}

fn line_number(text: &str, position: usize) -> usize {
    1 + text[..position].matches('\n').count()
}

fn ambiguous(text: &str, found: &[usize]) -> EditRefusal {
    let numbers: Vec<usize> = found.iter().map(|position| line_number(text, *position)).collect();
    let listed: Vec<String> = numbers.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = if numbers.len() > SHOWN { ", …" } else { "" };
    let mut shown = String::new();
    for number in numbers.iter().take(SHOWN) {
        let line = text.lines().nth(number - 1).unwrap_or_default();
        let _ = writeln!(shown, "{number}\t{}", shorten(line, LINE));
    }
    let lines = listed.join(", ") + more;
    EditRefusal::Ambiguous { count: found.len(), lines, shown: shown.trim_end().to_owned() }
}

/// Names lines that are like the first one of the wanted text but for white space: the usual mistake.
fn nearest(text: &str, old: &str) -> String {
    let bare = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(first) = old.lines().map(bare).find(|line| !line.is_empty()) else { return String::new() };
    let alike = text.lines().enumerate().filter(|(_, line)| bare(line) == first);
    let numbers: Vec<String> = alike.take(SHOWN).map(|(index, _)| (index + 1).to_string()).collect();
    match numbers.is_empty() {
        true => "; read the file again".to_owned(),
        false => format!(
            "; its first line is, but for white space or what follows it, line {}",
            numbers.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests;
