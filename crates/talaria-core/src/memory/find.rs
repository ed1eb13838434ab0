//! Finds the entry that a text means: by its id, or by a part that only one entry has. A guess is shown, never acted upon.

use talaria_guard::shorten::shorten_line;

use super::MemoryEntry;

/// How much of an entry is shown where it is named.
const PREVIEW: usize = 80;
/// How many entries are named when several match.
const NAMED: usize = 5;
/// Below this likeness an entry is no suggestion.
const LIKENESS: f64 = 0.25;

/// Why no single entry matches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// Several different entries have it.
    #[error("{count} entries match; use a longer part of the one you mean: {}", .previews.join(" | "))]
    Ambiguous {
        /// How many.
        count: usize,
        /// The beginnings of some.
        previews: Vec<String>,
    },
    /// None has it.
    #[error("not found{}", nearest_words(.nearest.as_deref()))]
    NotFound {
        /// The beginning of the entry that is most like it.
        nearest: Option<String>,
    },
}

fn nearest_words(nearest: Option<&str>) -> String {
    nearest.map(|text| format!("; the nearest entry is: {text}")).unwrap_or_default()
}

/// Finds the one entry whose id is `wanted` or whose text contains it. Of identical texts the first is
/// returned.
pub fn find<'a>(
    entries: impl Iterator<Item = &'a MemoryEntry> + Clone,
    wanted: &str,
) -> Result<&'a MemoryEntry, FindError> {
    let wanted = wanted.trim();
    if let Some(entry) = entries.clone().find(|entry| entry.id == wanted || entry.text == wanted) {
        return Ok(entry);
    }
    let mut matches: Vec<&MemoryEntry> = Vec::new();
    for entry in entries.clone().filter(|entry| entry.text.contains(wanted)) {
        if matches.iter().all(|other| other.text != entry.text) {
            matches.push(entry);
        }
    }
    match matches[..] {
        [one] => Ok(one),
        [] => Err(FindError::NotFound { nearest: nearest(entries, wanted) }),
        _ => Err(FindError::Ambiguous {
            count: matches.len(),
            previews: matches.iter().take(NAMED).map(|entry| preview(&entry.text)).collect(),
        }),
    }
}

/// The beginning of a text, on one line.
pub fn preview(text: &str) -> String {
    shorten_line(text, PREVIEW)
}

fn nearest<'a>(entries: impl Iterator<Item = &'a MemoryEntry>, wanted: &str) -> Option<String> {
    // Comparing whole texts with each other would be slow for long ones.
    let start = |text: &str| text.chars().take(200).collect::<String>().to_lowercase();
    let wanted = start(wanted);
    let likeness = |entry: &MemoryEntry| match entry.text.to_lowercase().contains(&wanted) {
        true => 1.0,
        false => strsim::sorensen_dice(&wanted, &start(&entry.text)),
    };
    let best = entries.map(|entry| (likeness(entry), entry)).max_by(|left, right| left.0.total_cmp(&right.0));
    best.filter(|(likeness, _)| *likeness >= LIKENESS).map(|(_, entry)| preview(&entry.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryScope;

    #[test]
    fn one_entry_is_meant_or_the_reason_is_said() {
        let entry = |id: &str, text: &str| MemoryEntry {
            id: id.to_owned(),
            scope: MemoryScope::User,
            text: text.to_owned(),
            revision: 1,
        };
        let entries = [
            entry("mem-1", "Prefers tabs over spaces"),
            entry("mem-2", "Prefers short answers"),
            entry("mem-3", "Uses fish"),
            entry("mem-4", "Uses fish"),
        ];
        let found = |wanted: &str| match find(entries.iter(), wanted) {
            Ok(entry) => entry.id.clone(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found("tabs"), "mem-1");
        assert_eq!(found(" mem-2 "), "mem-2");
        assert_eq!(found("fish"), "mem-3", "identical texts: the first");
        assert_eq!(
            found("Prefers"),
            "2 entries match; use a longer part of the one you mean: Prefers tabs over spaces | Prefers short answers"
        );
        assert_eq!(found("prefers TABS"), "not found; the nearest entry is: Prefers tabs over spaces");
        assert_eq!(found("zzz"), "not found");
    }
}
