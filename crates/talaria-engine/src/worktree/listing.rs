//! The files of a directory as git knows them, for those who choose one. Runs nothing that the repository names.

use std::path::Path;

use super::git::Git;

/// The names of the files that git knows below a directory or would add, each followed by a zero byte. No more than `limit` bytes
/// of them are read. `None` where there is no git or no repository. Dropped half-way, it ends git.
pub async fn known_files(cwd: &Path, limit: usize) -> Option<Vec<u8>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = Git::at(cwd).run_within(&arguments, b"", limit).await.ok()?;
    listed.is_success.then_some(listed.stdout)
}
