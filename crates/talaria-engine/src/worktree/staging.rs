//! Adds all files of a work tree to our own index, and writes a tree from it.
//!
//! A repository inside the work tree, a submodule or one that a task created, is not entered: git would run there with
//! that repository's configuration, which may name programs. The recorded state of a submodule is kept; other
//! repositories are listed and left out. Called by `snapshot`.

use std::collections::BTreeSet;

use super::WorktreeError;
use super::git::Git;

/// How often it is tried while files come and go.
const TRIES: u32 = 3;

/// The mode of a submodule.
const LINK: &[u8] = b"160000";

/// A tree of the work tree.
pub(super) struct Staged {
    pub(super) tree: String,
    /// Repositories inside that are not part of it.
    pub(super) nested: Vec<String>,
}

/// Stages the files around `git`, whose directory is the top of the work tree and whose index is not the user's.
pub(super) async fn stage(git: &Git) -> Result<Staged, WorktreeError> {
    let before = links(&entries(git).await?);
    remove(git, &before).await?;
    let nested = add(git).await?;
    let after = entries(git).await?;
    remove(git, &links(&after)).await?;
    restore(git, &before, &after).await?;
    let known: BTreeSet<&[u8]> = before.iter().filter_map(|entry| path(entry)).collect();
    let strange = nested.iter().filter(|name| !known.contains(name.as_slice()));
    let nested = strange.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    Ok(Staged { tree: git.text(&["write-tree"]).await?, nested })
}

/// Adds what changed; returns the repositories inside.
async fn add(git: &Git) -> Result<Vec<Vec<u8>>, WorktreeError> {
    let mut tries = 1;
    loop {
        let others = git.bytes(&["ls-files", "-z", "--others", "--exclude-standard"], b"").await?;
        let nested = others.split(|byte| *byte == 0).filter_map(|name| name.strip_suffix(b"/"));
        let nested: Vec<Vec<u8>> = nested.map(<[u8]>::to_vec).collect();
        let mut wanted = b".\0".to_vec();
        for name in &nested {
            // One without a commit would make git fail.
            wanted.extend([b":(exclude,literal)".as_slice(), name, b"\0"].concat());
        }
        let added =
            git.bytes(&["add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"], &wanted).await;
        match added {
            Ok(_) => return Ok(nested),
            // A task may be at work: a file that was listed is gone before it is read.
            Err(WorktreeError::Git { .. }) if tries < TRIES => tries += 1,
            Err(error) => return Err(error),
        }
    }
}

/// The lines of the index: mode, object, stage, tab, path.
async fn entries(git: &Git) -> Result<Vec<Vec<u8>>, WorktreeError> {
    let listed = git.bytes(&["ls-files", "-z", "--stage"], b"").await?;
    Ok(listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect())
}

fn links(entries: &[Vec<u8>]) -> Vec<Vec<u8>> {
    entries.iter().filter(|entry| entry.starts_with(LINK)).cloned().collect()
}

fn path(entry: &[u8]) -> Option<&[u8]> {
    entry.splitn(2, |byte| *byte == b'\t').nth(1)
}

async fn remove(git: &Git, entries: &[Vec<u8>]) -> Result<(), WorktreeError> {
    let mut gone = Vec::new();
    for path in entries.iter().filter_map(|entry| path(entry)) {
        gone.extend([path, b"\0"].concat());
    }
    if gone.is_empty() {
        return Ok(());
    }
    git.bytes(&["update-index", "--force-remove", "-z", "--stdin"], &gone).await.map(drop)
}

/// Restores submodule entries, except where files of the work tree replaced them.
async fn restore(git: &Git, links: &[Vec<u8>], after: &[Vec<u8>]) -> Result<(), WorktreeError> {
    let taken: BTreeSet<&[u8]> =
        after.iter().filter(|entry| !entry.starts_with(LINK)).filter_map(|entry| path(entry)).collect();
    let is_free = |link: &[u8]| {
        let below = [link, b"/"].concat();
        let next = taken.range(below.as_slice()..).next();
        !taken.contains(link) && !next.is_some_and(|path| path.starts_with(&below))
    };
    let mut lines = Vec::new();
    for link in links.iter().filter(|link| path(link).is_some_and(is_free)) {
        lines.extend([link.as_slice(), b"\0"].concat());
    }
    if lines.is_empty() {
        return Ok(());
    }
    git.bytes(&["update-index", "-z", "--index-info"], &lines).await.map(drop)
}
