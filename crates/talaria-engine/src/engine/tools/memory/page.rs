//! The response of `talaria_memory`: the result of each operation, the requested entries, and the used space. Pure; at most
//! 10,000 characters.

use std::fmt::Write as _;

use talaria_core::config::Config;
use talaria_core::memory::draft::{MemoryOperation, MemoryStep};
use talaria_core::memory::{MemoryEntry, SNAPSHOT_CHARS};
use talaria_core::quantity::quantity;

use super::arguments::MemoryLook;
use crate::engine::memory::MemoryOutcome;

/// How many characters of entries an answer shows.
const SHOWN: usize = 7_000;
/// Begins what became of changes.
const CHANGED: &str = "Memory: ";

/// Result of changes that were made or wait.
pub(super) fn changed(operations: &[MemoryOperation], outcome: &MemoryOutcome) -> String {
    let mut text = match &outcome.proposal {
        Some((id, reason)) => format!(
            "{CHANGED}nothing is saved yet; the user has to approve it as {id} ({reason}). Continue without it.\n"
        ),
        None => match operations.len() {
            1 => format!("{CHANGED}1 change, done. Do not repeat it.\n"),
            count => format!("{CHANGED}{count} changes, all done. Do not repeat them.\n"),
        },
    };
    for (number, (operation, (step, revision))) in (1..).zip(operations.iter().zip(&outcome.steps)) {
        let what = match (step, revision) {
            (MemoryStep::Changed { .. }, Some(revision)) => format!("kept (revision {revision})"),
            (MemoryStep::Changed { .. }, None) => "waits".to_owned(),
            (MemoryStep::Unchanged { .. }, _) => "unchanged: the entry has this text already".to_owned(),
        };
        let _ = writeln!(text, "{number}. {} {}: {what}", operation.name(), operation.scope().name());
    }
    if outcome.is_masked {
        text.push_str("What looks like a secret was masked: the memory keeps no secrets.\n");
    }
    text
}

/// Why nothing was changed, operation by operation.
pub(super) fn refused(operations: &[MemoryOperation], reasons: &[Option<String>]) -> String {
    let mut text = "nothing was changed, because an operation was refused.\n".to_owned();
    for (number, (operation, reason)) in (1..).zip(operations.iter().zip(reasons)) {
        let what = reason.as_deref().unwrap_or("not done, but right");
        let _ = writeln!(text, "{number}. {} {}: {what}", operation.name(), operation.scope().name());
    }
    text
}

/// The response: changes, entries, and the used space.
pub(super) fn answer(
    changed: String,
    entries: &[MemoryEntry],
    looks: &[MemoryLook],
    config: &Config,
) -> String {
    let mut text = changed;
    let mut is_whole = true;
    let wanted: Vec<&MemoryEntry> = entries
        .iter()
        .filter(|entry| {
            looks.iter().any(|look| {
                let is_in = look.scope.as_ref().is_none_or(|scope| *scope == entry.scope);
                is_in && look.find.as_ref().is_none_or(|find| contains(&entry.text, find))
            })
        })
        .collect();
    if !looks.is_empty() {
        let mut room = SHOWN;
        let fits = |entry: &&&MemoryEntry| {
            let size = entry.text.chars().count() + 20;
            let fits = size <= room;
            room -= if fits { size } else { room };
            fits
        };
        let shown: Vec<&&MemoryEntry> = wanted.iter().take_while(fits).collect();
        let rest = match wanted.len() - shown.len() {
            0 => "complete".to_owned(),
            rest => format!("incomplete, the first {}; {rest} more: use find", shown.len()),
        };
        is_whole = shown.len() == wanted.len();
        let _ = writeln!(text, "Entries: {} found, {rest}.", wanted.len());
        for entry in shown {
            let _ = writeln!(text, "- {}: {}", entry.scope.name(), entry.text);
        }
    }
    text.push_str(&fill(entries, config));
    // The first line of every result says whether it is complete.
    match text.strip_prefix(CHANGED) {
        Some(rest) => format!("Memory ({}): {rest}", if is_whole { "complete" } else { "incomplete" }),
        None => text,
    }
}

fn contains(text: &str, find: &str) -> bool {
    text.to_lowercase().contains(&find.to_lowercase())
}

/// How full each scope is.
fn fill(entries: &[MemoryEntry], config: &Config) -> String {
    let scope = |name: &str| {
        let of_scope = entries.iter().filter(|entry| entry.scope.name() == name);
        let sizes: Vec<usize> = of_scope.map(|entry| entry.text.chars().count()).collect();
        let entries = quantity(sizes.len(), "entry", "entries");
        let characters = quantity(sizes.iter().sum(), "character", "characters");
        format!("{name} {entries}, {characters}")
    };
    let all: usize = entries.iter().map(|entry| entry.text.chars().count()).sum();
    let budget =
        config.memory.snapshot_chars.map_or(SNAPSHOT_CHARS, |chars| chars.try_into().unwrap_or(usize::MAX));
    let fits = match all <= budget {
        true => format!("all of it is in what conversations start with ({budget} characters)"),
        false => format!("conversations start with {budget} characters of it: shorten or join entries"),
    };
    format!("Fill: {}; {}; {}; {fits}.\n", scope("user"), scope("project"), scope("notes"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use talaria_core::memory::MemoryScope;

    use super::*;

    fn entry(scope: MemoryScope, text: &str) -> MemoryEntry {
        MemoryEntry { id: "mem-1".to_owned(), scope, text: text.to_owned(), revision: 1 }
    }

    #[test]
    fn an_answer_says_what_was_kept_what_was_read_and_how_full_it_is() {
        let operations = [
            MemoryOperation::Add { scope: MemoryScope::User, text: "x".to_owned() },
            MemoryOperation::Remove { scope: MemoryScope::Notes, find: "y".to_owned() },
        ];
        let step = |entry: &str| MemoryStep::Changed { entry: entry.to_owned() };
        let outcome = MemoryOutcome {
            steps: vec![(step("a"), Some(4)), (MemoryStep::Unchanged { entry: "b".to_owned() }, None)],
            proposal: None,
            is_masked: true,
            notes: Vec::new(),
        };
        let entries = [entry(MemoryScope::User, "Prefers tabs"), entry(MemoryScope::Notes, "port 8080")];
        let looks = [MemoryLook { scope: None, find: Some("TABS".to_owned()) }];
        let text = answer(changed(&operations, &outcome), &entries, &looks, &Config::default());
        let waits = MemoryOutcome {
            steps: vec![(step("a"), None)],
            proposal: Some(("prop-1".to_owned(), "why".to_owned())),
            is_masked: false,
            notes: Vec::new(),
        };
        let reasons = [None, Some("not found".to_owned())];
        expect![[r#"
            Memory (complete): 2 changes, all done. Do not repeat them.
            1. add user: kept (revision 4)
            2. remove notes: unchanged: the entry has this text already
            What looks like a secret was masked: the memory keeps no secrets.
            Entries: 1 found, complete.
            - user: Prefers tabs
            Fill: user 1 entry, 12 characters; project 0 entries, 0 characters; notes 1 entry, 9 characters; all of it is in what conversations start with (8000 characters).
            Memory: nothing is saved yet; the user has to approve it as prop-1 (why). Continue without it.
            1. add user: waits
            nothing was changed, because an operation was refused.
            1. add user: not done, but right
            2. remove notes: not found
        "#]]
        .assert_eq(&format!("{text}{}{}", changed(&operations[..1], &waits), refused(&operations, &reasons)));
    }

    #[test]
    fn a_long_memory_is_read_in_parts() {
        let entries: Vec<MemoryEntry> =
            (0..9).map(|_| entry(MemoryScope::Notes, &"x".repeat(2000))).collect();
        let text =
            answer(String::new(), &entries, &[MemoryLook { scope: None, find: None }], &Config::default());
        assert!(text.starts_with("Entries: 9 found, incomplete, the first 3; 6 more: use find.\n"), "{text}");
        assert!(text.contains("conversations start with 8000 characters of it"));
        assert!(text.chars().count() < 10_000);
    }
}
