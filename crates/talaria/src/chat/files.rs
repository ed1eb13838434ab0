//! The files that `@` offers: those that git knows or would know, and outside of a repository those that a short walk finds.
//!
//! Listed off the loop, kept for a few seconds, and bounded: a directory with more files than anyone can choose from is
//! not read to its end.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use talaria_engine::worktree::known_files;
use talaria_tui::chat::completion::{Rank, rank};
use tokio::sync::Mutex;

/// At most this many files are listed.
const MOST: usize = 50_000;
/// So much text of git is read at most.
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// How long a list is cached.
const FRESH: Duration = Duration::from_secs(5);
/// How long listing may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The last list, and what it is of.
#[derive(Debug, Default)]
pub(crate) struct Files(Mutex<Option<Listed>>);

#[derive(Debug)]
struct Listed {
    cwd: String,
    at: Instant,
    paths: Vec<String>,
}

impl Files {
    /// The files in `cwd` that fit these letters, the best first.
    pub(crate) async fn fitting(&self, cwd: &str, letters: &str, most: usize) -> Vec<String> {
        let mut listed = self.0.lock().await;
        let is_fresh = |listed: &Listed| listed.cwd == cwd && listed.at.elapsed() < FRESH;
        if !listed.as_ref().is_some_and(is_fresh) {
            let paths = list(Path::new(cwd)).await;
            *listed = Some(Listed { cwd: cwd.to_owned(), at: Instant::now(), paths });
        }
        listed.as_ref().map(|listed| best(&listed.paths, letters, most)).unwrap_or_default()
    }
}

/// Returns the paths that have these letters, at most this many, in the order in which the screen shows them.
fn best(paths: &[String], letters: &str, most: usize) -> Vec<String> {
    let mut fitting: Vec<(Rank, &String)> =
        paths.iter().filter_map(|path| Some((rank(letters, path)?, path))).collect();
    fitting.sort();
    fitting.into_iter().take(most).map(|(_, path)| path.clone()).collect()
}

async fn list(cwd: &Path) -> Vec<String> {
    // A directory of which a repository around it knows nothing, because it ignores it, is looked at like any other.
    if let Ok(Some(paths)) = tokio::time::timeout(PATIENCE, known_to_git(cwd)).await
        && !paths.is_empty()
    {
        return paths;
    }
    let root = cwd.to_owned();
    tokio::task::spawn_blocking(move || walk(&root)).await.unwrap_or_default()
}

/// What git knows, and what it would know; `None` where there is no git or no repository.
async fn known_to_git(cwd: &Path) -> Option<Vec<String>> {
    let output = known_files(cwd, MOST_BYTES).await?;
    let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let mut paths: Vec<String> =
        names.filter_map(|name| String::from_utf8(name.to_vec()).ok()).take(MOST).collect();
    // A file with a conflict is listed once for each side.
    paths.dedup();
    Some(paths)
}

/// The nearest files first, hidden ones and links to elsewhere left out.
fn walk(root: &Path) -> Vec<String> {
    let (mut found, mut directories) = (Vec::new(), std::collections::VecDeque::from([PathBuf::new()]));
    let began = Instant::now();
    while let Some(directory) = directories.pop_front() {
        let Ok(entries) = std::fs::read_dir(root.join(&directory)) else { continue };
        for entry in entries.flatten() {
            if found.len() >= MOST || began.elapsed() > PATIENCE {
                return found;
            }
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            let path = directory.join(name);
            if kind.is_dir() {
                directories.push_back(path);
            } else if let Some(path) = path.to_str() {
                found.push(path.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tree() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for path in ["src/main.rs", "src/deep/er.rs", "target/made", ".hidden/x", "a b.txt"] {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        directory
    }

    #[test]
    fn the_best_are_those_that_the_screen_shows_first_and_a_capital_counts() {
        let paths =
            ["src/chat/driver.rs", "driver/notes.md", "docs/old-driver.txt", "d/r/iver", "Cargo.toml"];
        let paths = paths.map(str::to_owned);
        assert_eq!(
            best(&paths, "driver", 9),
            ["src/chat/driver.rs", "driver/notes.md", "docs/old-driver.txt", "d/r/iver"]
        );
        assert_eq!(best(&paths, "driver", 1), ["src/chat/driver.rs"]);
        assert!(best(&paths, "Driver", 9).is_empty(), "the screen would show none of them");
        assert_eq!(best(&paths, "Cargo", 9), ["Cargo.toml"]);
        assert_eq!(best(&paths, "cgt", 9), ["Cargo.toml"]);
    }

    #[tokio::test]
    async fn a_walk_finds_near_files_first_and_no_hidden_ones() {
        let tree = tree();
        std::os::unix::fs::symlink("/", tree.path().join("loop")).unwrap();
        let mut found = walk(tree.path());
        assert_eq!(found.last().map(String::as_str), Some("src/deep/er.rs"));
        found.sort();
        assert_eq!(found, ["a b.txt", "loop", "src/deep/er.rs", "src/main.rs", "target/made"]);
    }

    #[tokio::test]
    async fn in_a_repository_what_is_ignored_is_not_offered() {
        let tree = tree();
        let made = std::process::Command::new("git").args(["init", "-q"]).current_dir(tree.path()).status();
        assert!(made.unwrap().success());
        fs::write(tree.path().join(".gitignore"), "target\n").unwrap();
        let files = Files::default();
        let cwd = tree.path().to_str().unwrap();
        let found = files.fitting(cwd, "", 50).await;
        assert!(found.contains(&"src/main.rs".to_owned()), "{found:?}");
        assert!(!found.iter().any(|path| path.contains("made")), "{found:?}");
        assert_eq!(files.fitting(cwd, "er.rs", 1).await, ["src/deep/er.rs"]);
        let watcher = tree.path().join("watcher");
        let touch = format!("#!/bin/sh\ntouch {}\n", tree.path().join("ran").display());
        fs::write(&watcher, touch).unwrap();
        fs::set_permissions(&watcher, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let setting = ["config", "core.fsmonitor", watcher.to_str().unwrap()];
        let set = std::process::Command::new("git").args(setting).current_dir(tree.path()).status();
        assert!(set.unwrap().success());
        assert!(Files::default().fitting(cwd, "main", 1).await.contains(&"src/main.rs".to_owned()));
        assert!(!tree.path().join("ran").exists(), "no program of the repository's runs");
        let ignored = tree.path().join("target");
        let found = Files::default().fitting(ignored.to_str().unwrap(), "ma", 9).await;
        assert_eq!(found, ["made"], "whoever works in an ignored directory wants its files");
    }
}
