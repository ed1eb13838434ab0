//! Turns an edit of a memory file into changes of entries: from the last text that Talaria wrote, the current text, and the
//! entries, which may have changed meanwhile.
//!
//! Both sides win where they can. Where a person and another writer changed the same entry, both texts stay. Merging what
//! was merged before changes nothing, so a crash between the file and the rows is harmless.

use super::{MemoryChange, MemoryEntry, MemoryScope};

/// Returns the changes that an edit of the file makes. `base` is what the file had when Talaria last wrote or read it.
pub fn merge(
    scope: &MemoryScope,
    base: &[String],
    file: &[String],
    entries: &[MemoryEntry],
    mut mint: impl FnMut() -> String,
) -> Vec<MemoryChange> {
    let mut rows = Rows { free: entries.iter().collect() };
    let (mut gaps, same) = align(base, file);
    for text in same {
        rows.take(text);
    }
    for text in moved(&mut gaps) {
        rows.take(text);
    }
    let mut changes = Vec::new();
    for Gap { removed, added } in gaps {
        let mut removed = removed.into_iter();
        for text in added {
            let former = removed.next();
            let is_there = rows.take(text).is_some();
            let row = former.and_then(|former| rows.take(former));
            match (row, is_there) {
                (Some(row), false) => changes.push(change(row, Some(text.clone()))),
                (Some(row), true) => changes.push(change(row, None)),
                (None, true) => {}
                (None, false) => changes.push(MemoryChange {
                    entry: mint(),
                    scope: scope.clone(),
                    expects: None,
                    before: None,
                    after: Some(text.clone()),
                }),
            }
        }
        changes.extend(removed.filter_map(|text| rows.take(text)).map(|row| change(row, None)));
    }
    changes
}

fn change(row: &MemoryEntry, after: Option<String>) -> MemoryChange {
    MemoryChange {
        entry: row.id.clone(),
        scope: row.scope.clone(),
        expects: Some(row.revision),
        before: Some(row.text.clone()),
        after,
    }
}

/// The entries that no text was compared with yet.
struct Rows<'a> {
    free: Vec<&'a MemoryEntry>,
}

impl<'a> Rows<'a> {
    fn take(&mut self, text: &str) -> Option<&'a MemoryEntry> {
        let at = self.free.iter().position(|row| row.text == text)?;
        Some(self.free.remove(at))
    }
}

/// Texts between two that are the same on both sides.
#[derive(Default)]
struct Gap<'a> {
    removed: Vec<&'a String>,
    added: Vec<&'a String>,
}

/// Aligns two lists by their longest common subsequence.
fn align<'a>(base: &'a [String], file: &'a [String]) -> (Vec<Gap<'a>>, Vec<&'a String>) {
    let mut lengths = vec![vec![0_u32; file.len() + 1]; base.len() + 1];
    for (row, left) in base.iter().enumerate().rev() {
        for (column, right) in file.iter().enumerate().rev() {
            lengths[row][column] = match left == right {
                true => lengths[row + 1][column + 1] + 1,
                false => lengths[row + 1][column].max(lengths[row][column + 1]),
            };
        }
    }
    let (mut gaps, mut same, mut gap) = (Vec::new(), Vec::new(), Gap::default());
    let (mut row, mut column) = (0, 0);
    while row < base.len() || column < file.len() {
        if row < base.len() && column < file.len() && base[row] == file[column] {
            same.push(&file[column]);
            gaps.push(std::mem::take(&mut gap));
            (row, column) = (row + 1, column + 1);
        } else if column == file.len()
            || (row < base.len() && lengths[row + 1][column] >= lengths[row][column + 1])
        {
            gap.removed.push(&base[row]);
            row += 1;
        } else {
            gap.added.push(&file[column]);
            column += 1;
        }
    }
    gaps.push(gap);
    (gaps, same)
}

/// Takes out the texts that only moved.
fn moved<'a>(gaps: &mut [Gap<'a>]) -> Vec<&'a String> {
    let added: Vec<&String> = gaps.iter().flat_map(|gap| gap.added.iter().copied()).collect();
    let mut moved = Vec::new();
    for text in added {
        let was_removed = gaps.iter_mut().any(|gap| take_text(&mut gap.removed, text));
        if was_removed {
            let _ = gaps.iter_mut().any(|gap| take_text(&mut gap.added, text));
            moved.push(text);
        }
    }
    moved
}

fn take_text(texts: &mut Vec<&String>, text: &String) -> bool {
    let at = texts.iter().position(|other| *other == text);
    at.map(|at| texts.remove(at)).is_some()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    fn rows(texts: &[&str]) -> Vec<MemoryEntry> {
        let row = |(number, text): (usize, &&str)| MemoryEntry {
            id: format!("mem-{number}"),
            scope: MemoryScope::Notes,
            text: (*text).to_owned(),
            revision: 1,
        };
        texts.iter().enumerate().map(row).collect()
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn merged(base: &[&str], file: &[&str], now: &[&str]) -> String {
        let mut number = 0;
        let mint = || {
            number += 1;
            format!("new-{number}")
        };
        let changes = merge(&MemoryScope::Notes, &texts(base), &texts(file), &rows(now), mint);
        let line = |change: &MemoryChange| {
            let [before, after] = [&change.before, &change.after].map(|text| text.as_deref().unwrap_or("-"));
            format!("{}: {before} -> {after}", change.entry)
        };
        changes.iter().map(line).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn edits_of_a_person_become_changes() {
        let base = ["a", "b", "c"];
        let cases = [
            merged(&base, &base, &base),
            merged(&base, &["a", "B", "c"], &base),
            merged(&base, &["a", "c"], &base),
            merged(&base, &["c", "a", "b"], &base),
            merged(&base, &["a", "b", "c", "d", "d"], &base),
            merged(&base, &[], &base),
            // Another writer changed b, removed c and added d meanwhile.
            merged(&base, &["a", "B", "c"], &["a", "b2", "d"]),
            merged(&base, &["a", "b"], &["a", "b", "d"]),
            merged(&[], &["a", "x"], &["a"]),
            // The file was written; the crash happened before that was recorded.
            merged(&base, &["a", "b2", "d"], &["a", "b2", "d"]),
            merged(&["a"], &["a", "a"], &["a", "a"]),
        ];
        expect![[r#"

            mem-1: b -> B
            mem-1: b -> -

            new-1: - -> d; new-2: - -> d
            mem-0: a -> -; mem-1: b -> -; mem-2: c -> -
            new-1: - -> B

            new-1: - -> x


        "#]]
        .assert_eq(&format!("{}\n", cases.join("\n")));
    }

    /// The texts after the changes.
    fn applied(now: &[MemoryEntry], changes: &[MemoryChange]) -> Vec<String> {
        let mut after: Vec<(String, String)> =
            now.iter().map(|row| (row.id.clone(), row.text.clone())).collect();
        for change in changes {
            after.retain(|(id, _)| *id != change.entry);
            after.extend(change.after.clone().map(|text| (change.entry.clone(), text)));
        }
        let mut after: Vec<String> = after.into_iter().map(|(_, text)| text).collect();
        after.sort();
        after
    }

    proptest! {
        #[test]
        fn every_text_of_the_file_is_there_afterwards_and_merging_again_changes_nothing(
            base in prop::collection::vec("[a-e]", 0..6),
            file in prop::collection::vec("[a-g]", 0..6),
            now in prop::collection::vec("[a-h]", 0..6),
        ) {
            let now = rows(&now.iter().map(String::as_str).collect::<Vec<_>>());
            let mut number = 0;
            let changes = merge(&MemoryScope::Notes, &base, &file, &now, || { number += 1; format!("new-{number}") });
            let after = applied(&now, &changes);
            for text in &file {
                let changed = base.contains(text) && !now.iter().any(|row| row.text == *text);
                prop_assert!(after.contains(text) || changed, "{text} is missing in {after:?}");
            }
            for row in &now {
                let is_removed = changes.iter().any(|change| change.entry == row.id);
                prop_assert!(!is_removed || base.contains(&row.text), "{} was not in the file", row.text);
            }
            // The next time the file itself is the base.
            let mut mint = || -> String { unreachable!("nothing is new") };
            prop_assert_eq!(merge(&MemoryScope::Notes, &file, &file, &now, &mut mint), vec![]);
        }
    }
}
