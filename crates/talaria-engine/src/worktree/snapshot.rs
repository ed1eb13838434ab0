//! The current content of a checkout or a worktree, as a tree, without changing its index.
//!
//! The index is our own, in the directory of worktrees: sandboxed commands can write to the system's temporary
//! directory. A snapshot for display leaves nothing in the user's repository: its new objects are stored next to the
//! index and deleted with it. Objects that must be kept are written to the repository ([`Objects::Kept`]).

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

use super::git::Git;
use super::repository::Repository;
use super::staging::stage;
use super::{Made, WorktreeError};

/// Who the commits that we make are by; never the user, who did not write them.
const NAME: &str = "Talaria";
const ADDRESS: &str = "talaria@localhost";

/// Where new objects go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Objects {
    /// They go with the snapshot.
    Aside,
    /// They stay in the repository.
    Kept,
}

/// Content of a task's worktree.
pub(super) struct Snapshot {
    /// git at the user's git directory, which also knows the objects of this snapshot.
    pub(super) git: Git,
    /// The commit of the branch; none if it is gone.
    pub(super) tip: Option<String>,
    /// The tree of the worktree; that of the branch if the worktree no longer exists.
    pub(super) tree: String,
    /// Whether that is something else than what the branch has.
    pub(super) is_uncommitted: bool,
    /// Repositories inside that are not part of it.
    pub(super) nested: Vec<String>,
    _folder: TempDir,
}

impl Snapshot {
    /// Looks at a task's worktree.
    pub(super) async fn of(made: &Made, objects: Objects) -> Result<Self, WorktreeError> {
        let tip = made.tip(&Git::of(&made.common)).await?;
        Self::at(made, tip, objects).await
    }

    /// Looks at a task's worktree with this as the commit of its branch.
    pub(super) async fn at(
        made: &Made,
        tip: Option<String>,
        objects: Objects,
    ) -> Result<Self, WorktreeError> {
        let folder = folder(made.folder())?;
        // Attributes that the task wrote must not choose what is run on which file.
        let mut git = Git::of(&made.common).with("GIT_ATTR_SOURCE", &made.base);
        if objects == Objects::Aside {
            let own = folder.path().join("objects");
            fs::create_dir(&own).map_err(WorktreeError::io(&own))?;
            git = git.with("GIT_OBJECT_DIRECTORY", own);
            git = git.with("GIT_ALTERNATE_OBJECT_DIRECTORIES", listed(&made.common.join("objects")));
        }
        let git = git.without_own_filters().await?;
        let from = tip.as_deref().unwrap_or(&made.base);
        let committed = git.text(&["rev-parse", "--verify", &format!("{from}^{{tree}}")]).await?;
        let (mut tree, mut nested) = (committed.clone(), Vec::new());
        if is_there(&made.worktree)? {
            let index = folder.path().join("index");
            let is_known = copy_index(&made.first_index(), &index)?;
            let inside = git.clone().with("GIT_INDEX_FILE", index).with("GIT_WORK_TREE", &made.worktree);
            let inside =
                inside.cwd(&made.worktree).set("core.sparseCheckout", "false").set("index.sparse", "false");
            // What git knew about the files spares it reading those that did not change since.
            let read: &[&str] =
                if is_known { &["read-tree", "-i", "-m", &committed] } else { &["read-tree", &committed] };
            inside.bytes(read, b"").await?;
            (tree, nested) = stage(&inside).await.map(|staged| (staged.tree, staged.nested))?;
        }
        let is_uncommitted = tree != committed;
        Ok(Self { git, tip, tree, is_uncommitted, nested, _folder: folder })
    }
}

/// Commits the content of the user's checkout, on top of its HEAD; returns the id.
pub(super) async fn of_checkout(user: &Repository, aside: &Path) -> Result<String, WorktreeError> {
    let unmerged = user.unmerged().await?;
    if !unmerged.is_empty() {
        return Err(WorktreeError::Unmerged(unmerged));
    }
    let folder = folder(aside)?;
    let (theirs, ours) = (user.git_dir.join("index"), folder.path().join("index"));
    copy_index(&theirs, &ours)?;
    let tree = stage(&user.git.clone().with("GIT_INDEX_FILE", ours)).await?.tree;
    let branch = user.branch.as_deref().unwrap_or("a commit");
    let message = format!("Uncommitted changes on {branch} when the task began");
    commit(&user.git, &tree, &user.head, &message).await
}

/// Makes a commit that no branch knows; returns its id.
pub(super) async fn commit(
    git: &Git,
    tree: &str,
    parent: &str,
    message: &str,
) -> Result<String, WorktreeError> {
    let git = git.clone().with("GIT_AUTHOR_NAME", NAME).with("GIT_AUTHOR_EMAIL", ADDRESS);
    let git = git.with("GIT_COMMITTER_NAME", NAME).with("GIT_COMMITTER_EMAIL", ADDRESS);
    git.text(&["commit-tree", tree, "-p", parent, "-m", message]).await
}

/// Copies an index with its time; false if there is none.
///
/// git looks again at files that are as young as the index. If the copy were younger than the original, it would take
/// a file that was changed in the second in which the original was written for unchanged.
pub(super) fn copy_index(from: &Path, to: &Path) -> Result<bool, WorktreeError> {
    let copy = || {
        let time = fs::metadata(from)?.modified()?;
        fs::copy(from, to)?;
        fs::File::options().write(true).open(to)?.set_modified(time)
    };
    match copy() {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(WorktreeError::io(from)(error)),
    }
}

/// Whether a worktree exists; a link in its place does not count.
fn is_there(worktree: &Path) -> Result<bool, WorktreeError> {
    match fs::symlink_metadata(worktree) {
        Ok(kind) if kind.is_dir() => Ok(true),
        Ok(_) => Err(WorktreeError::Tampered { what: worktree.display().to_string() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(WorktreeError::io(worktree)(error)),
    }
}

fn folder(aside: &Path) -> Result<TempDir, WorktreeError> {
    fs::create_dir_all(aside).map_err(WorktreeError::io(aside))?;
    tempfile::Builder::new().prefix(".look-").tempdir_in(aside).map_err(WorktreeError::io(aside))
}

/// One path as git reads a list of them.
fn listed(path: &Path) -> OsString {
    match path.to_str() {
        Some(text) if text.contains([':', '"', '\\']) => {
            format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")).into()
        }
        _ => path.into(),
    }
}
