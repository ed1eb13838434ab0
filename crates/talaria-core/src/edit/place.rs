//! Position of a value: replacing the old one, next to its siblings, or in a new section at the end of the file.
//!
//! A new key of a section with dotted keys or of an inline table joins them in their own notation; the parser would refuse
//! a header for what is already written that way. Called by `edit::set`.

use toml_edit::{Document, InlineTable, Item, Table, TableLike, Value};

use super::key_path::{KeyPath, dotted};
use super::refused;
use crate::toml_problem::ConfigProblem;
use crate::toml_statements::{StatementKind, statements};
use crate::toml_text::{Piece, TomlText};

/// A table on the way to a key.
#[derive(Clone, Copy)]
pub(super) enum Holder<'a> {
    Section(&'a Table),
    Inline(&'a InlineTable),
}

impl<'a> Holder<'a> {
    pub(super) fn is_dotted(self) -> bool {
        match self {
            Self::Section(table) => table.is_dotted(),
            Self::Inline(table) => table.is_dotted(),
        }
    }

    fn get(self, key: &str) -> Option<&'a Item> {
        match self {
            Self::Section(table) => table.get(key),
            Self::Inline(table) => TableLike::get(table, key),
        }
    }

    /// Where the values end that are written in this table's own lines or braces, dotted keys included.
    pub(super) fn values(self) -> Vec<std::ops::Range<usize>> {
        let mut spans = Vec::new();
        let like: &dyn TableLike = match self {
            Self::Section(table) => table,
            Self::Inline(table) => table,
        };
        collect(like, &mut spans);
        spans.sort_by_key(|span| span.start);
        spans
    }
}

fn collect(table: &dyn TableLike, spans: &mut Vec<std::ops::Range<usize>>) {
    for (_, item) in table.iter() {
        match item {
            Item::Table(inner) if inner.is_dotted() => collect(inner, spans),
            Item::Value(Value::InlineTable(inner)) if inner.is_dotted() => collect(inner, spans),
            Item::Value(value) => spans.extend(value.span()),
            Item::Table(_) | Item::ArrayOfTables(_) | Item::None => {}
        }
    }
}

/// Walks to the last table of a path that exists: the root first, then one for each part.
pub(super) fn holders<'a>(
    text: &str,
    path: &KeyPath,
    document: &'a Document<&str>,
) -> Result<Vec<Holder<'a>>, ConfigProblem> {
    let mut holder = Holder::Section(document.as_table());
    let mut walked = vec![holder];
    for (depth, part) in path.parts().iter().enumerate().take(path.parts().len() - 1) {
        let Some(item) = holder.get(part) else { break };
        holder = match item {
            Item::Table(table) => Holder::Section(table),
            Item::Value(Value::InlineTable(table)) => Holder::Inline(table),
            other => {
                let above = dotted(&path.parts()[..=depth]);
                let what = crate::toml_problem::article(other.type_name());
                let message = format!("{above} is {what}, not a section");
                return Err(refused(text, path, other.span().map(|span| span.start), &message));
            }
        };
        walked.push(holder);
    }
    Ok(walked)
}

/// The innermost table with its own lines or braces, by its depth: dotted keys are written in the table that contains
/// them.
pub(super) fn written_in(walked: &[Holder<'_>]) -> usize {
    walked.iter().rposition(|holder| !holder.is_dotted()).unwrap_or(0)
}

/// Replaces a value.
pub(super) fn replacing(text: &str, path: &KeyPath, old: &Item, new: &str) -> Result<String, ConfigProblem> {
    let is_value = match old {
        Item::Value(Value::InlineTable(table)) => !table.is_dotted(),
        Item::Value(_) => true,
        _ => false,
    };
    let span = old.span();
    match span {
        Some(range) if is_value => Ok(TomlText::new(text).splice(vec![Piece { range, new: new.to_owned() }])),
        span => {
            let mut problem = refused(text, path, span.map(|span| span.start), "is a section, not a value");
            problem.hint = Some("name one of its keys".to_owned());
            Err(problem)
        }
    }
}

/// Adds a key that does not exist.
pub(super) fn adding(
    text: &str,
    path: &KeyPath,
    document: &Document<&str>,
    value: &str,
) -> Result<String, ConfigProblem> {
    let parts = path.parts();
    let walked = holders(text, path, document)?;
    let depth = walked.len() - 1;
    let own = written_in(&walked);
    let entry = format!("{} = {value}", dotted(&parts[own..]));
    let lines = TomlText::new(text);
    let piece = match (walked[own], walked[depth]) {
        (Holder::Inline(table), _) => into_braces(text, table, &entry),
        (Holder::Section(_), Holder::Section(siblings)) if siblings.is_dotted() => {
            let last = Holder::Section(siblings).values().last().map(|span| (span.start, span.end));
            last.map(|(start, end)| below_entry(lines, start, end, &entry))
        }
        (Holder::Section(table), _) if depth + 1 == parts.len() => into_section(lines, depth, table, &entry),
        _ => None,
    };
    let piece = piece.unwrap_or_else(|| {
        let (section, key) = parts.split_at(parts.len() - 1);
        new_section(lines, &format!("[{}]\n{} = {value}\n", dotted(section), dotted(key)))
    });
    Ok(lines.splice(vec![piece]))
}

/// None: the table has no lines of its own, only sections below it.
fn into_section(lines: TomlText<'_>, depth: usize, table: &Table, entry: &str) -> Option<Piece> {
    if let Some(last) = Holder::Section(table).values().last() {
        return Some(below_entry(lines, last.start, last.end, entry));
    }
    if depth > 0 {
        let header = table.span().filter(|_| !table.is_implicit())?;
        return Some(lines.below(header.end, &format!("{entry}\n")));
    }
    let new = format!("{entry}\n");
    let all = statements(lines.as_str());
    let Some(header) = all.iter().position(|statement| statement.kind.is_header()) else {
        return Some(lines.below(lines.as_str().len(), &new));
    };
    // A comment directly above a header is about that section.
    let above = all[..header].iter().rev().take_while(|statement| statement.kind == StatementKind::Comment);
    let at = all[header - above.count()].bytes.start;
    Some(lines.insert(at, &new.replace('\n', lines.newline_at(at))))
}

/// The line below an entry, indented as that one is.
fn below_entry(lines: TomlText<'_>, start: usize, end: usize, entry: &str) -> Piece {
    // A value that spans lines began on the line of its key.
    let line = lines.line(start);
    let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
    lines.below(end, &format!("{indent}{entry}\n"))
}

fn into_braces(text: &str, table: &InlineTable, entry: &str) -> Option<Piece> {
    if let Some(last) = Holder::Inline(table).values().last() {
        return Some(Piece { range: last.end..last.end, new: format!(", {entry}") });
    }
    let span = table.span()?;
    let inside = text.get(span.start + 1..span.end.checked_sub(1)?)?;
    // Text before a key may be a comment with its line end; after it only a space is well formatted.
    let behind = if inside.trim_matches([' ', '\t']).is_empty() { inside } else { "" };
    Some(Piece { range: span.end - 1..span.end - 1, new: format!("{entry}{behind}") })
}

/// Always one empty line before a header, so that taking the section away knows what to take.
fn new_section(lines: TomlText<'_>, section: &str) -> Piece {
    let end = lines.as_str().len();
    let gap = if end == lines.start() { "" } else { "\n" };
    lines.below(end, &format!("{gap}{section}"))
}
