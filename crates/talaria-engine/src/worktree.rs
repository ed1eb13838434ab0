//! A git worktree and a branch for each task, so that it can work and commit without touching the user's checkout.
//!
//! Owns creation ([`make`]), the writable roots of its sandbox ([`Made::writable_roots`]), the changes of the task
//! ([`Made::changes`], [`Made::diff`]), and its two ends ([`Made::apply`], [`Made::discard`]). Called by the engine; the
//! chat lists files with [`known_files`].
//!
//! Nothing that a task can write is trusted. That is its worktree with the `.git` file, its folder in the git directory
//! (`commondir`, `gitdir`, `config.worktree`: each could have git read a configuration that names programs), the objects
//! and the branches below `talaria/`. So no git of ours runs *in* a worktree once the task began: it is pointed at the
//! user's git directory and reads the worktree as plain files, with our own index, in a directory that no sandbox can
//! write. No hook, file watcher, external diff or text conversion runs. Filters: those of the repository's own
//! configuration do not run; those of the user's and the system's configuration (Git LFS) run for the files that the
//! **base commit**'s attributes name, as they would if the user added the file; attributes that the task wrote count
//! only for git inside the sandbox. A sparse checkout is not followed: the worktree has every file. Submodules are not
//! filled in.
//!
//! Left for the person to know: git run by hand *inside* a worktree reads what the task wrote there.
//! [`WorktreeChanges::altered`] names what it changed of git's own files.

mod apply;
mod changes;
mod discard;
mod error;
mod git;
mod listing;
mod make;
mod repository;
mod snapshot;
mod staging;

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use apply::AppliedPatch;
pub use changes::{ChangedFile, Commit, FileStatus, WorktreeChanges};
pub use discard::{DiscardedWorktree, Force};
pub use error::WorktreeError;
pub use listing::{UncommittedChanges, known_files, uncommitted};
pub use make::make;
pub use talaria_core::api::Dirty;

/// The folder of our branches.
const FOLDER: &str = "talaria";

/// A worktree created for a task; stored with the task as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// The top of the user's checkout.
    pub repository: PathBuf,
    /// The git directory that all worktrees of the repository share.
    pub common: PathBuf,
    /// The top of the worktree.
    pub worktree: PathBuf,
    /// The task's folder in the git directory: `<common>/worktrees/<id>`.
    pub admin: PathBuf,
    /// Where the task works: the directory in the worktree that was given in the checkout.
    pub cwd: PathBuf,
    /// The branch, `talaria/<task>`.
    pub branch: String,
    /// The commit that the task's work is compared with: the user's, or one that contains the uncommitted changes.
    pub base: String,
    /// The branch that was checked out; none if the user's checkout was at a commit.
    pub base_branch: Option<String>,
    /// Requested treatment of uncommitted changes.
    pub dirty: Dirty,
    /// The settings for this worktree alone that git took over from the user's checkout; most have none.
    pub settings: Option<String>,
}

/// The top of the checkout that contains a directory, and its shared git directory: what a worktree of it exposes.
pub async fn places(cwd: &Path) -> Result<[PathBuf; 2], WorktreeError> {
    let found = repository::Repository::find(cwd).await?;
    Ok([found.root, found.common])
}

impl Made {
    /// The directories outside the worktree that a commit in it writes, and no others: never the whole git directory,
    /// which contains hooks and configuration. A thread needs them on its start and on every resume.
    pub fn writable_roots(&self) -> Vec<PathBuf> {
        let branches = Path::new("refs/heads").join(FOLDER);
        vec![
            self.common.join("objects"),
            self.common.join(&branches),
            self.common.join("logs").join(branches),
            self.admin.clone(),
        ]
    }

    /// Returns the writable roots after creating the missing ones: git removes an empty folder of branches, also one
    /// whose branches it packed. To be called before a thread is started or resumed.
    pub fn ready_roots(&self) -> Result<Vec<PathBuf>, WorktreeError> {
        let roots = self.writable_roots();
        for root in &roots {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true).mode(0o777).create(root).map_err(WorktreeError::io(root))?;
            // A link would open the place that it leads to.
            if fs::canonicalize(root).map_err(WorktreeError::io(root))? != *root {
                return Err(WorktreeError::Tampered { what: root.display().to_string() });
            }
        }
        Ok(roots)
    }

    fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// Where worktrees and what we know about them lie; no sandbox writes here.
    fn folder(&self) -> &Path {
        self.worktree.parent().unwrap_or(&self.worktree)
    }

    /// What git knew about the files of the worktree before the task began; no sandbox writes it.
    fn first_index(&self) -> PathBuf {
        let name = self.worktree.file_name().unwrap_or_default().to_string_lossy();
        self.folder().join(format!(".{name}.index"))
    }

    /// The commit that the branch is at; none if it is gone.
    async fn tip(&self, git: &git::Git) -> Result<Option<String>, WorktreeError> {
        let reference = self.reference();
        let format = "--format=%(refname) %(objectname) %(objecttype) %(symref)";
        let listed = git.text(&["for-each-ref", format, &reference]).await?;
        // The pattern also matches a folder of that name.
        let Some(line) = listed.lines().find(|line| line.split(' ').next() == Some(&reference)) else {
            return Ok(None);
        };
        match line.split(' ').collect::<Vec<_>>()[..] {
            [_, id, "commit", ""] => Ok(Some(id.to_owned())),
            // A symbolic ref to a branch of the user: changing it would change the user's branch.
            _ => Err(WorktreeError::Tampered { what: format!("the branch {}", self.branch) }),
        }
    }
}
