//! A change of files in one line, without any of their content: how many of each kind, and the first few names.

use std::fmt::Write;

use crate::item::{FileAction, FileChange};

/// How many files are named.
const NAMED: usize = 3;

/// Sums up changes: `1 add, 2 update: a.txt, b.txt, c.txt, +4 more`.
pub fn summary(changes: &[FileChange]) -> String {
    if changes.is_empty() {
        return "no files".to_owned();
    }
    let mut out = String::new();
    // In the order of their names.
    for action in [FileAction::Add, FileAction::Delete, FileAction::Update] {
        let count = changes.iter().filter(|change| change.action == action).count();
        if count > 0 {
            let comma = if out.is_empty() { "" } else { ", " };
            let _ = write!(out, "{comma}{count} {action}");
        }
    }
    for (index, change) in changes.iter().take(NAMED).enumerate() {
        let sign = if index == 0 { ": " } else { ", " };
        let _ = write!(out, "{sign}{}", change.path);
    }
    if changes.len() > NAMED {
        let _ = write!(out, ", +{} more", changes.len() - NAMED);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(list: &[(FileAction, &str)]) -> Vec<FileChange> {
        let change = |(action, path): &(FileAction, &str)| FileChange {
            path: (*path).to_owned(),
            action: *action,
            move_to: None,
            diff: "SECRET CONTENT".to_owned(),
        };
        list.iter().map(change).collect()
    }

    #[test]
    fn kinds_are_counted_in_order_and_three_files_are_named() {
        use FileAction::{Add, Delete, Update};
        assert_eq!(summary(&changes(&[(Update, "b"), (Add, "a")])), "1 add, 1 update: b, a");
        assert_eq!(
            summary(&changes(&[(Delete, "a"), (Update, "b"), (Update, "c"), (Add, "d"), (Add, "e")])),
            "2 add, 1 delete, 2 update: a, b, c, +2 more"
        );
        assert_eq!(summary(&[]), "no files");
    }
}
