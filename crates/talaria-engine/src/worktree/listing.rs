//! The files of a directory as git knows them, for those who choose one, and what is not committed there. Runs nothing that the
//! repository names.

use std::path::Path;

use super::error::WorktreeError;
use super::git::Git;

/// The names of the files that git knows below a directory or would add, each followed by a zero byte. No more than `limit` bytes
/// of them are read. `None` where there is no git or no repository. Dropped half-way, it ends git.
pub async fn known_files(cwd: &Path, limit: usize) -> Option<Vec<u8>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = Git::at(cwd).run_within(&arguments, b"", limit).await.ok()?;
    listed.is_success.then_some(listed.stdout)
}

/// Changes in a checkout that are in no commit.
pub struct UncommittedChanges {
    /// A unified diff of the files that git knows, against the last commit.
    pub diff: String,
    /// Was the diff longer than the limit?
    pub is_cut: bool,
    /// Files that git does not know and does not ignore.
    pub new_files: Vec<String>,
}

/// Reads the uncommitted changes below a directory, at most `limit` bytes of their diff. Nothing of the repository is run, and
/// nothing is written.
pub async fn uncommitted(cwd: &Path, limit: usize) -> Result<UncommittedChanges, WorktreeError> {
    let git = Git::at(cwd);
    // Elsewhere git compares files by their names alone.
    if !git.run_within(&["rev-parse", "--show-toplevel"], b"", limit).await?.is_success {
        return Err(WorktreeError::NotGit(cwd.to_owned()));
    }
    let git = git.without_own_filters().await?;
    let has_commit =
        git.run_within(&["rev-parse", "--verify", "--quiet", "HEAD"], b"", limit).await?.is_success;
    // Before the first commit everything that was added is new.
    let base = match has_commit {
        true => "HEAD".to_owned(),
        false => git.text(&["hash-object", "-t", "tree", "--stdin"]).await?,
    };
    let arguments = [
        "diff",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--relative",
        "--find-renames",
        base.as_str(),
        "--",
        ".",
    ];
    let diff = git.run_within(&arguments, b"", limit).await?;
    if !diff.is_success {
        return Err(super::git::failed(&arguments, diff));
    }
    let listed = ["ls-files", "-z", "--others", "--exclude-standard"];
    let names = git.run_within(&listed, b"", limit).await?;
    let names = names.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let new_files = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let mut text = String::from_utf8_lossy(&diff.stdout).into_owned();
    if diff.is_cut {
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
    }
    Ok(UncommittedChanges { diff: text, is_cut: diff.is_cut, new_files })
}
