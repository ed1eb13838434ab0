//! Dependence on the machine: the installed git, its failures, the user's own configuration.
//!
//! The environment of a process cannot be changed while other tests run in it: each of these runs itself once more in a
//! separate process, where the promise is then checked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use talaria_engine::worktree::{Dirty, Made, WorktreeChanges, WorktreeError, make};

use super::{Place, commit, put, trap};

/// Says that this is the process with the other environment, and names its folder.
const INSIDE: &str = "TALARIA_TEST_WORKTREE";

/// The user's checkout, if this is the process with the other environment.
fn inside() -> Option<PathBuf> {
    std::env::var_os(INSIDE).map(PathBuf::from)
}

/// Runs the test of this name in a process with other variables.
fn run_inside(test: &str, place: &Place, variables: &[(&str, String)]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("worktree::environment::{test}")]).env(INSIDE, place.user());
    let output = command.envs(variables.iter().map(|(name, value)| (name, value))).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

async fn made(user: &Path) -> Result<Made, WorktreeError> {
    make(user, "t1", &user.join("../worktrees"), Dirty::Leave).await
}

/// A `PATH` on which `git` is this script; `$real` is the real one.
fn path_with(place: &Place, script: &str) -> String {
    let found = Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
    let real = String::from_utf8(found.stdout).unwrap();
    trap(&place.path("bin/git"), &place.path("unused"));
    fs::write(place.path("bin/git"), format!("#!/bin/sh\nreal={real}{script}\n")).unwrap();
    format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap())
}

#[tokio::test]
async fn without_git_the_error_says_so() {
    let Some(user) = inside() else {
        let place = Place::new();
        let path = ("PATH", place.path("nothing").display().to_string());
        return run_inside("without_git_the_error_says_so", &place, &[path]);
    };
    let error = made(&user).await.unwrap_err();
    assert!(matches!(error, WorktreeError::GitMissing), "{error}");
}

#[tokio::test]
async fn an_old_git_is_named() {
    let Some(user) = inside() else {
        let place = Place::new();
        let path = ("PATH", path_with(&place, "echo git version 2.39.5"));
        return run_inside("an_old_git_is_named", &place, &[path]);
    };
    let error = made(&user).await.unwrap_err();
    assert_eq!(error.to_string(), "git 2.39.5 is too old: worktrees need 2.41 or newer");
}

#[tokio::test(start_paused = true)]
async fn a_git_that_does_not_end_is_ended() {
    let Some(user) = inside() else {
        let place = Place::new();
        let path = ("PATH", path_with(&place, "echo $$ > \"$0.pid\"; sleep 600"));
        return run_inside("a_git_that_does_not_end_is_ended", &place, &[path]);
    };
    let error = made(&user).await.unwrap_err();
    assert_eq!(error.to_string(), "git version was ended after 120 s");
    // A paused clock advances at once when everything waits: git may not have reported its version yet.
    let said = fs::read_to_string(user.join("../bin/git.pid")).unwrap_or_default();
    // A shell that was killed after it made the file and before it wrote into it leaves it empty.
    if let Some(pid) = said.lines().next() {
        // One that was killed may not be reaped yet; then it has no command line. The clock of the test cannot wait for that.
        let command_line = Path::new("/proc").join(pid.trim()).join("cmdline");
        let is_alive = || fs::read(&command_line).is_ok_and(|line| !line.is_empty());
        for _ in 0..1000 {
            if !is_alive() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("git still runs");
    }
}

#[tokio::test]
async fn variables_that_point_git_elsewhere_do_not_count() {
    let Some(user) = inside() else {
        let place = Place::new();
        let text = |name: &str| place.path(name).display().to_string();
        let variables = [
            ("GIT_DIR", text("nowhere")),
            ("GIT_WORK_TREE", text("nowhere")),
            ("GIT_COMMON_DIR", text("nowhere")),
            ("GIT_INDEX_FILE", text("index")),
            ("GIT_OBJECT_DIRECTORY", text("objects")),
            ("GIT_NAMESPACE", "other".to_owned()),
            ("GIT_CONFIG_COUNT", "1".to_owned()),
            ("GIT_CONFIG_KEY_0", "core.bare".to_owned()),
            ("GIT_CONFIG_VALUE_0", "true".to_owned()),
            ("GIT_EXTERNAL_DIFF", "false".to_owned()),
            ("GIT_LITERAL_PATHSPECS", "1".to_owned()),
        ];
        return run_inside("variables_that_point_git_elsewhere_do_not_count", &place, &variables);
    };
    let made = made(&user).await.unwrap();
    put(&made.worktree.join("d.txt"), "d\n");
    assert_eq!(made.changes().await.unwrap().files.len(), 1);
    assert!(made.diff(1000).await.unwrap().contains("+d"));
    made.apply().await.unwrap();
    assert!(!user.join("../index").exists() && !user.join("../objects").exists());
}

#[tokio::test]
async fn applying_that_breaks_off_is_told_with_what_was_changed() {
    let Some(user) = inside() else {
        let place = Place::new();
        let script = r#"case "$*" in *"apply --apply"*) echo gone > b.txt; echo "no space" >&2; exit 1;; esac; exec "$real" "$@""#;
        let path = ("PATH", path_with(&place, script));
        return run_inside("applying_that_breaks_off_is_told_with_what_was_changed", &place, &[path]);
    };
    let made = made(&user).await.unwrap();
    put(&made.worktree.join("a.txt"), "changed\n");
    put(&made.worktree.join("b.txt"), "changed\n");
    let error = made.apply().await.unwrap_err();
    assert_eq!(error.to_string(), "applying broke off (no space); changed so far: b.txt");
    assert!(error.next_step().in_shell().contains("still in talaria/t1"), "{}", error.next_step().in_shell());
}

/// A filter that the user configured, as Git LFS is: it keeps letters in the other case.
const FILTERS: &str = "[filter \"upper\"]\n clean = tr a-z A-Z\n smudge = tr A-Z a-z\n required = true\n";

#[tokio::test]
async fn filters_of_the_users_run_where_the_base_says_and_not_where_the_task_says() {
    let Some(user) = inside() else {
        let place = Place::new();
        place.write(".gitattributes", "*.up filter=upper\n");
        place.write("one.up", "SAME\n");
        commit(&place.user(), "with attributes");
        let mark = place.path("mark");
        trap(&place.path("trap.sh"), &mark);
        let evil =
            format!("[filter \"evil\"]\n clean = {0}\n smudge = {0}\n", place.path("trap.sh").display());
        put(&place.path("config"), &format!("{FILTERS}{evil}"));
        let config = ("GIT_CONFIG_GLOBAL", place.path("config").display().to_string());
        return run_inside(
            "filters_of_the_users_run_where_the_base_says_and_not_where_the_task_says",
            &place,
            &[config],
        );
    };
    let made = made(&user).await.unwrap();
    let read = |name: &str| fs::read_to_string(made.worktree.join(name)).unwrap();
    assert_eq!(read("one.up"), "same\n", "as in a checkout of the user's own");
    assert_eq!(made.changes().await.unwrap(), WorktreeChanges::default(), "and not a change");
    put(&made.worktree.join("two.up"), "two\n");
    put(&made.worktree.join(".gitattributes"), "* filter=evil\n");
    put(&made.worktree.join("sub/.gitattributes"), "* filter=evil\n");
    put(&made.worktree.join("sub/c.txt"), "changed\n");
    let diff = made.diff(10_000).await.unwrap();
    assert!(diff.contains("+TWO\n") && diff.contains("+* filter=evil\n"), "{diff}");
    assert!(!user.join("../mark").exists(), "the task chose what runs");
}
