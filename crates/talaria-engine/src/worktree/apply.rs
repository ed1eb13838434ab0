//! Applies a task's changes to the user's checkout, completely or not at all.
//!
//! The difference between the base and the worktree is applied to the user's files as one patch, and is not committed;
//! the index is not changed. git applies a patch only where its context lines match, so that no change of the user is
//! overwritten; files that it would create must not exist. Called when a person asks for it.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::changes::patch;
use super::git::Git;
use super::snapshot::{Objects, Snapshot};
use super::{Made, WorktreeError};

/// The files changed in the user's checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedPatch {
    /// The files that were written or removed, from the top of the checkout.
    pub files: Vec<String>,
    /// The checkout had all of it before, so that nothing was written.
    pub is_repeated: bool,
}

/// Which way a patch is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Back,
}

/// The work of a task as a patch.
pub(super) struct Work {
    patch: Vec<u8>,
    /// The paths and whether each is new.
    files: Vec<(PathBuf, bool)>,
}

impl Made {
    /// Applies the task's work, committed or not, to the user's checkout, uncommitted.
    ///
    /// Checked first: if the patch is already applied, or does not apply, nothing is changed. Neither the branch nor the
    /// worktree is changed.
    pub async fn apply(&self) -> Result<AppliedPatch, WorktreeError> {
        if !self.repository.is_dir() {
            return Err(WorktreeError::CheckoutGone(self.repository.clone()));
        }
        let work = Work::of(self, &Snapshot::of(self, Objects::Aside).await?).await?;
        if work.patch.is_empty() {
            return Err(WorktreeError::NothingToApply(self.branch.clone()));
        }
        if work.is_in(&self.repository).await? {
            return Ok(AppliedPatch { files: Vec::new(), is_repeated: true });
        }
        let taken = work
            .files
            .iter()
            .filter(|(path, is_new)| *is_new && look_at(&self.repository.join(path)).is_some());
        let taken: Vec<String> = taken.map(|(path, _)| path.display().to_string()).collect();
        if !taken.is_empty() {
            return Err(WorktreeError::Overwrites { files: taken, branch: self.branch.clone() });
        }
        let git = Git::at(&self.repository).without_own_filters().await?;
        let checked = git.run(&arguments("--check", Direction::Forward), &work.patch).await?;
        if !checked.is_success {
            return Err(WorktreeError::DoesNotApply { detail: checked.stderr, branch: self.branch.clone() });
        }
        let before = work.look(&self.repository);
        let applied = git.run(&arguments("--apply", Direction::Forward), &work.patch).await;
        let detail = match applied {
            Ok(output) if output.is_success => {
                return Ok(AppliedPatch { files: work.names(), is_repeated: false });
            }
            Ok(output) => output.stderr,
            Err(error) => error.to_string(),
        };
        let after = work.look(&self.repository);
        let pairs = work.names().into_iter().zip(before.iter().zip(&after));
        let touched: Vec<String> =
            pairs.filter(|(_, (before, after))| before != after).map(|(name, _)| name).collect();
        let branch = self.branch.clone();
        Err(if touched.is_empty() {
            WorktreeError::DoesNotApply { detail, branch }
        } else {
            WorktreeError::HalfApplied { detail, touched, branch }
        })
    }
}

impl Work {
    /// Returns the changes as a patch without renames: every path is a separate entry.
    pub(super) async fn of(made: &Made, snapshot: &Snapshot) -> Result<Self, WorktreeError> {
        let arguments = patch(["--no-renames", "--binary"], &made.base, &snapshot.tree);
        let patch_text = snapshot.git.bytes(&arguments, b"").await?;
        let names = ["diff-tree", "-r", "-z", "--name-status", "--no-renames", &made.base, &snapshot.tree];
        let listed = snapshot.git.bytes(&names, b"").await?;
        let mut fields = listed.split(|byte| *byte == 0);
        let mut files = Vec::new();
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            use std::os::unix::ffi::OsStrExt as _;
            files.push((PathBuf::from(std::ffi::OsStr::from_bytes(path)), status == b"A"));
        }
        Ok(Self { patch: patch_text, files })
    }

    /// Whether the user's checkout has all of it already.
    pub(super) async fn is_in(&self, checkout: &Path) -> Result<bool, WorktreeError> {
        if self.patch.is_empty() || !checkout.is_dir() {
            return Ok(false);
        }
        let git = Git::at(checkout).without_own_filters().await?;
        Ok(git.run(&arguments("--check", Direction::Back), &self.patch).await?.is_success)
    }

    fn names(&self) -> Vec<String> {
        self.files.iter().map(|(path, _)| path.display().to_string()).collect()
    }

    fn look(&self, checkout: &Path) -> Vec<Option<Look>> {
        self.files.iter().map(|(path, _)| look_at(&checkout.join(path))).collect()
    }
}

/// What shows that a file was written: its length, its time, its mode.
type Look = (u64, Option<SystemTime>, fs::Permissions);

fn look_at(path: &Path) -> Option<Look> {
    let look = |kind: Metadata| (kind.len(), kind.modified().ok(), kind.permissions());
    fs::symlink_metadata(path).ok().map(look)
}

/// `git apply` with nothing of the user's settings about white space, which would change what is applied.
fn arguments(what: &'static str, direction: Direction) -> Vec<&'static str> {
    let mut arguments = vec!["apply", what, "--whitespace=nowarn", "--no-ignore-whitespace"];
    if direction == Direction::Back {
        arguments.push("--reverse");
    }
    arguments
}
