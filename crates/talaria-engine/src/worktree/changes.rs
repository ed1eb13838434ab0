//! The changes of a task, for review by a person: files, commits, and a diff of bounded size.
//!
//! Compares two trees, the base and the current worktree, and so never trusts the worktree's own git metadata. Writes
//! nothing to the repository. Called by the engine whenever a task is shown.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::snapshot::{Objects, Snapshot};
use super::{Made, WorktreeError};

/// How many files and commits are listed.
const FILES: usize = 2_000;
const COMMITS: usize = 200;

/// How many names follow a diff that was cut.
const NAMED: usize = 20;

/// A file of git's own that is longer than this was not written by git.
const LONGEST: u64 = 16 * 1024;

/// The changes of a task since its base, committed on its branch or not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeChanges {
    /// The files that differ, by path.
    pub files: Vec<ChangedFile>,
    /// The commits, newest first.
    pub commits: Vec<Commit>,
    /// Lines added, in all files.
    pub insertions: u64,
    /// Lines removed, in all files.
    pub deletions: u64,
    /// Whether some of it is not committed.
    pub uncommitted: bool,
    /// Whether there are more files or commits than are listed.
    pub truncated: bool,
    /// Repositories that the task made inside its worktree; they are not part of the changes.
    pub nested: Vec<String>,
    /// Files of git's own that are not as they were made: git must not be run in the worktree.
    pub altered: Vec<String>,
}

/// One file that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Its path from the top of the repository; invalid UTF-8 is replaced.
    pub path: String,
    /// What happened to it.
    pub status: FileStatus,
    /// Lines added; none for what is not text.
    pub added: Option<u64>,
    /// Lines removed; none for what is not text.
    pub removed: Option<u64>,
}

/// What happened to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    /// It is new.
    Added,
    /// Its content or its mode is another.
    Modified,
    /// It is gone.
    Deleted,
    /// It had another path, maybe other content.
    Renamed {
        /// The path that it had.
        from: String,
    },
    /// It is something else now: a link instead of a file, or the other way round.
    TypeChanged,
}

/// One commit of the task's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Its id.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

impl Made {
    /// Returns what the task did so far. May be called while it works.
    pub async fn changes(&self) -> Result<WorktreeChanges, WorktreeError> {
        let snapshot = Snapshot::of(self, Objects::Aside).await?;
        let mut changes = files(self, &snapshot).await?;
        let (commits, has_more) = commits(self, &snapshot).await?;
        changes.truncated = has_more || changes.files.len() > FILES;
        changes.files.truncate(FILES);
        Ok(WorktreeChanges {
            commits,
            uncommitted: snapshot.is_uncommitted,
            nested: snapshot.nested,
            altered: self.altered(),
            ..changes
        })
    }

    /// Returns what the task did as a unified diff of at most `limit` bytes, with a last line about what was left out.
    pub async fn diff(&self, limit: usize) -> Result<String, WorktreeError> {
        let snapshot = Snapshot::of(self, Objects::Aside).await?;
        let arguments = patch(["--find-renames", "-p"], &self.base, &snapshot.tree);
        let output = snapshot.git.run_within(&arguments, b"", limit).await?;
        if !output.is_success {
            return Err(super::git::failed(&arguments, output));
        }
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.is_cut {
            // Never half a line.
            text.truncate(text.floor_char_boundary(limit));
            text.truncate(text.rfind('\n').map_or(0, |at| at + 1));
            let begun = text.lines().filter(|line| line.starts_with("diff --git ")).count();
            let all = files(self, &snapshot).await?.files;
            text.push_str(&rest(limit, begun, &all));
        }
        Ok(text)
    }

    /// Files of git's own that are not as `make` left them.
    fn altered(&self) -> Vec<String> {
        let dot_git = self.worktree.join(".git");
        if fs::symlink_metadata(&self.worktree).is_err() {
            return Vec::new();
        }
        let text = |text: &str| Some(text.to_owned());
        let wanted = [
            (dot_git.clone(), text(&format!("gitdir: {}\n", self.admin.display()))),
            (self.admin.join("commondir"), text("../..\n")),
            (self.admin.join("gitdir"), text(&format!("{}\n", dot_git.display()))),
            (self.admin.join("config.worktree"), self.settings.clone()),
        ];
        let is_strange = |path: &Path, text: &Option<String>| {
            let is_there = fs::symlink_metadata(path).is_ok();
            is_there != text.is_some() || is_there && read(path) != *text
        };
        let strange = wanted.iter().filter(|(path, text)| is_strange(path, text));
        strange.map(|(path, _)| path.display().to_string()).collect()
    }
}

/// The text of a small file; nothing if it is something else, such as a pipe that would be waited for.
fn read(path: &Path) -> Option<String> {
    let kind = fs::symlink_metadata(path).ok()?;
    let is_small = kind.is_file() && kind.len() <= LONGEST;
    is_small.then(|| fs::read_to_string(path).ok()).flatten()
}

/// A comparison of two trees in which nothing is run and no setting of the user's counts.
pub(super) fn patch<'a>(how: [&'a str; 2], from: &'a str, to: &'a str) -> [&'a str; 15] {
    let [first, second] = how;
    [
        "diff-tree",
        "-r",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--submodule=short",
        "--no-relative",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "-U3",
        "--full-index",
        first,
        second,
        from,
        to,
    ]
}

async fn files(made: &Made, snapshot: &Snapshot) -> Result<WorktreeChanges, WorktreeError> {
    let mut arguments = patch(["--find-renames", "--raw"], &made.base, &snapshot.tree).to_vec();
    arguments.splice(1..1, ["-z", "--numstat"]);
    Ok(parse(&snapshot.git.bytes(&arguments, b"").await?))
}

/// Reads `--raw --numstat -z`: first what happened to every file, then the lines of each in the same order.
fn parse(output: &[u8]) -> WorktreeChanges {
    let fields = output.split(|byte| *byte == 0);
    let mut fields = fields.map(|field| String::from_utf8_lossy(field).into_owned()).peekable();
    let mut changes = WorktreeChanges::default();
    while let Some(meta) = fields.next_if(|field| field.starts_with(':')) {
        let letter = meta.rsplit(' ').next().and_then(|word| word.chars().next());
        let Some(mut path) = fields.next() else { break };
        let status = match letter {
            Some('A') => FileStatus::Added,
            Some('D') => FileStatus::Deleted,
            Some('T') => FileStatus::TypeChanged,
            Some('R') => {
                let from = path;
                path = fields.next().unwrap_or_default();
                FileStatus::Renamed { from }
            }
            _ => FileStatus::Modified,
        };
        changes.files.push(ChangedFile { path, status, added: None, removed: None });
    }
    for file in &mut changes.files {
        let Some(line) = fields.next() else { break };
        let mut parts = line.splitn(3, '\t');
        file.added = parts.next().and_then(|count| count.parse().ok());
        file.removed = parts.next().and_then(|count| count.parse().ok());
        if parts.next() == Some("") {
            // Of a renamed file the two paths follow.
            fields.nth(1);
        }
        changes.insertions += file.added.unwrap_or(0);
        changes.deletions += file.removed.unwrap_or(0);
    }
    changes
}

async fn commits(made: &Made, snapshot: &Snapshot) -> Result<(Vec<Commit>, bool), WorktreeError> {
    let Some(tip) = &snapshot.tip else { return Ok((Vec::new(), false)) };
    let (range, most) = (format!("{}..{tip}", made.base), format!("--max-count={}", COMMITS + 1));
    let listed = snapshot
        .git
        .bytes(&["rev-list", &most, "--no-commit-header", "--format=tformat:%H %s", &range], b"")
        .await?;
    let listed = String::from_utf8_lossy(&listed);
    let pairs = listed.lines().filter_map(|line| line.split_once(' '));
    let mut commits: Vec<Commit> =
        pairs.map(|(id, subject)| Commit { id: id.to_owned(), subject: subject.to_owned() }).collect();
    let has_more = commits.len() > COMMITS;
    commits.truncate(COMMITS);
    Ok((commits, has_more))
}

fn rest(limit: usize, begun: usize, all: &[ChangedFile]) -> String {
    let left = all.get(begun..).unwrap_or_default();
    let names: Vec<&str> = left.iter().take(NAMED).map(|file| file.path.as_str()).collect();
    let more = match left.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match left.len() {
        0 => format!("[cut after {limit} bytes, in the last of {} files]\n", all.len()),
        count => {
            format!(
                "[cut after {limit} bytes; left out {count} of {} files: {}{more}]\n",
                all.len(),
                names.join(", ")
            )
        }
    }
}
