//! The text removed with a key: its line with the comment on it, its part of an inline table, or its sections.
//!
//! A comment on separate lines is kept. Called by `edit::unset`, for a path that exists.

use std::ops::Range;

use toml_edit::{Document, InlineTable, Item, Table, Value};

use super::key_path::KeyPath;
use super::place::{Holder, holders, written_in};
use super::{find, refused, unset};
use crate::toml_problem::ConfigProblem;
use crate::toml_statements::{parts, statements};
use crate::toml_text::{Piece, TomlText};

/// The text without what is at `path`.
pub(super) fn without(
    text: &str,
    path: &KeyPath,
    document: &Document<&str>,
) -> Result<String, ConfigProblem> {
    let lines = TomlText::new(text);
    let walked = holders(text, path, document)?;
    let depth = written_in(&walked);
    let own = walked[depth];
    let Some(item) = find(document.as_table(), path) else { return Ok(text.to_owned()) };
    let missing = || refused(text, path, None, "cannot be removed from this file");
    match (item, own) {
        (Item::Value(Value::InlineTable(group)), Holder::Inline(_)) if group.is_dotted() => {
            group.iter().try_fold(text.to_owned(), |text, (key, _)| unset(&text, &path.join(key)))
        }
        (Item::Value(value), Holder::Inline(braces)) => {
            let range = value.span().and_then(|span| in_braces(text, braces, &span)).ok_or_else(missing)?;
            Ok(lines.splice(vec![Piece { range, new: String::new() }]))
        }
        (Item::Value(value), Holder::Section(section)) => {
            let span = value.span().ok_or_else(missing)?;
            // The root has no header that could go.
            let whole = if depth == 0 { None } else { emptied(lines, section, &span) };
            let range = whole.unwrap_or_else(|| line_of(lines, &span));
            Ok(lines.splice(vec![lines.without(range.start, range.end)]))
        }
        _ => {
            let pieces = sections(lines, path).into_iter().map(|range| lines.without(range.start, range.end));
            Ok(lines.splice(pieces.collect()))
        }
    }
}

fn line_of(lines: TomlText<'_>, value: &Range<usize>) -> Range<usize> {
    lines.line_start(value.start)..lines.line_end(value.end)
}

/// The whole section, if the value is all that it has and no one wrote a comment around it.
fn emptied(lines: TomlText<'_>, section: &Table, value: &Range<usize>) -> Option<Range<usize>> {
    let header = section.span().filter(|_| !section.is_implicit() && !section.is_dotted())?;
    let line = line_of(lines, value);
    let bare = lines.line(header.start).trim().len() == header.len();
    let alone = Holder::Section(section).values().len() == 1 && lines.line_end(header.end) == line.start;
    let start = lines.line_start(header.start);
    let behind = lines.line(line.end);
    let ends_here =
        line.end == lines.as_str().len() || behind.is_empty() || behind.trim_start().starts_with('[');
    (bare && alone && ends_here).then_some(())?;
    match lines.line_before(start) {
        None => Some(start..line.end),
        Some(before) => lines.line(before).is_empty().then_some(before..line.end),
    }
}

/// An entry of an inline table with the comma that joins it to the others.
fn in_braces(text: &str, braces: &InlineTable, value: &Range<usize>) -> Option<Range<usize>> {
    let all = Holder::Inline(braces).values();
    let at = all.iter().position(|span| span == value)?;
    if let Some(before) = at.checked_sub(1) {
        return Some(all[before].end..value.end);
    }
    let inside = braces.span()?.start + 1;
    let start = inside + blank(text.get(inside..)?);
    if let Some(next) = all.get(1) {
        let between = text.get(value.end..next.start)?;
        let comma = between.find(',')? + 1;
        return Some(start..value.end + comma + blank(between.get(comma..)?));
    }
    let behind = text.get(value.end..)?;
    if behind.get(blank(behind)..)?.starts_with(',') {
        return Some(start..value.end + blank(behind) + 1);
    }
    // Spaces on both sides were one space between the braces.
    let before = text.get(inside..start)?;
    let same = !before.is_empty() && behind.starts_with(&format!("{before}}}"));
    Some(start..value.end + if same { before.len() } else { 0 })
}

/// How much white space and comments a text begins with.
fn blank(text: &str) -> usize {
    let mut rest = text.trim_start();
    while let Some(comment) = rest.strip_prefix('#') {
        rest = comment.find('\n').map_or("", |end| &comment[end..]).trim_start();
    }
    text.len() - rest.len()
}

/// Every header at or below a path with the entries under it, and the lines of dotted keys. Neighbours are one range, so
/// that the end of the file is seen at the end of all of them.
fn sections(lines: TomlText<'_>, path: &KeyPath) -> Vec<Range<usize>> {
    let text = lines.as_str();
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut header = Vec::new();
    for statement in statements(text) {
        let Some(name) = statement.kind.name() else { continue };
        let (Range { mut start, end }, name) = (statement.bytes, parts(&text[name]));
        let is_under = path.contains(&header);
        if statement.kind.is_header() {
            header = name;
            if !path.contains(&header) {
                continue;
            }
            start = lines.line_before(start).filter(|before| lines.line(*before).is_empty()).unwrap_or(start);
        } else if !is_under && !path.contains(&[header.as_slice(), &name].concat()) {
            continue;
        }
        match ranges.last_mut() {
            // Text between the entries of a section is removed with it.
            Some(last) if start <= last.end || (is_under && !statement.kind.is_header()) => last.end = end,
            _ => ranges.push(start..end),
        }
    }
    ranges
}
