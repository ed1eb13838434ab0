//! A question in one line: its subject. For lists, notices and the model; never for approval.
//!
//! The text is as Codex and the model wrote it: the code that shows it makes it harmless first.

use std::collections::BTreeMap;

use super::{Ask, Wish};
use crate::item::{FileAction, FileChange};

/// How many paths a summary names.
const PATHS: usize = 3;

impl Ask {
    /// Its subject.
    pub fn label(&self) -> String {
        match self {
            Self::Command { command, .. } | Self::Stdin { command, .. } => command.clone(),
            Self::Network { host, protocol, .. } => format!("network access to {host} ({protocol})"),
            Self::Patch { changes, reason, .. } => {
                match changes.as_deref().map(patch_summary).as_ref().or(reason.as_ref()) {
                    Some(about) => format!("apply_patch: {about}"),
                    None => "apply_patch".to_owned(),
                }
            }
            Self::Permissions { permissions, .. } => {
                format!("a wider sandbox: {}", permissions.lines().join(", "))
            }
            Self::TaskPower { model, permissions, .. } => {
                format!("more power for a task of {model}: {}", permissions.lines().join(", "))
            }
            Self::WebPage { url, .. } => format!("read the web page {url}"),
            Self::OwnTool { tool, arguments, .. } => format!("{tool} {arguments}"),
            Self::Input { questions, .. } => {
                let questions: Vec<&str> =
                    questions.iter().map(|question| question.question.as_str()).collect();
                questions.join(" / ")
            }
            Self::Elicitation { server, message, wish: Wish::Form(_), .. } => {
                format!("a form of the MCP server {server}: {message}")
            }
            Self::Elicitation { server, wish: Wish::Url { url }, .. } => {
                format!("an address of the MCP server {server}: {url}")
            }
            Self::Tool { server, message, .. } => format!("a tool of the MCP server {server}: {message}"),
            Self::Host { summary, .. } | Self::Unsupported { summary, .. } => summary.clone(),
        }
    }
}

/// The changes of a patch in one line: `1 add, 2 update: a, b, c`, with `, +N more` for further files.
pub fn patch_summary(changes: &[FileChange]) -> String {
    if changes.is_empty() {
        return "1 change pending".to_owned();
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for change in changes {
        let kind = match change.action {
            FileAction::Add => "add",
            FileAction::Delete => "delete",
            FileAction::Update => "update",
        };
        *counts.entry(kind).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let mut paths: Vec<String> = changes.iter().take(PATHS).map(|change| change.path.clone()).collect();
    if changes.len() > PATHS {
        paths.push(format!("+{} more", changes.len() - PATHS));
    }
    format!("{}: {}", counts.join(", "), paths.join(", "))
}

/// Words as a shell would read them: a word that is more than letters, digits and a few signs is quoted.
pub fn shell_words(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_".contains(c);
    let quote = |word: &String| match word.as_str() {
        plain if !plain.is_empty() && plain.chars().all(is_plain) => plain.to_owned(),
        other => format!("'{}'", other.replace('\'', r"'\''")),
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{ItemId, ThreadId};

    fn changes(of: &[(&str, FileAction)]) -> Vec<FileChange> {
        let change = |(path, action): &(&str, FileAction)| FileChange {
            path: (*path).to_owned(),
            action: *action,
            move_to: None,
            diff: String::new(),
        };
        of.iter().map(change).collect()
    }

    fn patch(changes: Option<Vec<FileChange>>, reason: Option<&str>) -> Ask {
        Ask::Patch {
            thread: ThreadId::new("t"),
            item: ItemId::new("i"),
            changes,
            reason: reason.map(str::to_owned),
            grant_root: None,
        }
    }

    #[test]
    fn a_patch_is_summed_up_by_kind_and_its_first_three_files() {
        use FileAction::{Add, Delete, Update};
        assert_eq!(patch_summary(&changes(&[("a", Update)])), "1 update: a");
        assert_eq!(patch_summary(&changes(&[("b", Update), ("a", Add)])), "1 add, 1 update: b, a");
        let many = [("a", Update), ("b", Delete), ("c", Update), ("d", Add), ("e", Update)];
        assert_eq!(patch_summary(&changes(&many)), "1 add, 1 delete, 3 update: a, b, c, +2 more");
        assert_eq!(patch_summary(&[]), "1 change pending");
    }

    #[test]
    fn a_patch_is_named_by_its_changes_else_by_its_reason() {
        let some = || Some(changes(&[("a", FileAction::Add)]));
        assert_eq!(patch(some(), Some("why")).label(), "apply_patch: 1 add: a");
        assert_eq!(patch(None, Some("why")).label(), "apply_patch: why");
        assert_eq!(patch(None, None).label(), "apply_patch");
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        let words =
            |words: &[&str]| shell_words(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(words(&["touch", "a-b.txt"]), "touch a-b.txt");
        assert_eq!(words(&["/bin/bash", "-lc", "echo 'x'; ls"]), r"/bin/bash -lc 'echo '\''x'\''; ls'");
        assert_eq!(words(&["", "a b", "*"]), "'' 'a b' '*'");
    }
}
