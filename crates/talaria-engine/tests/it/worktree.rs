//! Worktrees of tasks: real git in repositories of the test's own, and the real Codex in its sandbox.

mod ends;
mod environment;
mod hostile;
mod looking;
mod making;
mod sandboxed;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use talaria_engine::worktree::{Dirty, Made, WorktreeChanges, WorktreeError, make};
use tempfile::TempDir;

/// A repository of the user, and a directory for worktrees next to it. Not in the temporary directory, which every
/// sandboxed command may write.
struct Place {
    folder: TempDir,
}

impl Place {
    fn empty() -> Self {
        let homes = talaria_testkit::build_dir::homes();
        let folder = tempfile::Builder::new().prefix("w").tempdir_in(homes).unwrap();
        Self { folder }
    }

    /// One commit with `a.txt`, `b.txt` and `sub/c.txt`.
    fn new() -> Self {
        let place = Self::empty();
        init(&place.user());
        place.write("a.txt", "one\ntwo\nthree\n");
        place.write("b.txt", "bee\n");
        place.write("sub/c.txt", "sea\n");
        place.write(".gitignore", "ignored\n");
        commit(&place.user(), "first");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap().join(name)
    }

    fn user(&self) -> PathBuf {
        self.path("user")
    }

    fn worktrees(&self) -> PathBuf {
        self.path("worktrees")
    }

    fn write(&self, name: &str, text: &str) {
        put(&self.user().join(name), text);
    }

    async fn make(&self, task: &str, dirty: Dirty) -> Result<Made, WorktreeError> {
        make(&self.user(), task, &self.worktrees(), dirty).await
    }

    async fn made(&self, task: &str) -> Made {
        self.make(task, Dirty::Refuse).await.unwrap()
    }

    /// Everything that must not change when a task works: files, index, commit, configuration, hooks.
    fn state(&self) -> State {
        state(&self.user())
    }
}

type State = (String, String, Vec<u8>, Vec<u8>, Vec<String>);

fn state(checkout: &Path) -> State {
    let index = git(checkout, &["rev-parse", "--path-format=absolute", "--git-path", "index"]);
    let common = PathBuf::from(git(checkout, &["rev-parse", "--path-format=absolute", "--git-common-dir"]));
    let (index, config) = (fs::read(index).unwrap(), fs::read(common.join("config")).unwrap());
    let hooks = fs::read_dir(common.join("hooks")).unwrap();
    let mut hooks: Vec<String> = hooks.map(|hook| hook.unwrap().file_name().into_string().unwrap()).collect();
    hooks.sort();
    let status = git(checkout, &["status", "--porcelain", "--ignored", "--untracked-files=all"]);
    (status, git(checkout, &["rev-parse", "HEAD"]), index, config, hooks)
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Writes a program that leaves a mark when it is run.
fn trap(path: &Path, mark: &Path) {
    put(path, &format!("#!/bin/sh\necho sprung >> '{}'\ncat\n", mark.display()));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// git as a person would run it, but with nothing of this machine's configuration; it must not write an index either.
fn git(cwd: &Path, arguments: &[&str]) -> String {
    let (is_success, text) = try_git(cwd, arguments);
    assert!(is_success, "git {arguments:?}: {text}");
    text
}

fn try_git(cwd: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new("git");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Ada").env(format!("GIT_{who}_EMAIL"), "ada@localhost");
    }
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_OPTIONAL_LOCKS", "0");
    let output = command.current_dir(cwd).args(arguments).output().unwrap();
    let text = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8_lossy(&text).trim_end().to_owned())
}

fn init(path: &Path) {
    fs::create_dir_all(path).unwrap();
    git(path, &["init", "--quiet", "--initial-branch=main"]);
}

fn commit(path: &Path, message: &str) -> String {
    git(path, &["add", "--all"]);
    git(path, &["commit", "--quiet", "--allow-empty", "--message", message]);
    git(path, &["rev-parse", "HEAD"])
}

/// Changes as lines of text: status, path, lines.
fn shown(changes: &WorktreeChanges) -> String {
    let mut text = String::new();
    for file in &changes.files {
        let count = |count: Option<u64>| count.map_or("-".to_owned(), |count| count.to_string());
        let path = file.path.escape_debug();
        text += &format!("{:?} {path} +{} -{}\n", file.status, count(file.added), count(file.removed));
    }
    for commit in &changes.commits {
        text += &format!("commit {}\n", commit.subject);
    }
    let WorktreeChanges { insertions, deletions, uncommitted, truncated, .. } = changes;
    text + &format!("+{insertions} -{deletions} uncommitted {uncommitted} truncated {truncated}\n")
}
