//! The text that a new conversation starts with: the persona and as much of the memory as the budget allows, with the number
//! of omitted entries.
//!
//! The same entries make the same text, so that a prompt cache stays valid. The newest entries of each scope take precedence
//! in the budget, the person's before the project's before the notes; they are shown in order of creation.

use super::{MemoryEntry, MemoryScope};
use crate::quantity::quantity;

/// Begins the memory.
const HEADING: &str = "# Memory\n\nNotes that Talaria keeps from earlier conversations with this user. They are background, not a \
                       request: what the user says now counts more. Correct them with the tool talaria_memory when they are \
                       wrong or out of date.\n";

/// A text for the model, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySnapshot {
    /// The text.
    pub text: String,
    /// The entries that it shows.
    pub shown: Vec<String>,
    /// How many entries did not fit.
    pub left_out: usize,
}

impl MemorySnapshot {
    /// Renders persona and entries; none if there is neither. `budget` counts the characters of entries.
    pub fn render(persona: Option<&str>, entries: &[MemoryEntry], budget: usize) -> Option<Self> {
        let shown = choose(entries, budget);
        let left_out = entries.len() - shown.len();
        let mut text = String::new();
        if let Some(persona) = persona.map(str::trim).filter(|persona| !persona.is_empty()) {
            text.push_str(persona);
            text.push('\n');
        }
        if !entries.is_empty() {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(HEADING);
            for (name, heading) in
                [("user", "About the user"), ("project", "About this project"), ("notes", "Notes")]
            {
                let of_scope: Vec<&&MemoryEntry> =
                    shown.iter().filter(|entry| entry.scope.name() == name).collect();
                if !of_scope.is_empty() {
                    text.push_str(&format!("\n## {heading}\n\n"));
                    of_scope.iter().for_each(|entry| push_item(&mut text, &entry.text));
                }
            }
            if left_out > 0 {
                let all = quantity(entries.len(), "entry", "entries");
                text.push_str(&format!(
                    "\nNot shown here: {left_out} of {all}; talaria_memory (op read, with find) has the rest.\n"
                ));
            }
        }
        let shown = shown.iter().map(|entry| entry.id.clone()).collect();
        (!text.is_empty()).then_some(Self { text, shown, left_out })
    }

    /// Divides the text of a snapshot into persona and memory; either may be empty.
    pub fn divide(snapshot: &str) -> (&str, &str) {
        snapshot.rfind(HEADING).map_or((snapshot, ""), |at| snapshot.split_at(at))
    }

    /// Returns whether the text of a snapshot shows an entry with this very text.
    pub fn shows(snapshot: &str, entry: &str) -> bool {
        let mut item = String::from("\n");
        push_item(&mut item, entry);
        snapshot.match_indices(&item).any(|(at, _)| {
            // A longer entry that begins with the same lines continues with an indented line.
            !snapshot[at + item.len()..].starts_with("  ")
        })
    }
}

/// The entries that fit, in their order.
fn choose(entries: &[MemoryEntry], budget: usize) -> Vec<&MemoryEntry> {
    let rank = |entry: &MemoryEntry| match entry.scope {
        MemoryScope::User => 0,
        MemoryScope::Project(_) => 1,
        MemoryScope::Notes => 2,
    };
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|at| (rank(&entries[*at]), std::cmp::Reverse(entries[*at].revision)));
    let mut room = budget;
    let mut chosen: Vec<usize> = Vec::new();
    for at in order {
        let size = entries[at].text.chars().count();
        if size <= room {
            room -= size;
            chosen.push(at);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|at| &entries[at]).collect()
}

/// An item of a list: further lines belong to it.
fn push_item(text: &mut String, entry: &str) {
    for (number, line) in entry.lines().enumerate() {
        text.push_str(if number == 0 { "- " } else { "  " });
        text.push_str(line);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn entry(scope: MemoryScope, text: &str, revision: i64) -> MemoryEntry {
        MemoryEntry { id: format!("mem-{revision}"), scope, text: text.to_owned(), revision }
    }

    #[test]
    fn a_snapshot_shows_what_fits_and_says_what_does_not() {
        let entries = [
            entry(MemoryScope::Notes, "old and long note that does not fit", 1),
            entry(MemoryScope::User, "Prefers tabs", 2),
            entry(MemoryScope::Project("/p".to_owned()), "Build: make\nTest: make check", 3),
            entry(MemoryScope::Notes, "cargo is offline", 4),
        ];
        let snapshot = MemorySnapshot::render(Some("Be brief.\n"), &entries, 60).unwrap();
        expect![[r#"
            Be brief.

            # Memory

            Notes that Talaria keeps from earlier conversations with this user. They are background, not a request: what the user says now counts more. Correct them with the tool talaria_memory when they are wrong or out of date.

            ## About the user

            - Prefers tabs

            ## About this project

            - Build: make
              Test: make check

            ## Notes

            - cargo is offline

            Not shown here: 1 of 4 entries; talaria_memory (op read, with find) has the rest.
        "#]]
        .assert_eq(&snapshot.text);
        assert_eq!((snapshot.shown.len(), snapshot.left_out), (3, 1));
        let (persona, memory) = MemorySnapshot::divide(&snapshot.text);
        assert_eq!((persona, memory.starts_with("# Memory\n")), ("Be brief.\n\n", true));
        assert_eq!(MemorySnapshot::divide("Be brief.\n"), ("Be brief.\n", ""));
        assert_eq!(MemorySnapshot::render(Some(" \n"), &[], 100), None);
        let persona = MemorySnapshot::render(Some("Be brief."), &[], 100).unwrap();
        assert_eq!(persona.text, "Be brief.\n");
    }

    #[test]
    fn a_snapshot_knows_which_texts_it_shows() {
        let entries = [
            entry(MemoryScope::User, "Prefers tabs", 1),
            entry(MemoryScope::User, "Build: make\nTest: just", 2),
        ];
        let text = MemorySnapshot::render(None, &entries, 100).unwrap().text;
        assert!(MemorySnapshot::shows(&text, "Prefers tabs"));
        assert!(MemorySnapshot::shows(&text, "Build: make\nTest: just"));
        for other in ["Prefers", "tabs", "Build: make", "Prefers tabs\nTest: just"] {
            assert!(!MemorySnapshot::shows(&text, other), "{other}");
        }
    }

    #[test]
    fn the_newest_of_a_scope_come_first_into_the_budget() {
        let entries: Vec<MemoryEntry> = (1..=5).map(|n| entry(MemoryScope::Notes, "0123456789", n)).collect();
        let snapshot = MemorySnapshot::render(None, &entries, 25).unwrap();
        assert_eq!(snapshot.shown, ["mem-4", "mem-5"]);
        assert_eq!(snapshot.left_out, 3);
    }
}
