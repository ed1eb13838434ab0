//! Keys right below the end marker. A person who adds a line to the end of a file means a key of the top level; for
//! TOML it is one of the table above it, which is ours.
//!
//! Such a key is the user's and is kept when our table above it is removed. But a key that Codex supports in such a
//! table was meant for it, and then the whole entry is the user's. Called by `survey` when all entries are found.

use talaria_core::toml_statements::first_part;
use toml::de::DeValue;

use super::survey::Survey;
use super::{Record, digest};

/// Treatment of such keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Below {
    /// They are no part of the entry above them, where that can be.
    Free,
    /// They are part of it, as TOML says.
    Bound,
}

/// Says of every entry with such keys whether they are part of it.
pub(super) fn settle(survey: &mut Survey<'_>, before: &Record<'_>, below: Below) {
    for at in 0..survey.entries.len() {
        if survey.entries[at].below.is_empty() || (below == Below::Free && is_free(survey, at, before)) {
            continue;
        }
        let entry = &mut survey.entries[at];
        let keys = std::mem::take(&mut entry.below);
        entry.statements.extend(keys);
        entry.statements.sort_unstable();
        entry.region = None;
    }
}

/// Returns whether the entry is as we wrote it but for these keys; from then on it has the digest without them.
fn is_free(survey: &mut Survey<'_>, at: usize, before: &Record<'_>) -> bool {
    let entry = &survey.entries[at];
    let names = entry.below.iter().filter_map(|number| name_of(survey, *number));
    let names: Vec<String> = names.map(|name| first_part(name).into_owned()).collect();
    let recorded = before.get(&entry.place).copied();
    let Some(region) = entry.region else { return false };
    let is_whole = entry.digest.as_deref() == recorded;
    if is_whole || names.iter().any(|name| entry.place.has_key(name)) {
        return false;
    }
    let Some(mut value) = survey.value(entry).cloned() else { return false };
    if let DeValue::Table(table) = &mut value {
        names.iter().for_each(|name| drop(table.remove(name.as_str())));
    }
    let without = digest::of_value(&value);
    let is_recorded = recorded == Some(&without);
    let with = survey.entries[at].digest.replace(without);
    if is_recorded || survey.is_sealed(region) {
        return true;
    }
    survey.entries[at].digest = with;
    false
}

/// The name of a key as it is written.
pub(super) fn name_of<'a>(survey: &Survey<'a>, number: usize) -> Option<&'a str> {
    let statement = survey.statements.get(number)?;
    survey.text.get(statement.kind.name()?).map(str::trim)
}
