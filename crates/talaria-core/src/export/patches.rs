//! What the patches of a conversation changed, as unified diffs.
//!
//! A stored message of a patch names the files alone. The changes are in the event of its end, which precedes the message or has
//! its number: the exporter reads the events up to the last message of a page first. Pure.

use std::collections::HashMap;

use crate::api::{Numbered, StoredMessage};
use crate::event::Event;
use crate::item::{FileAction, FileChange, ItemBody};

/// The changes of patches whose messages were not written yet. Codex 0.130 uses an id again in another turn.
#[derive(Debug, Default)]
pub struct PatchBook {
    changes: HashMap<(i64, String), Vec<FileChange>>,
}

impl PatchBook {
    /// Notes an event; any but the end of a patch is ignored.
    pub fn note(&mut self, event: Numbered) {
        let (Some(turn), Event::ItemCompleted { item }) = (event.turn, event.event) else { return };
        if let ItemBody::Patch { changes, .. } = item.body {
            self.changes.insert((turn, item.id.to_string()), changes);
        }
    }

    /// Returns the changes of a call in this message, once.
    pub fn take(&mut self, stored: &StoredMessage, call: &str) -> Option<Vec<FileChange>> {
        self.changes.remove(&(stored.turn, call.to_owned()))
    }
}

/// The change of a file as a unified diff with the names of both sides.
pub fn unified_diff(change: &FileChange) -> String {
    let new_path = change.move_to.as_deref().unwrap_or(&change.path);
    let (old, new) = match change.action {
        FileAction::Add => ("/dev/null".to_owned(), format!("b/{}", bare(new_path))),
        FileAction::Delete => (format!("a/{}", bare(&change.path)), "/dev/null".to_owned()),
        FileAction::Update => (format!("a/{}", bare(&change.path)), format!("b/{}", bare(new_path))),
    };
    let body = match change.action {
        FileAction::Add => whole(&change.diff, '+'),
        FileAction::Delete => whole(&change.diff, '-'),
        // Some already have their names.
        FileAction::Update if change.diff.starts_with("--- ") || change.diff.starts_with("diff ") => {
            return change.diff.trim_end_matches('\n').to_owned();
        }
        FileAction::Update => change.diff.trim_end_matches('\n').to_owned(),
    };
    let rename = match &change.move_to {
        Some(to) => format!("rename from {}\nrename to {}\n", bare(&change.path), bare(to)),
        None => String::new(),
    };
    format!("{rename}--- {old}\n+++ {new}\n{body}").trim_end().to_owned()
}

/// `a/` and an absolute path would be two slashes.
fn bare(path: &str) -> &str {
    path.trim_start_matches('/')
}

/// Every line of a file that is new or deleted.
fn whole(content: &str, sign: char) -> String {
    let lines: Vec<&str> = content.split_terminator('\n').collect();
    if lines.is_empty() {
        return String::new();
    }
    let range = match sign {
        '+' => format!("@@ -0,0 +1,{} @@", lines.len()),
        _ => format!("@@ -1,{} +0,0 @@", lines.len()),
    };
    let mut out = range;
    for line in lines {
        out.push('\n');
        out.push(sign);
        out.push_str(line);
    }
    if !content.ends_with('\n') {
        out.push_str("\n\\ No newline at end of file");
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn change(action: FileAction, diff: &str) -> FileChange {
        FileChange { path: "/w/a.txt".to_owned(), action, move_to: None, diff: diff.to_owned() }
    }

    #[test]
    fn every_change_is_a_diff_that_patch_reads() {
        let moved = FileChange {
            move_to: Some("/w/b.txt".to_owned()),
            ..change(FileAction::Update, "@@ -1 +1 @@\n-one\n+two\n")
        };
        let all = [
            change(FileAction::Add, "one\ntwo"),
            change(FileAction::Delete, "one\n"),
            change(FileAction::Add, ""),
            moved,
            change(FileAction::Update, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n"),
        ];
        expect![[r"
            --- /dev/null
            +++ b/w/a.txt
            @@ -0,0 +1,2 @@
            +one
            +two
            \ No newline at end of file

            --- a/w/a.txt
            +++ /dev/null
            @@ -1,1 +0,0 @@
            -one

            --- /dev/null
            +++ b/w/a.txt

            rename from w/a.txt
            rename to w/b.txt
            --- a/w/a.txt
            +++ b/w/b.txt
            @@ -1 +1 @@
            -one
            +two

            --- a/x
            +++ b/x
            @@ -1 +1 @@
            -1
            +2
        "]]
        .assert_eq(&(all.iter().map(unified_diff).collect::<Vec<_>>().join("\n\n") + "\n"));
    }
}
