//! Decides what a batch of operations changes. All of it or nothing: a refused operation leaves a draft that is thrown away.
//!
//! Later operations of a batch see what earlier ones did. Called for tools, for commands and for approved proposals.

use super::file::{is_separator, tidy};
use super::find::{FindError, find};
use super::{LONGEST_ENTRY, MemoryChange, MemoryEntry, MemoryScope};

/// One wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryOperation {
    /// Adds an entry.
    Add {
        /// Where.
        scope: MemoryScope,
        /// Its text.
        text: String,
    },
    /// Replaces the text of the entry that `find` means.
    Replace {
        /// Where.
        scope: MemoryScope,
        /// Its id, or a part that only it has.
        find: String,
        /// The new text.
        text: String,
    },
    /// Removes the entry that `find` means.
    Remove {
        /// Where.
        scope: MemoryScope,
        /// Its id, or a part that only it has.
        find: String,
    },
}

impl MemoryOperation {
    /// The scope that it is about.
    pub fn scope(&self) -> &MemoryScope {
        match self {
            Self::Add { scope, .. } | Self::Replace { scope, .. } | Self::Remove { scope, .. } => scope,
        }
    }

    /// The text that it would write.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Add { text, .. } | Self::Replace { text, .. } => Some(text),
            Self::Remove { .. } => None,
        }
    }

    /// Its word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Replace { .. } => "replace",
            Self::Remove { .. } => "remove",
        }
    }
}

/// Why an operation is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryRefusal {
    /// No text.
    #[error("the text is empty")]
    Empty,
    /// Too much text.
    #[error("the text has {chars} characters; an entry has at most {LONGEST_ENTRY}: shorten it or divide it")]
    TooLong {
        /// How many.
        chars: usize,
    },
    /// A line that ends an entry in the file.
    #[error("the text has a line with § alone, which separates entries: add them one by one")]
    Separator,
    /// No single entry matches.
    #[error(transparent)]
    Find(#[from] FindError),
}

/// Result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryStep {
    /// It changed this entry.
    Changed {
        /// The entry.
        entry: String,
    },
    /// The memory is already so; this entry has the text.
    Unchanged {
        /// The entry.
        entry: String,
    },
}

/// The entries, with pending changes.
#[derive(Clone, Debug)]
pub struct MemoryDraft {
    entries: Vec<MemoryEntry>,
    changes: Vec<MemoryChange>,
}

impl MemoryDraft {
    /// A draft that changes nothing.
    pub fn new(entries: Vec<MemoryEntry>) -> Self {
        Self { entries, changes: Vec::new() }
    }

    /// Applies one operation. `id` is the name of the entry if it makes one.
    pub fn apply(&mut self, operation: &MemoryOperation, id: String) -> Result<MemoryStep, MemoryRefusal> {
        match operation {
            MemoryOperation::Add { scope, text } => {
                let text = checked(text)?;
                if let Some(same) = self.in_scope(scope).find(|entry| entry.text == text) {
                    return Ok(MemoryStep::Unchanged { entry: same.id.clone() });
                }
                self.changes.push(MemoryChange {
                    entry: id.clone(),
                    scope: scope.clone(),
                    expects: None,
                    before: None,
                    after: Some(text.clone()),
                });
                self.entries.push(MemoryEntry { id: id.clone(), scope: scope.clone(), text, revision: 0 });
                Ok(MemoryStep::Changed { entry: id })
            }
            MemoryOperation::Replace { scope, find: wanted, text } => {
                let text = checked(text)?;
                let entry = find(self.in_scope(scope), wanted)?.clone();
                if entry.text == text {
                    return Ok(MemoryStep::Unchanged { entry: entry.id });
                }
                Ok(self.change(entry, Some(text)))
            }
            MemoryOperation::Remove { scope, find: wanted } => {
                let entry = find(self.in_scope(scope), wanted)?.clone();
                Ok(self.change(entry, None))
            }
        }
    }

    /// Returns the changes to write, in order. An entry that changed several times is written once.
    pub fn into_changes(self) -> Vec<MemoryChange> {
        self.changes.into_iter().filter(|change| change.before != change.after).collect()
    }

    fn in_scope<'a>(&'a self, scope: &'a MemoryScope) -> impl Iterator<Item = &'a MemoryEntry> + Clone {
        self.entries.iter().filter(move |entry| entry.scope == *scope)
    }

    fn change(&mut self, entry: MemoryEntry, after: Option<String>) -> MemoryStep {
        let MemoryEntry { id, scope, text, revision } = entry;
        match &after {
            Some(text) => {
                let entries = self.entries.iter_mut().filter(|entry| entry.id == id);
                entries.for_each(|entry| entry.text.clone_from(text));
            }
            None => self.entries.retain(|entry| entry.id != id),
        }
        match self.changes.iter_mut().find(|change| change.entry == id) {
            Some(change) => change.after = after,
            None => {
                let entry = id.clone();
                self.changes.push(MemoryChange {
                    entry,
                    scope,
                    expects: Some(revision),
                    before: Some(text),
                    after,
                });
            }
        }
        MemoryStep::Changed { entry: id }
    }
}

/// The text as it is stored.
fn checked(text: &str) -> Result<String, MemoryRefusal> {
    // A text of a megabyte is refused before anything is made of it.
    if text.len() > 4 * LONGEST_ENTRY || text.chars().count() > LONGEST_ENTRY {
        return Err(MemoryRefusal::TooLong { chars: text.chars().count() });
    }
    if text.lines().any(is_separator) {
        return Err(MemoryRefusal::Separator);
    }
    match tidy(text) {
        text if text.is_empty() => Err(MemoryRefusal::Empty),
        text => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn entry(id: &str, text: &str) -> MemoryEntry {
        MemoryEntry { id: id.to_owned(), scope: MemoryScope::Notes, text: text.to_owned(), revision: 7 }
    }

    fn add(text: &str) -> MemoryOperation {
        MemoryOperation::Add { scope: MemoryScope::Notes, text: text.to_owned() }
    }

    fn replace(find: &str, text: &str) -> MemoryOperation {
        MemoryOperation::Replace { scope: MemoryScope::Notes, find: find.to_owned(), text: text.to_owned() }
    }

    fn remove(find: &str) -> MemoryOperation {
        MemoryOperation::Remove { scope: MemoryScope::Notes, find: find.to_owned() }
    }

    #[test]
    fn later_operations_see_earlier_ones_and_an_entry_changes_once() {
        let mut draft = MemoryDraft::new(vec![entry("a", "uses fish"), entry("b", "port 8080")]);
        let operations = [
            add("  builds with make\r\n"),
            replace("make", "builds with just"),
            replace("8080", "port 9090"),
            replace("9090", "port 8080"),
            remove("fish"),
            add("gone at once"),
            remove("gone"),
        ];
        for (number, operation) in operations.iter().enumerate() {
            draft.apply(operation, format!("new-{number}")).unwrap();
        }
        let line = |change: MemoryChange| {
            format!("{} {:?} {:?} -> {:?}", change.entry, change.expects, change.before, change.after)
        };
        let lines: Vec<String> = draft.into_changes().into_iter().map(line).collect();
        expect![[r#"
            new-0 None None -> Some("builds with just")
            a Some(7) Some("uses fish") -> None"#]]
        .assert_eq(&lines.join("\n"));
    }

    #[test]
    fn bad_operations_are_refused_with_the_reason() {
        let mut draft = MemoryDraft::new(vec![entry("a", "uses fish"), entry("b", "uses vim")]);
        let long = "x".repeat(1_000_000);
        let operations = [
            add(" \n "),
            add(&long),
            add("one\n§\ntwo"),
            replace("uses", "x"),
            remove("emacs"),
            add("uses vim"),
        ];
        let line = |operation: &MemoryOperation| match draft.apply(operation, "new".to_owned()) {
            Ok(step) => format!("{step:?}"),
            Err(refusal) => refusal.to_string(),
        };
        let lines: Vec<String> = operations.iter().map(line).collect();
        expect![[r#"
            the text is empty
            the text has 1000000 characters; an entry has at most 4000: shorten it or divide it
            the text has a line with § alone, which separates entries: add them one by one
            2 entries match; use a longer part of the one you mean: uses fish | uses vim
            not found
            Unchanged { entry: "b" }"#]]
        .assert_eq(&lines.join("\n"));
        assert_eq!(draft.into_changes(), []);
    }
}
