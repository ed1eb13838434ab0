//! A person's view of a task's work.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use expect_test::expect;
use talaria_engine::worktree::{Dirty, WorktreeChanges};

use super::{Place, commit, git, put, shown};

#[tokio::test]
async fn changes_are_what_is_committed_and_what_is_not_against_the_base() {
    let place = Place::new();
    let made = place.made("t1").await;
    let at = |name: &str| made.worktree.join(name);
    put(&at("a.txt"), "one\n2\nthree\nfour\n");
    commit(&made.worktree, "Change a\n\nWith a body.");
    fs::rename(at("sub/c.txt"), at("sub/see.txt")).unwrap();
    commit(&made.worktree, "Move c");
    fs::remove_file(at("b.txt")).unwrap();
    symlink("a.txt", at("b.txt")).unwrap();
    put(&at("new\u{1b}[31m \"x\"\t.txt"), "n\n");
    fs::write(at("binary"), [0, 159, 146, 150]).unwrap();
    put(&at("ignored"), "i\n");
    let before = (place.state(), fs::read(made.admin.join("index")).unwrap());
    let objects = git(&place.user(), &["count-objects", "-v"]);
    let changes = made.changes().await.unwrap();
    expect![[r#"
        Modified a.txt +2 -1
        TypeChanged b.txt +1 -1
        Added binary +- --
        Added new\u{1b}[31m \"x\"\t.txt +1 -0
        Renamed { from: "sub/c.txt" } sub/see.txt +0 -0
        commit Move c
        commit Change a
        +4 -2 uncommitted true truncated false
    "#]]
    .assert_eq(&shown(&changes));
    assert_eq!((changes.nested.len(), changes.altered.len()), (0, 0));
    assert_eq!((place.state(), fs::read(made.admin.join("index")).unwrap()), before);
    assert_eq!(
        git(&place.user(), &["count-objects", "-v"]),
        objects,
        "a look leaves nothing in the repository"
    );
    let text = serde_json::to_string(&changes).unwrap();
    assert_eq!(serde_json::from_str::<WorktreeChanges>(&text).unwrap(), changes);
}

#[tokio::test]
async fn a_task_that_did_nothing_has_no_changes() {
    let place = Place::new();
    let made = place.made("t1").await;
    assert_eq!(made.changes().await.unwrap(), WorktreeChanges::default());
    assert_eq!(made.diff(1000).await.unwrap(), "");
}

#[tokio::test]
async fn a_file_that_is_ignored_and_yet_committed_is_seen() {
    let place = Place::new();
    let made = place.made("t1").await;
    put(&made.worktree.join("ignored"), "kept\n");
    git(&made.worktree, &["add", "--force", "ignored"]);
    git(&made.worktree, &["commit", "--quiet", "--message", "Force"]);
    let changes = made.changes().await.unwrap();
    assert_eq!((changes.files.len(), changes.uncommitted), (1, false));
}

#[tokio::test]
async fn a_diff_that_is_too_long_ends_with_a_whole_line_and_the_names_of_what_is_missing() {
    let place = Place::new();
    let made = place.made("t1").await;
    put(&made.worktree.join("a.txt"), "one\n2\nthree\n");
    let whole = made.diff(100_000).await.unwrap();
    expect![[r#"
        diff --git a/a.txt b/a.txt
        index 4cb29ea38f70d7c61b2a3a25b02e3bdf44905402..f04eb265ebd74fba2cddf0a6adf2a6a7f81c87aa 100644
        --- a/a.txt
        +++ b/a.txt
        @@ -1,3 +1,3 @@
         one
        -two
        +2
         three
    "#]]
    .assert_eq(&whole);
    assert_eq!(made.diff(whole.len()).await.unwrap(), whole, "exactly enough is enough");
    let cut = made.diff(whole.len() - 1).await.unwrap();
    let lines = whole.trim_end_matches(" three\n");
    assert_eq!(cut, format!("{lines}[cut after {} bytes, in the last of 1 files]\n", whole.len() - 1));
    for at in 0..30 {
        put(&made.worktree.join(format!("n{at:02}")), "ü\n");
    }
    let cut = made.diff(whole.len() + 100).await.unwrap();
    let last = cut.lines().last().unwrap();
    assert!(cut.starts_with(&whole) && last.contains("left out 29 of 31 files: n01, n02, "), "{cut}");
    assert!(last.ends_with("n20 and 9 more]"), "{last}");
    assert!(made.diff(0).await.unwrap().starts_with("[cut after 0 bytes; left out 31 of 31 files: a.txt, "));
}

#[tokio::test]
async fn more_files_than_are_listed_still_count() {
    let place = Place::new();
    let made = place.made("t1").await;
    for at in 0..2_001 {
        put(&made.worktree.join(format!("many/{at}")), "x\n");
    }
    let changes = made.changes().await.unwrap();
    assert_eq!((changes.files.len(), changes.insertions, changes.truncated), (2_000, 2_001, true));
}

/// git knows such a change only by the age of the index: a copy of the index must not be younger.
#[tokio::test]
async fn a_change_that_leaves_length_and_time_is_copied() {
    let place = Place::new();
    let (file, index) = (place.user().join("b.txt"), place.user().join(".git/index"));
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let age =
        |path: &Path| fs::File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
    git(&place.user(), &["config", "core.trustctime", "false"]);
    age(&file);
    git(&place.user(), &["update-index", "--refresh"]);
    age(&index);
    put(&file, "BEE\n");
    age(&file);
    let made = place.make("t1", Dirty::Copy).await.unwrap();
    assert_eq!(fs::read_to_string(made.worktree.join("b.txt")).unwrap(), "BEE\n");
}

#[tokio::test]
async fn repositories_inside_the_worktree_are_named_and_left_out() {
    let place = Place::new();
    let made = place.made("t1").await;
    super::init(&made.worktree.join("unborn"));
    super::init(&made.worktree.join("deep/inner"));
    put(&made.worktree.join("deep/inner/file"), "x\n");
    commit(&made.worktree.join("deep/inner"), "inner");
    put(&made.worktree.join("deep/outer"), "x\n");
    let changes = made.changes().await.unwrap();
    assert_eq!(changes.nested, ["deep/inner", "unborn"]);
    assert_eq!(changes.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["deep/outer"]);
}

#[tokio::test]
async fn what_is_gone_already_is_no_error_for_a_look() {
    let place = Place::new();
    let made = place.made("t1").await;
    put(&made.worktree.join("d.txt"), "d\n");
    commit(&made.worktree, "Add d");
    fs::remove_dir_all(&made.worktree).unwrap();
    let changes = made.changes().await.unwrap();
    assert_eq!((changes.files.len(), changes.commits.len(), changes.uncommitted), (1, 1, false));
    git(&place.user(), &["update-ref", "-d", "refs/heads/talaria/t1"]);
    assert_eq!(made.changes().await.unwrap(), WorktreeChanges::default());
}

#[tokio::test]
async fn modes_and_line_ends_are_as_the_user_has_them() {
    let place = Place::new();
    place.write("crlf.txt", "a\r\nb\r\n");
    place.write(".gitattributes", "crlf.txt text eol=crlf\n");
    commit(&place.user(), "line ends");
    let made = place.make("t1", Dirty::Refuse).await.unwrap();
    assert_eq!(made.changes().await.unwrap(), WorktreeChanges::default(), "attributes of the base count");
    fs::set_permissions(made.worktree.join("b.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    let changes = made.changes().await.unwrap();
    assert_eq!((changes.files.len(), changes.files[0].path.as_str()), (1, "b.txt"));
    assert_eq!(
        made.diff(1000).await.unwrap(),
        "diff --git a/b.txt b/b.txt\nold mode 100644\nnew mode 100755\n"
    );
}
