//! Removes a task's worktree and its branch.
//!
//! Refuses while there is work that exists nowhere else, unless forced; even then uncommitted work is committed first,
//! and the ids are returned, so that all of it can be restored until git's garbage collection. Ignored files, and
//! repositories inside the worktree, are deleted with it. Missing parts are no error: the call may be repeated. git is
//! not asked to remove the worktree, because it would first read it with the configuration that the task could write.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::apply::Work;
use super::git::Git;
use super::snapshot::{Objects, Snapshot, commit};
use super::{FOLDER, Made, WorktreeError};

/// What to do about work that is nowhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Force {
    /// Nothing is removed.
    KeepWork,
    /// It is removed with the rest.
    DropWork,
}

/// The removed parts, and how to restore them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscardedWorktree {
    /// The branch that is gone.
    pub branch: String,
    /// The commit that it was at; none if it was gone before.
    pub tip: Option<String>,
    /// The commit with the uncommitted work, on top of the branch.
    pub kept: Option<String>,
}

impl DiscardedWorktree {
    /// The command that restores the work, until git's garbage collection; none if there was no work.
    pub fn recovery(&self) -> Option<String> {
        let id = self.kept.as_ref().or(self.tip.as_ref())?;
        Some(format!("git branch {}-back {id}", self.branch.replace('/', "-")))
    }
}

impl Made {
    /// Removes the worktree and the branch.
    pub async fn discard(&self, force: Force) -> Result<DiscardedWorktree, WorktreeError> {
        let git = Git::of(&self.common);
        if !self.common.is_dir() {
            // The repository is gone: there is no branch, and nothing to keep work in.
            remove(&self.worktree)?;
            remove(&self.first_index())?;
            return Ok(DiscardedWorktree { branch: self.branch.clone(), tip: None, kept: None });
        }
        let tip = match self.tip(&git).await {
            // Of a symbolic ref only the ref itself is removed; its target stays.
            Err(WorktreeError::Tampered { .. }) => None,
            other => other?,
        };
        let kept = match (self.kept_work(tip.as_deref(), force).await, force) {
            (Ok(kept), _) => kept,
            // Unreadable parts (a file without permissions, objects that the task removed) must not prevent the
            // removal.
            (Err(error), Force::DropWork) => {
                tracing::warn!("uncommitted changes on {} cannot be kept: {error}", self.branch);
                None
            }
            (Err(error), Force::KeepWork) => return Err(error),
        };
        remove(&self.worktree)?;
        remove(&self.admin)?;
        remove(&self.first_index())?;
        self.delete_branch(&git).await?;
        Ok(DiscardedWorktree { branch: self.branch.clone(), tip: tip.filter(|tip| *tip != self.base), kept })
    }

    /// Keeps what was not committed as a commit, and names it; refuses if something would be lost that is not to be.
    async fn kept_work(&self, tip: Option<&str>, force: Force) -> Result<Option<String>, WorktreeError> {
        let snapshot = Snapshot::at(self, tip.map(str::to_owned), Objects::Kept).await?;
        if force == Force::KeepWork {
            self.refuse_loss(&snapshot).await?;
        }
        if !snapshot.is_uncommitted {
            return Ok(None);
        }
        let message = format!("Uncommitted work of {}", self.branch);
        commit(&snapshot.git, &snapshot.tree, tip.unwrap_or(&self.base), &message).await.map(Some)
    }

    async fn refuse_loss(&self, snapshot: &Snapshot) -> Result<(), WorktreeError> {
        let tip = snapshot.tip.as_deref().unwrap_or(&self.base);
        let is_nowhere_else = tip != self.base && !self.is_elsewhere(&snapshot.git, tip).await?;
        if !is_nowhere_else && !snapshot.is_uncommitted && snapshot.nested.is_empty() {
            return Ok(());
        }
        let work = Work::of(self, snapshot).await?;
        if snapshot.nested.is_empty() && work.is_in(&self.repository).await? {
            return Ok(());
        }
        let range = format!("{}..{tip}", self.base);
        let commits = snapshot.git.text(&["rev-list", "--count", &range]).await?.parse().unwrap_or(0);
        let names = ["diff-tree", "-r", "-z", "--name-only", &format!("{tip}^{{tree}}"), &snapshot.tree];
        let listed = snapshot.git.bytes(&names, b"").await?;
        let files = listed.iter().filter(|byte| **byte == 0).count() + snapshot.nested.len();
        Err(WorktreeError::WouldLose { branch: self.branch.clone(), commits, files })
    }

    /// Whether a branch of the user's has the commit. Tasks write all branches of ours, so that those do not count.
    async fn is_elsewhere(&self, git: &Git, tip: &str) -> Result<bool, WorktreeError> {
        let contains = format!("--contains={tip}");
        let asked =
            ["for-each-ref", "--format=%(refname)", &contains, "refs/heads", "refs/remotes", "refs/tags"];
        let ours = format!("refs/heads/{FOLDER}/");
        Ok(git.text(&asked).await?.lines().any(|name| !name.starts_with(&ours)))
    }

    async fn delete_branch(&self, git: &Git) -> Result<(), WorktreeError> {
        let reference = self.reference();
        // Through a name that points at another, the other one would be deleted.
        let delete = ["update-ref", "--no-deref", "-d", &reference];
        match git.change(&delete).await {
            // git does not delete what it cannot read. What lies there is a file of ours; another may be packed.
            Err(WorktreeError::Git { detail, .. }) if detail.contains("reference broken") => {
                remove(&self.common.join(&reference))?;
                git.change(&delete).await
            }
            other => other,
        }
    }
}

/// Removes a directory, or a link in its place without its target.
fn remove(path: &Path) -> Result<(), WorktreeError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(kind) if kind.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(WorktreeError::io(path)(error)),
        _ => Ok(()),
    }
}
