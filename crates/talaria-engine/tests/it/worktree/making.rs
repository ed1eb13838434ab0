//! Creation of worktrees, from various states of the user's repository, and refusals.

use std::fs;
use std::path::Path;

use talaria_engine::worktree::{Dirty, Made, WorktreeError, make};

use super::{Place, commit, git, init, put, state};

#[tokio::test]
async fn a_task_gets_a_branch_and_a_directory_and_the_users_checkout_stays_as_it_is() {
    let place = Place::new();
    let before = place.state();
    let made = place.made("t1").await;
    assert_eq!(place.state(), before);
    let user = place.user();
    assert_eq!((&made.repository, &made.common), (&user, &user.join(".git")));
    assert_eq!((&made.worktree, &made.cwd), (&place.worktrees().join("t1"), &place.worktrees().join("t1")));
    assert_eq!((made.branch.as_str(), made.base_branch.as_deref()), ("talaria/t1", Some("main")));
    assert_eq!(made.base, git(&user, &["rev-parse", "HEAD"]));
    assert_eq!(git(&made.worktree, &["symbolic-ref", "HEAD"]), "refs/heads/talaria/t1");
    assert_eq!(git(&made.worktree, &["status", "--porcelain"]), "");
    let text = serde_json::to_string(&made).unwrap();
    assert_eq!(serde_json::from_str::<Made>(&text).unwrap(), made);
}

#[tokio::test]
async fn the_writable_roots_are_the_four_and_are_there_also_after_git_packed_the_branches() {
    let place = Place::new();
    let made = place.made("t1").await;
    let common = place.user().join(".git");
    let names = ["objects", "refs/heads/talaria", "logs/refs/heads/talaria", "worktrees/t1"];
    assert_eq!(made.writable_roots(), names.map(|name| common.join(name)));
    assert!(made.writable_roots().iter().all(|root| root.is_dir()));
    git(&place.user(), &["pack-refs", "--all"]);
    assert!(!common.join("refs/heads/talaria").exists(), "git removed the empty folder");
    assert_eq!(made.ready_roots().unwrap(), made.writable_roots());
    assert!(made.writable_roots().iter().all(|root| root.is_dir()));
    assert_eq!(made.changes().await.unwrap().commits, []);
}

#[tokio::test]
async fn a_subdirectory_of_the_checkout_is_the_same_subdirectory_of_the_worktree() {
    let place = Place::new();
    let made = make(&place.user().join("sub"), "t1", &place.worktrees(), Dirty::Refuse).await.unwrap();
    assert_eq!(made.cwd, made.worktree.join("sub"));
    assert_eq!(fs::read_to_string(made.cwd.join("c.txt")).unwrap(), "sea\n");
    // A directory without committed files exists as well.
    fs::create_dir_all(place.user().join("empty/inner")).unwrap();
    let made =
        make(&place.user().join("empty/inner"), "t2", &place.worktrees(), Dirty::Refuse).await.unwrap();
    assert!(made.cwd.is_dir() && made.cwd.ends_with("t2/empty/inner"));
}

/// Uncommitted changes of every sort.
fn soil(place: &Place) {
    place.write("a.txt", "one\nTWO\nthree\n");
    place.write("new file.txt", "new\n");
    place.write("staged.txt", "staged\n");
    place.write("ignored", "not copied\n");
    git(&place.user(), &["add", "staged.txt"]);
    fs::remove_file(place.user().join("b.txt")).unwrap();
}

#[tokio::test]
async fn uncommitted_changes_are_refused_with_their_names() {
    let place = Place::new();
    soil(&place);
    let before = place.state();
    let error = place.make("t1", Dirty::Refuse).await.unwrap_err();
    assert_eq!(error.to_string(), "there are uncommitted changes: a.txt, b.txt, staged.txt, new file.txt");
    assert!(
        error.next_step().in_shell().contains("leave them out")
            && error.next_step().in_shell().contains("copy them")
    );
    assert_eq!(place.state(), before);
    assert_eq!(git(&place.user(), &["branch", "--list", "talaria/*"]), "");
    assert!(!place.worktrees().join("t1").exists());
}

#[tokio::test]
async fn uncommitted_changes_that_are_left_are_not_in_the_worktree() {
    let place = Place::new();
    soil(&place);
    let before = place.state();
    let made = place.make("t1", Dirty::Leave).await.unwrap();
    assert_eq!(place.state(), before);
    assert_eq!(made.base, git(&place.user(), &["rev-parse", "HEAD"]));
    assert_eq!(fs::read_to_string(made.worktree.join("a.txt")).unwrap(), "one\ntwo\nthree\n");
    assert!(made.worktree.join("b.txt").exists() && !made.worktree.join("new file.txt").exists());
}

#[tokio::test]
async fn uncommitted_changes_that_are_copied_are_the_base_and_not_the_tasks_work() {
    let place = Place::new();
    soil(&place);
    let before = place.state();
    let made = place.make("t1", Dirty::Copy).await.unwrap();
    assert_eq!(place.state(), before, "the index is not even refreshed");
    assert_ne!(made.base, git(&place.user(), &["rev-parse", "HEAD"]));
    assert_eq!(git(&place.user(), &["rev-parse", &format!("{}^", made.base)]), before.1);
    let read = |name: &str| fs::read_to_string(made.worktree.join(name)).ok();
    assert_eq!(read("a.txt").as_deref(), Some("one\nTWO\nthree\n"));
    assert_eq!(
        (read("new file.txt").as_deref(), read("staged.txt").as_deref()),
        (Some("new\n"), Some("staged\n"))
    );
    assert_eq!((read("b.txt"), read("ignored")), (None, None));
    let changes = made.changes().await.unwrap();
    assert_eq!((changes.files.len(), changes.commits.len(), changes.uncommitted), (0, 0, false));
    // The task's work then fits the checkout that still has those changes.
    put(&made.worktree.join("a.txt"), "one\nTWO\nTHREE\n");
    made.apply().await.unwrap();
    assert_eq!(fs::read_to_string(place.user().join("a.txt")).unwrap(), "one\nTWO\nTHREE\n");
}

#[tokio::test]
async fn a_clean_checkout_is_its_own_base_also_when_copying() {
    let place = Place::new();
    let made = place.make("t1", Dirty::Copy).await.unwrap();
    assert_eq!(made.base, git(&place.user(), &["rev-parse", "HEAD"]));
}

#[tokio::test]
async fn a_merge_that_was_left_half_way_is_not_copied() {
    let place = Place::new();
    git(&place.user(), &["checkout", "--quiet", "-b", "other"]);
    place.write("a.txt", "other\n");
    commit(&place.user(), "other");
    git(&place.user(), &["checkout", "--quiet", "main"]);
    place.write("a.txt", "main\n");
    commit(&place.user(), "main");
    assert!(!super::try_git(&place.user(), &["merge", "other"]).0);
    let error = place.make("t1", Dirty::Copy).await.unwrap_err();
    assert!(matches!(&error, WorktreeError::Unmerged(files) if *files == ["a.txt"]), "{error}");
}

#[tokio::test]
async fn a_detached_head_and_a_linked_worktree_are_fine_to_start_from() {
    let place = Place::new();
    let linked = place.path("linked");
    git(&place.user(), &["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap()]);
    put(&linked.join("a.txt"), "linked\n");
    let (before, before_linked) = (place.state(), state(&linked));
    let made = make(&linked, "t1", &place.worktrees(), Dirty::Copy).await.unwrap();
    assert_eq!((place.state(), state(&linked)), (before, before_linked));
    assert_eq!((&made.repository, &made.common), (&linked, &place.user().join(".git")));
    assert_eq!(made.base_branch, None);
    assert_eq!(fs::read_to_string(made.worktree.join("a.txt")).unwrap(), "linked\n");
    put(&made.worktree.join("d.txt"), "d\n");
    assert_eq!(made.apply().await.unwrap().files, ["d.txt"]);
    assert!(linked.join("d.txt").exists() && !place.user().join("d.txt").exists());
}

#[tokio::test]
async fn submodules_stay_as_recorded_and_are_not_looked_into() {
    let place = Place::new();
    init(&place.path("library"));
    commit(&place.path("library"), "library");
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../library", "lib"];
    git(&place.user(), &add);
    commit(&place.user(), "with a submodule");
    put(&place.user().join("lib/new"), "in the submodule\n");
    place.write("a.txt", "changed\n");
    let made = place.make("t1", Dirty::Copy).await.unwrap();
    assert!(made.worktree.join("lib").is_dir());
    let changes = made.changes().await.unwrap();
    assert_eq!((changes.files, changes.nested), (vec![], vec![]));
    // A task in the submodule's own checkout is a task in that repository.
    let made = make(&place.user().join("lib"), "t2", &place.worktrees(), Dirty::Leave).await.unwrap();
    assert_eq!(made.repository, place.user().join("lib"));
    assert_eq!(made.common, place.user().join(".git/modules/lib"));
}

#[tokio::test]
async fn a_sparse_checkout_gives_a_whole_worktree() {
    let place = Place::new();
    git(&place.user(), &["sparse-checkout", "set", "sub"]);
    place.write("sub/c.txt", "changed\n");
    fs::remove_file(place.user().join("a.txt")).unwrap();
    let made = place.make("t1", Dirty::Copy).await.unwrap();
    assert!(!made.worktree.join("a.txt").exists() && made.worktree.join("b.txt").exists());
    let changes = made.changes().await.unwrap();
    assert_eq!((changes.files, changes.altered), (vec![], vec![]));
}

async fn refused(cwd: &Path, place: &Place, task: &str) -> WorktreeError {
    let error = make(cwd, task, &place.worktrees(), Dirty::Leave).await.unwrap_err();
    assert!(!error.next_step().in_shell().is_empty());
    assert!(!place.worktrees().join(task).exists());
    error
}

#[tokio::test]
async fn what_is_no_checkout_is_told_apart() {
    let place = Place::empty();
    let path = |name: &str| place.path(name);
    fs::create_dir(path("plain")).unwrap();
    // The directory of the test lies in a repository: the search must end before it.
    let error = refused(Path::new("/"), &place, "t").await;
    assert!(matches!(&error, WorktreeError::NotGit(path) if path == Path::new("/")), "{error}");
    git(&path("plain"), &["init", "--quiet", "--bare", "../bare"]);
    assert!(matches!(refused(&path("bare"), &place, "t").await, WorktreeError::NoCheckout(_)));
    init(&path("unborn"));
    assert!(matches!(refused(&path("unborn"), &place, "t").await, WorktreeError::NoCommits(_)));
    commit(&path("unborn"), "born");
    assert!(matches!(refused(&path("unborn/.git"), &place, "t").await, WorktreeError::NoCheckout(_)));
    assert!(matches!(refused(&path("nowhere"), &place, "t").await, WorktreeError::Io { .. }));
    git(&path("plain"), &["init", "--quiet", "--ref-format=reftable", "../tables"]);
    commit(&path("tables"), "one");
    let error = refused(&path("tables"), &place, "t").await;
    assert!(matches!(&error, WorktreeError::ReferenceFormat(format) if format == "reftable"), "{error}");
}

#[tokio::test]
async fn branches_and_directories_in_the_way_are_named_and_stay() {
    let place = Place::new();
    git(&place.user(), &["branch", "talaria/t1"]);
    assert!(matches!(refused(&place.user(), &place, "t1").await, WorktreeError::BranchExists(_)));
    git(&place.user(), &["branch", "--delete", "talaria/t1"]);
    git(&place.user(), &["branch", "talaria"]);
    let error = refused(&place.user(), &place, "t1").await;
    assert_eq!(error.next_step().in_shell(), "rename it: git branch -m talaria OTHER");
    git(&place.user(), &["branch", "--delete", "talaria"]);
    put(&place.worktrees().join("t1/mine"), "mine\n");
    assert!(matches!(place.make("t1", Dirty::Leave).await, Err(WorktreeError::PathTaken(_))));
    assert_eq!(fs::read_to_string(place.worktrees().join("t1/mine")).unwrap(), "mine\n");
    assert_eq!(git(&place.user(), &["branch", "--list", "talaria/*"]), "");
    for task in ["", "..", "a/b", ".hidden", "-x", "a..b", "a.lock", "a b", "ü", &"x".repeat(101)] {
        assert!(matches!(place.make(task, Dirty::Leave).await, Err(WorktreeError::BadTask(_))), "{task}");
    }
}

#[tokio::test]
async fn worktrees_do_not_go_where_the_user_would_see_them_as_new_files() {
    let place = Place::new();
    let (seen, ignored) = (place.user().join("seen"), place.user().join("ignored"));
    let error = make(&place.user(), "t1", &seen, Dirty::Leave).await.unwrap_err();
    assert!(matches!(error, WorktreeError::InsideCheckout { .. }) && !seen.exists(), "{error}");
    make(&place.user(), "t1", &ignored, Dirty::Leave).await.unwrap();
    assert_eq!(git(&place.user(), &["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_worktree_that_cannot_be_filled_leaves_nothing_behind() {
    let place = Place::new();
    // The object of a file is gone: the checkout fails in the middle.
    let blob = git(&place.user(), &["rev-parse", "HEAD:sub/c.txt"]);
    fs::remove_file(place.user().join(".git/objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    let before = place.state();
    let error = place.make("t1", Dirty::Leave).await.unwrap_err();
    assert!(matches!(error, WorktreeError::Git { .. }), "{error}");
    assert_eq!(place.state(), before);
    assert_eq!(git(&place.user(), &["branch", "--list", "talaria/*"]), "");
    assert_eq!(fs::read_dir(place.worktrees()).unwrap().count(), 0);
    assert_eq!(git(&place.user(), &["worktree", "list"]).lines().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_worktrees_are_made_at_the_same_time_and_discarded_at_the_same_time() {
    let place = Place::new();
    soil(&place);
    let before = place.state();
    let (user, into) = (place.user(), place.worktrees());
    let tasks = (0..12).map(|at| {
        let (user, into) = (user.clone(), into.clone());
        tokio::spawn(async move { make(&user, &format!("t{at}"), &into, Dirty::Copy).await.unwrap() })
    });
    let mut all = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        all.push(task.await.unwrap());
    }
    assert_eq!(git(&user, &["branch", "--list", "talaria/*"]).lines().count(), 12);
    let ends = all.into_iter().map(|made| {
        tokio::spawn(async move { made.discard(talaria_engine::worktree::Force::KeepWork).await.unwrap() })
    });
    for end in ends.collect::<Vec<_>>() {
        assert_eq!(end.await.unwrap().recovery(), None);
    }
    assert_eq!(git(&user, &["branch", "--list", "talaria/*"]), "");
    assert_eq!(git(&user, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(fs::read_dir(into).unwrap().count(), 0);
    assert_eq!(place.state(), before);
}
