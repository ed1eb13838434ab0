//! The two ends of a task's work: applied to the user's checkout, or discarded.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use talaria_engine::worktree::{AppliedPatch, DiscardedWorktree, Force, Made, WorktreeError};

use super::{Place, commit, git, put, try_git};

/// Work of every sort, half of it committed.
fn work(made: &Made) {
    let at = |name: &str| made.worktree.join(name);
    put(&at("a.txt"), "one\n2\nthree\n");
    fs::write(at("binary"), [0, 159, 146, 150, 0]).unwrap();
    commit(&made.worktree, "Half");
    fs::rename(at("sub/c.txt"), at("moved.txt")).unwrap();
    symlink("a.txt", at("link")).unwrap();
    put(&at("run.sh"), "#!/bin/sh\n");
    fs::set_permissions(at("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(at("b.txt")).unwrap();
    put(&at("no newline"), "x");
}

#[tokio::test]
async fn applied_work_is_in_the_users_files_and_nowhere_else() {
    let place = Place::new();
    let made = place.made("t1").await;
    work(&made);
    place.write("mine.txt", "mine\n");
    let before = place.state();
    let applied = made.apply().await.unwrap();
    let files = ["a.txt", "b.txt", "binary", "link", "moved.txt", "no newline", "run.sh", "sub/c.txt"];
    assert_eq!(applied, AppliedPatch { files: files.map(str::to_owned).into(), is_repeated: false });
    let after = place.state();
    assert_eq!((&before.1, &before.2, &before.3), (&after.1, &after.2, &after.3), "no commit, no index");
    let at = |name: &str| place.user().join(name);
    assert_eq!(fs::read(at("binary")).unwrap(), [0, 159, 146, 150, 0]);
    assert_eq!(fs::read_link(at("link")).unwrap().to_str(), Some("a.txt"));
    assert_eq!(fs::metadata(at("run.sh")).unwrap().permissions().mode() & 0o111, 0o111);
    assert_eq!(fs::read_to_string(at("no newline")).unwrap(), "x");
    assert!(!at("b.txt").exists() && !at("sub/c.txt").exists());
    assert_eq!(fs::read_to_string(at("mine.txt")).unwrap(), "mine\n");
    // Applied work is not lost with the worktree.
    let gone = made.discard(Force::KeepWork).await.unwrap();
    assert!(gone.tip.is_some() && gone.kept.is_some());
}

#[tokio::test]
async fn changes_of_the_users_in_other_lines_stay_beside_the_work() {
    let place = Place::new();
    place.write("a.txt", &(1..=20).map(|line| format!("{line}\n")).collect::<String>());
    commit(&place.user(), "twenty lines");
    let made = place.made("t1").await;
    put(
        &made.worktree.join("a.txt"),
        &fs::read_to_string(place.user().join("a.txt")).unwrap().replace("18\n", "x\n"),
    );
    place
        .write("a.txt", &fs::read_to_string(place.user().join("a.txt")).unwrap().replace("2\n3\n", "y\n3\n"));
    made.apply().await.unwrap();
    let text = fs::read_to_string(place.user().join("a.txt")).unwrap();
    assert!(text.starts_with("1\ny\n3\n") && text.contains("17\nx\n19\n"), "{text}");
}

#[tokio::test]
async fn work_that_does_not_fit_changes_nothing() {
    let place = Place::new();
    let made = place.made("t1").await;
    work(&made);
    place.write("a.txt", "one\nmine\nthree\n");
    let before = place.state();
    let error = made.apply().await.unwrap_err();
    assert!(
        matches!(&error, WorktreeError::DoesNotApply { detail, .. } if detail.contains("a.txt")),
        "{error}"
    );
    assert!(
        error.next_step().in_shell().ends_with("git merge talaria/t1"),
        "{}",
        error.next_step().in_shell()
    );
    assert_eq!(place.state(), before);
    // A file that the task deleted and the user changed.
    place.write("a.txt", "one\ntwo\nthree\n");
    place.write("b.txt", "mine\n");
    let before = place.state();
    assert!(matches!(made.apply().await, Err(WorktreeError::DoesNotApply { .. })));
    assert_eq!(place.state(), before);
}

#[tokio::test]
async fn files_that_git_does_not_know_are_never_overwritten() {
    let place = Place::new();
    let made = place.made("t1").await;
    put(&made.worktree.join("new"), "task\n");
    put(&made.worktree.join("fresh/file"), "task\n");
    git(&made.worktree, &["add", "--all"]);
    put(&made.worktree.join("ignored"), "task\n");
    git(&made.worktree, &["add", "--force", "ignored"]);
    git(&made.worktree, &["commit", "--quiet", "--message", "New"]);
    place.write("new", "mine\n");
    place.write("ignored", "mine\n");
    let before = place.state();
    let error = made.apply().await.unwrap_err();
    assert_eq!(error.to_string(), "these files would be overwritten: ignored, new");
    assert_eq!(place.state(), before);
    assert_eq!(fs::read_to_string(place.user().join("ignored")).unwrap(), "mine\n");
    fs::remove_file(place.user().join("new")).unwrap();
    fs::remove_file(place.user().join("ignored")).unwrap();
    // A link of the user's in the place of a directory that would be made.
    fs::create_dir(place.path("elsewhere")).unwrap();
    symlink(place.path("elsewhere"), place.user().join("fresh")).unwrap();
    assert!(matches!(made.apply().await, Err(WorktreeError::DoesNotApply { .. })));
    assert_eq!(fs::read_dir(place.path("elsewhere")).unwrap().count(), 0);
    fs::remove_file(place.user().join("fresh")).unwrap();
    assert_eq!(made.apply().await.unwrap().files, ["fresh/file", "ignored", "new"]);
}

#[tokio::test]
async fn settings_of_the_users_about_patches_do_not_change_what_is_applied() {
    let place = Place::new();
    for (key, value) in [
        ("apply.whitespace", "fix"),
        ("diff.noprefix", "true"),
        ("diff.context", "0"),
        ("color.ui", "always"),
    ] {
        git(&place.user(), &["config", key, value]);
    }
    let made = place.made("t1").await;
    put(&made.worktree.join("a.txt"), "one\ntwo  \t \nthree\n");
    made.apply().await.unwrap();
    assert_eq!(fs::read_to_string(place.user().join("a.txt")).unwrap(), "one\ntwo  \t \nthree\n");
}

#[tokio::test]
async fn nothing_to_apply_and_nowhere_to_apply_it_are_told() {
    let place = Place::new();
    let made = place.made("t1").await;
    assert!(matches!(made.apply().await, Err(WorktreeError::NothingToApply(_))));
    fs::rename(place.user(), place.path("away")).unwrap();
    assert!(matches!(made.apply().await, Err(WorktreeError::CheckoutGone(_))));
    let gone = made.discard(Force::KeepWork).await.unwrap();
    assert!(gone.tip.is_none() && !made.worktree.exists());
}

#[tokio::test]
async fn work_that_is_nowhere_else_is_not_discarded_unless_told_and_can_be_brought_back() {
    let place = Place::new();
    let made = place.made("t1").await;
    work(&made);
    let tip = git(&place.user(), &["rev-parse", "talaria/t1"]);
    let error = made.discard(Force::KeepWork).await.unwrap_err();
    let text = "talaria/t1 has work that is nowhere else: 1 commits, 6 files with uncommitted changes";
    assert_eq!(error.to_string(), text);
    assert!(made.worktree.join("run.sh").exists());
    let before = place.state();
    let gone = made.discard(Force::DropWork).await.unwrap();
    assert_eq!(place.state(), before);
    assert_eq!((gone.branch.as_str(), gone.tip.as_deref()), ("talaria/t1", Some(tip.as_str())));
    assert!(!made.worktree.exists() && !made.admin.exists());
    assert_eq!(git(&place.user(), &["branch", "--list", "talaria/*"]), "");
    assert_eq!(git(&place.user(), &["worktree", "list"]).lines().count(), 1);
    let command = gone.recovery().unwrap();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    git(&place.user(), &words);
    let back = "talaria-t1-back";
    assert_eq!(git(&place.user(), &["show", &format!("{back}:no newline")]), "x");
    assert_eq!(git(&place.user(), &["rev-parse", &format!("{back}^")]), tip);
    assert_eq!(git(&place.user(), &["log", "-1", "--format=%an", back]), "Talaria");
}

#[tokio::test]
async fn a_task_without_work_or_with_merged_work_is_discarded_without_a_word() {
    let place = Place::new();
    let made = place.made("t1").await;
    put(&made.worktree.join("ignored"), "not work\n");
    let gone = made.discard(Force::KeepWork).await.unwrap();
    assert_eq!(gone, DiscardedWorktree { branch: "talaria/t1".to_owned(), tip: None, kept: None });
    let made = place.made("t2").await;
    put(&made.worktree.join("d.txt"), "d\n");
    let tip = commit(&made.worktree, "d");
    // Another branch of ours is one that a task can write.
    git(&place.user(), &["branch", "talaria/copy", "talaria/t2"]);
    assert!(matches!(
        made.discard(Force::KeepWork).await,
        Err(WorktreeError::WouldLose { commits: 1, files: 0, .. })
    ));
    git(&place.user(), &["merge", "--quiet", "talaria/t2"]);
    assert_eq!(made.discard(Force::KeepWork).await.unwrap().tip, Some(tip));
}

#[tokio::test]
async fn a_repository_inside_the_worktree_counts_as_work() {
    let place = Place::new();
    let made = place.made("t1").await;
    super::init(&made.worktree.join("inner"));
    assert!(matches!(
        made.discard(Force::KeepWork).await,
        Err(WorktreeError::WouldLose { commits: 0, files: 1, .. })
    ));
    made.discard(Force::DropWork).await.unwrap();
}

#[tokio::test]
async fn what_is_half_gone_is_discarded_to_the_end_and_again_without_an_error() {
    let place = Place::new();
    let [one, two, three] = [place.made("t1").await, place.made("t2").await, place.made("t3").await];
    fs::remove_dir_all(&one.worktree).unwrap();
    fs::remove_dir_all(&two.worktree).unwrap();
    git(&place.user(), &["worktree", "prune"]);
    git(&place.user(), &["branch", "--quiet", "-D", "talaria/t2"]);
    put(&three.worktree.join("d.txt"), "d\n");
    git(&place.user(), &["update-ref", "-d", "refs/heads/talaria/t3"]);
    assert!(matches!(three.discard(Force::KeepWork).await, Err(WorktreeError::WouldLose { .. })));
    for made in [&one, &two, &three] {
        for _ in 0..2 {
            made.discard(Force::DropWork).await.unwrap();
            assert!(!made.worktree.exists() && !made.admin.exists());
        }
    }
    assert!(try_git(&place.user(), &["fsck", "--strict"]).0);
    assert_eq!(git(&place.user(), &["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
}
