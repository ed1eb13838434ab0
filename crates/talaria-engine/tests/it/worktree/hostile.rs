//! A task that tries to escape: nothing that it can write makes our git run or write anything outside.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use talaria_engine::worktree::{Dirty, Force, Made, WorktreeError, make};

use super::{Place, commit, git, put, trap};

/// A configuration in which everything that git may run is the trap, and the trap.
fn snares(place: &Place) -> (String, PathBuf) {
    let (program, mark) = (place.path("trap.sh"), place.path("mark"));
    trap(&program, &mark);
    let hooks = place.path("hooks");
    for hook in ["post-checkout", "reference-transaction", "post-index-change", "pre-commit", "post-commit"] {
        trap(&hooks.join(hook), &mark);
    }
    let program = program.display();
    let config = format!(
        "[core]\n repositoryformatversion = 0\n fsmonitor = {program}\n hooksPath = {}\n sshCommand = {program}\n \
         pager = {program}\n alternateRefsCommand = {program}\n\
         [diff]\n external = {program}\n[diff \"evil\"]\n command = {program}\n textconv = {program}\n\
         [filter \"evil\"]\n clean = {program}\n smudge = {program}\n process = {program}\n required = true\n\
         [gpg]\n program = {program}\n[log]\n showSignature = true\n[uploadpack]\n packObjectsHook = {program}\n",
        hooks.display()
    );
    (config, mark)
}

/// Everything that is asked about a task, to its end.
async fn go_through(made: &Made) {
    made.changes().await.unwrap();
    made.diff(10_000).await.unwrap();
    // Whether it fits is another question.
    let _ = made.apply().await;
    let _ = made.discard(Force::KeepWork).await;
    made.discard(Force::DropWork).await.unwrap();
    assert!(!made.worktree.exists() && !made.admin.exists());
}

/// A git directory of the task's own, with snares.
fn fake_git_dir(place: &Place, at: &Path, config: &str) {
    git(&place.user(), &["clone", "--quiet", "--bare", ".", at.to_str().unwrap()]);
    put(&at.join("config"), config);
}

#[tokio::test]
async fn files_of_gits_own_that_a_task_rewrote_are_not_read_and_are_named() {
    let place = Place::new();
    let (config, mark) = snares(&place);
    for planted in ["commondir", "gitdir", "config.worktree", "HEAD", "index", "dot-git", "link"] {
        let made = place.made(&planted.replace('.', "-")).await;
        put(&made.worktree.join("a.txt"), "changed\n");
        put(&made.worktree.join(".gitattributes"), "* filter=evil diff=evil\n");
        let fake = made.worktree.join("fake");
        fake_git_dir(&place, &fake, &config);
        let before = place.state();
        let admin = |name: &str| made.admin.join(name);
        match planted {
            "commondir" => put(&admin("commondir"), &format!("{}\n", fake.display())),
            "gitdir" => put(&admin("gitdir"), &format!("{}/.git\n", place.user().display())),
            "config.worktree" => put(&admin("config.worktree"), &config),
            "HEAD" => put(&admin("HEAD"), "ref: refs/heads/main\n"),
            "index" => put(&admin("index"), "DIRC nonsense"),
            "dot-git" => put(&made.worktree.join(".git"), &format!("gitdir: {}\n", fake.display())),
            _ => {
                fs::remove_file(made.worktree.join(".git")).unwrap();
                symlink(&fake, made.worktree.join(".git")).unwrap();
            }
        }
        let altered = made.changes().await.unwrap().altered;
        let name = if matches!(planted, "dot-git" | "link") { ".git" } else { planted };
        match planted {
            "HEAD" | "index" => assert_eq!(altered, [] as [&str; 0], "these change with every commit"),
            _ => assert!(altered.len() == 1 && altered[0].ends_with(name), "{planted}: {altered:?}"),
        }
        assert_eq!(place.state(), before, "{planted}");
        go_through(&made).await;
        git(&place.user(), &["checkout", "--quiet", "."]);
        git(&place.user(), &["clean", "--quiet", "-fd"]);
        assert!(!mark.exists(), "{planted}: {:?}", fs::read_to_string(&mark));
    }
}

#[tokio::test]
async fn the_snares_work_on_a_git_that_is_run_in_the_worktree() {
    // Otherwise the test above could not fail.
    let place = Place::new();
    let (config, mark) = snares(&place);
    let made = place.made("t1").await;
    let fake = made.worktree.join("fake");
    fake_git_dir(&place, &fake, &config);
    put(&made.admin.join("commondir"), &format!("{}\n", fake.display()));
    put(&made.worktree.join("a.txt"), "changed\n");
    super::try_git(&made.worktree, &["status"]);
    assert!(mark.exists());
}

#[tokio::test]
async fn repositories_that_a_task_planted_are_not_entered() {
    let place = Place::new();
    super::init(&place.path("library"));
    put(&place.path("library/file"), "x\n");
    commit(&place.path("library"), "library");
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../library", "lib"];
    git(&place.user(), &add);
    commit(&place.user(), "with a submodule");
    let (config, mark) = snares(&place);
    let made = place.made("t1").await;
    for name in ["lib", "inner"] {
        let inner = made.worktree.join(name);
        // At the commit that is recorded: that is when git would look further.
        git(&place.path("library"), &["clone", "--quiet", ".", inner.to_str().unwrap()]);
        put(&inner.join(".gitattributes"), "* filter=evil diff=evil\n");
        put(&inner.join("file"), "y\n");
        put(&inner.join(".git/config"), &config);
    }
    let changes = made.changes().await.unwrap();
    assert_eq!((changes.files.len(), changes.nested), (0, vec!["inner".to_owned()]));
    go_through(&made).await;
    assert!(!mark.exists(), "{:?}", fs::read_to_string(&mark));
    // Nor is the user's own submodule, which another task may have had as its directory.
    put(
        &place.user().join(".git/modules/lib/config"),
        &format!("{config}[core]\n worktree = ../../../lib\n"),
    );
    put(&place.user().join("lib/.gitattributes"), "* filter=evil\n");
    // Of the same length: only then must git read it to know.
    put(&place.user().join("lib/file"), "y\n");
    place.write("a.txt", "changed\n");
    place.make("t3", Dirty::Copy).await.unwrap();
    assert!(!mark.exists(), "{:?}", fs::read_to_string(&mark));
    // A task in a repository that a task made: its configuration does not run either.
    let bad = place.path("bad");
    super::init(&bad);
    put(&bad.join("file"), "x\n");
    put(&bad.join(".gitattributes"), "* filter=evil diff=evil\n");
    commit(&bad, "bad");
    put(&bad.join("file"), "changed\n");
    put(&bad.join(".git/config"), &config);
    let made = make(&bad, "t2", &place.worktrees(), Dirty::Copy).await.unwrap();
    put(&made.worktree.join("file"), "changed again\n");
    go_through(&made).await;
    assert!(!mark.exists(), "{:?}", fs::read_to_string(&mark));
}

#[tokio::test]
async fn a_git_directory_that_does_not_name_the_checkout_back_is_not_believed() {
    let place = Place::new();
    let bait = place.path("bait");
    put(&bait.join(".git"), &format!("gitdir: {}/.git\n", place.user().display()));
    let error = make(&bait, "t1", &place.worktrees(), Dirty::Leave).await.unwrap_err();
    assert!(matches!(error, WorktreeError::Redirected(_)), "{error}");
    // A repository that says that its checkout is a directory above it.
    let inner = place.path("above/inner");
    super::init(&inner);
    commit(&inner, "inner");
    git(&inner, &["config", "core.worktree", place.path("above").to_str().unwrap()]);
    let error = make(&inner, "t1", &place.worktrees(), Dirty::Leave).await.unwrap_err();
    assert!(matches!(error, WorktreeError::Redirected(_)), "{error}");
}

#[tokio::test]
async fn a_branch_that_is_another_name_for_the_users_does_not_take_the_users_with_it() {
    let place = Place::new();
    for (task, target) in [("t1", "ref: refs/heads/main\n"), ("t2", "nonsense\n")] {
        let made = place.made(task).await;
        put(&made.common.join("refs/heads").join(&made.branch), target);
        let before = place.state();
        if task == "t1" {
            assert!(matches!(made.changes().await, Err(WorktreeError::Tampered { .. })));
            assert!(matches!(made.apply().await, Err(WorktreeError::Tampered { .. })));
        }
        made.discard(Force::DropWork).await.unwrap();
        assert_eq!(place.state(), before);
        assert_eq!(git(&place.user(), &["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    }
}

#[tokio::test]
async fn a_filter_whose_name_is_no_text_is_not_run() {
    let place = Place::new();
    let (planted, program, mark) = (place.path("planted"), place.path("trap.sh"), place.path("mark"));
    super::init(&planted);
    commit(&planted, "first");
    trap(&program, &mark);
    let lines = [
        &b"[filter \"x\xff\"]\n clean = "[..],
        program.to_str().unwrap().as_bytes(),
        &b"\n required = true\n"[..],
    ];
    let config = planted.join(".git/config");
    fs::write(&config, [fs::read(&config).unwrap(), lines.concat()].concat()).unwrap();
    fs::write(planted.join(".gitattributes"), b"* filter=x\xff\n").unwrap();
    fs::write(planted.join("new.txt"), "x").unwrap();
    for dirty in [Dirty::Refuse, Dirty::Leave, Dirty::Copy] {
        let error = make(&planted, "t1", &place.worktrees(), dirty).await.unwrap_err();
        assert!(matches!(error, WorktreeError::Tampered { .. }), "{error}");
    }
    assert!(!mark.exists(), "the filter ran");
}

#[tokio::test]
async fn links_in_the_place_of_files_are_not_written_through() {
    let place = Place::new();
    let victim = place.path("victim");
    put(&victim.join("file"), "mine\n");
    let made = place.made("t1").await;
    let logs = made.common.join("logs/refs/heads/talaria");
    symlink(victim.join("file"), logs.join("t2")).unwrap();
    let second = place.made("t2").await;
    fs::remove_file(logs.join("t2")).unwrap();
    symlink(victim.join("file"), logs.join("t2")).unwrap();
    second.discard(Force::KeepWork).await.unwrap();
    // Directories of the worktree that lead out, and one in which nothing must be removed.
    fs::remove_dir_all(made.worktree.join("sub")).unwrap();
    symlink(&victim, made.worktree.join("sub")).unwrap();
    symlink("/", made.worktree.join("root")).unwrap();
    let changes = made.changes().await.unwrap();
    assert_eq!(changes.files.len(), 3, "{changes:?}");
    made.discard(Force::DropWork).await.unwrap();
    assert_eq!(fs::read_to_string(victim.join("file")).unwrap(), "mine\n");
    // The whole worktree is one.
    let made = place.made("t3").await;
    fs::remove_dir_all(&made.worktree).unwrap();
    symlink(&victim, &made.worktree).unwrap();
    assert!(matches!(made.changes().await, Err(WorktreeError::Tampered { .. })));
    assert!(matches!(made.apply().await, Err(WorktreeError::Tampered { .. })));
    fs::remove_file(&made.worktree).unwrap();
    made.discard(Force::KeepWork).await.unwrap();
    assert_eq!(fs::read_to_string(victim.join("file")).unwrap(), "mine\n");
    // A root that leads elsewhere is not opened to a sandbox.
    let made = place.made("t4").await;
    fs::remove_dir_all(&made.admin).unwrap();
    symlink(&victim, &made.admin).unwrap();
    assert!(matches!(made.ready_roots(), Err(WorktreeError::Tampered { .. })));
}

#[tokio::test]
async fn paths_that_lead_out_of_the_checkout_are_not_applied() {
    let place = Place::new();
    let made = place.made("t1").await;
    let hook = git(&made.worktree, &["hash-object", "-w", "a.txt"]);
    for path in [".git/hooks/post-checkout", "../outside", ".GIT/config"] {
        let (folder, name) = path.rsplit_once('/').unwrap();
        let mut tree = write_tree(&place, &format!("100755 blob {hook}\t{name}\n"));
        for part in folder.rsplit('/') {
            tree = write_tree(&place, &format!("040000 tree {tree}\t{part}\n"));
        }
        let commit = git(&place.user(), &["commit-tree", &tree, "-p", &made.base, "-m", "out"]);
        git(&place.user(), &["update-ref", "refs/heads/talaria/t1", &commit]);
        fs::remove_dir_all(&made.worktree).unwrap_or_default();
        let before = place.state();
        assert!(made.apply().await.is_err(), "{path}");
        assert_eq!(place.state(), before, "{path}");
        assert!(!place.path("outside").exists());
    }
}

fn write_tree(place: &Place, lines: &str) -> String {
    let file = place.path("lines");
    put(&file, lines);
    let mut command = std::process::Command::new("git");
    command.current_dir(place.user()).arg("mktree").stdin(fs::File::open(file).unwrap());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
