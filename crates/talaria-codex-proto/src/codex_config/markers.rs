//! The two lines around what Talaria wrote: for people to see, and for a Talaria that has no record of it.
//!
//! A line is a marker only if it is exactly one of ours, so that no comment of the user's is taken for one. The end
//! marker carries a digest of the entries between the two; if it fits, no one but a Talaria wrote them.

use talaria_core::toml_statements::{StatementKind, TomlStatement};

use super::digest;
use super::place::EntryPlace;

/// The line before.
pub(super) const START: &str =
    "# >>> talaria: written by `talaria migrate`; `talaria migrate --undo` takes it out again";
const END: &str = "# <<< talaria ";
const DIGEST_BYTES: usize = 4;

/// Writes the line after, for these entries with the digests of their values.
pub(super) fn end(out: &mut String, entries: Vec<(&EntryPlace, &str)>) {
    out.push_str(END);
    out.push_str(&seal(entries));
}

/// Digests entries; their order does not matter.
pub(super) fn seal(mut entries: Vec<(&EntryPlace, &str)>) -> String {
    entries.sort_unstable();
    let mut text = String::with_capacity(entries.len() * 64);
    for (place, digest) in entries {
        place.write(&mut text);
        text.push('=');
        text.push_str(digest);
        text.push('\n');
    }
    digest::hex(text.as_bytes(), DIGEST_BYTES)
}

/// A pair of markers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Region<'a> {
    /// The number of the statement that is the start marker.
    pub(super) start: usize,
    /// The number of the statement that is the end marker.
    pub(super) end: usize,
    /// The entries according to the end marker.
    pub(super) seal: &'a str,
}

/// Everything that looks like a marker.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Markers<'a> {
    /// The pairs, in order.
    pub(super) regions: Vec<Region<'a>>,
    /// The numbers of the statements that are markers without a partner.
    pub(super) strays: Vec<usize>,
}

/// Finds the markers among the statements of a text.
pub(super) fn markers<'a>(text: &'a str, statements: &[TomlStatement]) -> Markers<'a> {
    let mut found = Markers::default();
    let mut open = None;
    for (number, statement) in statements.iter().enumerate() {
        if statement.kind != StatementKind::Comment {
            continue;
        }
        let line = text.get(statement.bytes.clone()).unwrap_or_default().trim();
        if line == START {
            found.strays.extend(open.replace(number));
        } else if let Some(seal) = line.strip_prefix(END).filter(|seal| is_seal(seal)) {
            match open.take() {
                Some(start) => found.regions.push(Region { start, end: number, seal }),
                None => found.strays.push(number),
            }
        }
    }
    found.strays.extend(open);
    found
}

fn is_seal(text: &str) -> bool {
    text.len() == 2 * DIGEST_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
