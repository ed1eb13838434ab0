//! Makes a worktree with its branch, or nothing at all.
//!
//! The order is what undoing needs: the base commit (an object, harmless when left), the branch (only if it is new),
//! the worktree. A failing step undoes the earlier ones. The user's checkout and index are only read. Here the task
//! has not run yet, so that the worktree's own files can be trusted.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::git::{Git, check_version};
use super::repository::Repository;
use super::snapshot::{self, copy_index};
use super::{Dirty, FOLDER, Made, WorktreeError};

/// The longest name of a task; far below what file systems take.
const LONGEST: usize = 100;

/// Makes a worktree of the repository that `cwd` lies in, in the directory `into`, on the new branch `talaria/<task>`.
///
/// `into` is created if it does not exist. Several worktrees of one repository may be created concurrently. If
/// the future is dropped half-way, a branch or a directory may stay; nothing of the user's is changed.
pub async fn make(cwd: &Path, task: &str, into: &Path, dirty: Dirty) -> Result<Made, WorktreeError> {
    check_version().await?;
    if !is_name(task) {
        return Err(WorktreeError::BadTask(task.to_owned()));
    }
    let user = Repository::find(cwd).await?;
    let into = ready(into, &user).await?;
    let worktree = into.join(task);
    for path in [&worktree, &user.root, &user.common] {
        if path.to_str().is_none() {
            return Err(WorktreeError::NotText(path.clone()));
        }
    }
    if fs::symlink_metadata(&worktree).is_ok() {
        return Err(WorktreeError::PathTaken(worktree));
    }
    let mut made = Made {
        admin: user.common.join("worktrees").join(task),
        // Joined with nothing, a path gets a slash at its end.
        cwd: worktree.components().chain(user.inside.components()).collect(),
        worktree,
        branch: format!("{FOLDER}/{task}"),
        base: user.head.clone(),
        base_branch: user.branch.clone(),
        dirty,
        settings: None,
        repository: user.root.clone(),
        common: user.common.clone(),
    };
    check_branch(&made, &user.git).await?;
    let changed = if dirty == Dirty::Leave { Vec::new() } else { user.dirty().await? };
    match dirty {
        Dirty::Refuse if !changed.is_empty() => return Err(WorktreeError::Dirty(changed)),
        Dirty::Copy if !changed.is_empty() => made.base = snapshot::of_checkout(&user, &into).await?,
        _ => {}
    }
    create_branch(&made, &user.git).await?;
    if let Err(error) = fill(&mut made, &user.git).await {
        undo(&made, &user.git).await;
        return Err(error);
    }
    Ok(made)
}

fn is_name(task: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    task.len() <= LONGEST
        && task.chars().all(is_plain)
        && is_edge(task.chars().next())
        && is_edge(task.chars().last())
        && !task.contains("..")
        && !task.ends_with(".lock")
}

/// Makes the directory for worktrees, which must not be a part of the user's files.
async fn ready(into: &Path, user: &Repository) -> Result<PathBuf, WorktreeError> {
    let is_new = !into.exists();
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(into);
    made.map_err(WorktreeError::io(into))?;
    let into = fs::canonicalize(into).map_err(WorktreeError::io(into))?;
    let is_inside = into.starts_with(&user.root) && !into.starts_with(&user.common);
    let Some(name) = into.to_str() else { return Err(WorktreeError::NotText(into)) };
    if is_inside && !user.git.run(&["check-ignore", "--quiet", "--no-index", name], b"").await?.is_success {
        if is_new {
            // It is empty, or else not ours to remove.
            let _ = fs::remove_dir(&into);
        }
        return Err(WorktreeError::InsideCheckout { into, repository: user.root.clone() });
    }
    Ok(into)
}

async fn check_branch(made: &Made, git: &Git) -> Result<(), WorktreeError> {
    let exists = async |reference: &str| {
        let shown = git.run(&["show-ref", "--verify", "--quiet", reference], b"").await;
        shown.map(|output| output.is_success)
    };
    if exists(&format!("refs/heads/{FOLDER}")).await? {
        return Err(WorktreeError::BranchInTheWay);
    }
    if exists(&made.reference()).await? {
        return Err(WorktreeError::BranchExists(made.branch.clone()));
    }
    Ok(())
}

async fn create_branch(made: &Made, git: &Git) -> Result<(), WorktreeError> {
    // git appends to the log of a branch through a link. Another task can write the folder, and this branch is new.
    let log = made.common.join("logs").join(made.reference());
    if fs::symlink_metadata(&log).is_ok() {
        fs::remove_file(&log).map_err(WorktreeError::io(&log))?;
    }
    let nothing = "0".repeat(made.base.len());
    let message = format!("talaria: task on {}", made.base_branch.as_deref().unwrap_or("a commit"));
    let create = [
        "update-ref",
        "--no-deref",
        "--create-reflog",
        "-m",
        &message,
        &made.reference(),
        &made.base,
        &nothing,
    ];
    match git.change(&create).await {
        // Another process was faster than our look.
        Err(WorktreeError::Git { detail, .. }) if detail.contains("reference already exists") => {
            Err(WorktreeError::BranchExists(made.branch.clone()))
        }
        other => other,
    }
}

/// Checks the branch out into the worktree and finds out what git named its folder.
async fn fill(made: &mut Made, git: &Git) -> Result<(), WorktreeError> {
    let path = made.worktree.to_string_lossy().into_owned();
    // Without this a worktree of a sparse checkout lacks files, which would then look deleted.
    let git = git.clone().set("core.sparseCheckout", "false");
    git.change(&["worktree", "add", "--quiet", &path, &made.branch]).await?;
    let dot_git = made.worktree.join(".git");
    let text = fs::read_to_string(&dot_git).map_err(WorktreeError::io(&dot_git))?;
    let admin = PathBuf::from(text.trim_start_matches("gitdir:").trim());
    made.admin = fs::canonicalize(&admin).map_err(WorktreeError::io(&admin))?;
    if made.admin.parent() != Some(&made.common.join("worktrees")) {
        return Err(WorktreeError::Tampered { what: dot_git.display().to_string() });
    }
    copy_index(&made.admin.join("index"), &made.first_index())?;
    made.settings = fs::read_to_string(made.admin.join("config.worktree")).ok();
    if !made.cwd.is_dir() {
        // The directory contains no committed files.
        fs::create_dir_all(&made.cwd).map_err(WorktreeError::io(&made.cwd))?;
    }
    made.ready_roots().map(drop)
}

/// Undoes what `make` made. It continues where a step fails: the error that led here is the one to report.
async fn undo(made: &Made, git: &Git) {
    if let Some(admin) = admin_of(&made.common, &made.worktree) {
        let _ = fs::remove_dir_all(admin);
    }
    let _ = fs::remove_dir_all(&made.worktree);
    let _ = fs::remove_file(made.first_index());
    let _ = git.run(&["update-ref", "--no-deref", "-d", &made.reference(), &made.base], b"").await;
}

/// The folder in the git directory that names this worktree.
fn admin_of(common: &Path, worktree: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(common.join("worktrees")).ok()?.flatten().map(|entry| entry.path());
    let dot_git = worktree.join(".git");
    let mut folders = entries.filter(|path| path.is_dir());
    folders.find(|path| {
        fs::read_to_string(path.join("gitdir")).is_ok_and(|text| Path::new(text.trim_end()) == dot_git)
    })
}
