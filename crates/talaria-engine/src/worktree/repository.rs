//! The user's repository, found from a directory and checked before anything is made in it.
//!
//! Only looks. What git says about a checkout is believed only if the git directory names the checkout back: a `.git`
//! file, or a `core.worktree`, that an attacker planted would otherwise open another repository's objects to a sandbox or
//! have changes applied to another directory. Called by `make`.

use std::fs;
use std::path::{Path, PathBuf};

use super::WorktreeError;
use super::git::Git;

/// A checkout of the user's.
pub(super) struct Repository {
    /// The top of the checkout.
    pub(super) root: PathBuf,
    /// The directory inside it that was given, relative.
    pub(super) inside: PathBuf,
    /// The git directory that all worktrees share.
    pub(super) common: PathBuf,
    /// The git directory of this checkout.
    pub(super) git_dir: PathBuf,
    /// The commit that is checked out.
    pub(super) head: String,
    /// The branch that is checked out.
    pub(super) branch: Option<String>,
    /// git at the top of the checkout.
    pub(super) git: Git,
}

impl Repository {
    /// Finds the checkout that `cwd` lies in.
    pub(super) async fn find(cwd: &Path) -> Result<Self, WorktreeError> {
        let cwd = fs::canonicalize(cwd).map_err(WorktreeError::io(cwd))?;
        let git = Git::at(&cwd);
        let asked = ["rev-parse", "--is-inside-work-tree"];
        let output = git.run(&asked, b"").await?;
        if !output.is_success {
            // The repository of another user, for one, is a repository, and git says what to do.
            let is_none = output.stderr.contains("not a git repository");
            return Err(if is_none {
                WorktreeError::NotGit(cwd)
            } else {
                super::git::failed(&asked, output)
            });
        }
        if output.stdout.trim_ascii() != b"true" {
            return Err(WorktreeError::NoCheckout(cwd));
        }
        let path = async |name: &str| {
            let path = PathBuf::from(git.text(&["rev-parse", "--path-format=absolute", name]).await?);
            fs::canonicalize(&path).map_err(WorktreeError::io(&path))
        };
        let root = path("--show-toplevel").await?;
        let (common, git_dir) = (path("--git-common-dir").await?, path("--absolute-git-dir").await?);
        let Ok(inside) = cwd.strip_prefix(&root).map(Path::to_owned) else {
            return Err(WorktreeError::NoCheckout(cwd));
        };
        if !is_mutual(&root, &git_dir, &common).await? {
            return Err(WorktreeError::Redirected(root));
        }
        let git = Git::at(&root).without_own_filters().await?;
        let format = git.run(&["config", "--get", "extensions.refstorage"], b"").await?;
        let format = String::from_utf8_lossy(&format.stdout).trim().to_owned();
        if !format.is_empty() && format != "files" {
            return Err(WorktreeError::ReferenceFormat(format));
        }
        let head = git.run(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], b"").await?;
        if !head.is_success {
            return Err(WorktreeError::NoCommits(root));
        }
        let head = String::from_utf8_lossy(&head.stdout).trim().to_owned();
        let branch = git.run(&["symbolic-ref", "--quiet", "--short", "HEAD"], b"").await?;
        let branch = branch.is_success.then(|| String::from_utf8_lossy(&branch.stdout).trim().to_owned());
        Ok(Self { root, inside, common, git_dir, head, branch, git })
    }

    /// The files with uncommitted changes. Writes nothing, not even what git learned about the index.
    pub(super) async fn dirty(&self) -> Result<Vec<String>, WorktreeError> {
        // A look into the submodules would run git with their configuration.
        let asked = [
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=normal",
            "--ignore-submodules=dirty",
            "--no-renames",
        ];
        let status = self.git.bytes(&asked, b"").await?;
        let entries = status.split(|byte| *byte == 0).filter_map(|entry| entry.get(3..));
        Ok(entries.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    /// The files with conflicts.
    pub(super) async fn unmerged(&self) -> Result<Vec<String>, WorktreeError> {
        let listed = self.git.bytes(&["ls-files", "--unmerged", "-z"], b"").await?;
        let paths =
            listed.split(|byte| *byte == 0).filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1));
        let mut names: Vec<String> = paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        names.dedup();
        Ok(names)
    }
}

/// Whether a checkout and its git directory name each other.
async fn is_mutual(root: &Path, git_dir: &Path, common: &Path) -> Result<bool, WorktreeError> {
    let dot_git = root.join(".git");
    let Ok(kind) = fs::symlink_metadata(&dot_git) else { return Ok(false) };
    if !kind.is_file() {
        return Ok(fs::canonicalize(&dot_git).is_ok_and(|path| path == git_dir));
    }
    if git_dir == common {
        // A submodule: git found this checkout through the `core.worktree` of its git directory, or through the file
        // alone, and only the former is the git directory's own word.
        return names_worktree(common, root).await;
    }
    let back = fs::read_to_string(git_dir.join("gitdir")).unwrap_or_default();
    let back = git_dir.join(back.trim_end());
    let is_back =
        fs::canonicalize(back).is_ok_and(|back| fs::canonicalize(&dot_git).is_ok_and(|path| path == back));
    Ok(is_back && git_dir.parent() == Some(&common.join("worktrees")))
}

async fn names_worktree(common: &Path, root: &Path) -> Result<bool, WorktreeError> {
    let Some(config) = common.join("config").to_str().map(str::to_owned) else { return Ok(false) };
    let value = Git::of(common).run(&["config", "--file", &config, "--get", "core.worktree"], b"").await?;
    let value = String::from_utf8_lossy(&value.stdout).trim_end_matches('\n').to_owned();
    Ok(!value.is_empty() && fs::canonicalize(common.join(value)).is_ok_and(|path| path == root))
}
