//! A task with its own worktree: the user's checkout is unchanged until the work is applied.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::scene::{Scene, both_versions};
use crate::tasks::{rest, shown, start};

both_versions!(
    newest:
    the_work_of_a_task_is_shown_taken_over_and_discarded,
    a_checkout_that_cannot_be_copied_safely_is_a_choice,
);

const WRITING: [&str; 5] = ["--worktree", "--sandbox", "workspace-write", "--approval", "on-request"];

/// Runs git in a directory and returns what it says.
fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Makes a repository with one commit where the program is started.
pub(crate) fn repository(scene: &Scene) -> PathBuf {
    let work = scene.work();
    git(&work, &["init", "-q", "-b", "main"]);
    for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.org"), ("commit.gpgsign", "false")]
    {
        git(&work, &["config", key, value]);
    }
    fs::write(work.join("poem.txt"), "one\n").unwrap();
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-qm", "first"]);
    work
}

async fn the_work_of_a_task_is_shown_taken_over_and_discarded(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let work = repository(&scene);
    scene.model.push(
        Reply::new().command("echo two >> poem.txt && git commit -qam 'a second line' && echo x > new"),
    );
    scene.model.push(Reply::say("There is a second line."));
    let id = start(&scene, &[&WRITING[..], &["write a second line"]].concat()).await;
    rest(&scene).await;
    assert_eq!(fs::read_to_string(work.join("poem.txt")).unwrap(), "one\n", "the checkout is untouched");
    assert_eq!(git(&work, &["status", "--porcelain"]), "");

    let branch = format!("talaria/{id}");
    let task = shown(&scene, &id).await;
    assert_eq!(
        (&task["status"], &task["worktree"]["branch"]),
        (&"completed".into(), &branch.as_str().into())
    );
    let page = scene.run(&["task", "show", &id]).await.exits(0);
    page.prints(&[
        &branch,
        "2 files changed, +2 -0",
        "poem.txt",
        "a second line",
        "some of it is not committed",
        "There is a second line.",
        &format!("talaria task apply {id}"),
    ]);
    let diff = scene.run(&["task", "show", &id, "--diff"]).await.exits(0);
    diff.prints(&["+++ b/poem.txt\n", "\n+two\n", "+++ b/new\n"]);

    let kept = scene.run(&["task", "discard", &id]).await.exits(1);
    kept.complains(&["error: cannot discard it", "nowhere else", "with force"]);
    let applied = scene.run(&["task", "apply", &id]).await.exits(0);
    applied.prints(&["2 files were changed in", "not committed", "poem.txt", "new"]);
    assert_eq!(fs::read_to_string(work.join("poem.txt")).unwrap(), "one\ntwo\n");
    scene.run(&["task", "apply", &id]).await.exits(0).prints(&["already applied"]);

    scene.run(&["task", "discard", &id, "--force"]).await.exits(0).prints(&[&branch]);
    assert_eq!(git(&work, &["branch", "--list", "talaria/*"]), "");
    assert_eq!(fs::read_to_string(work.join("poem.txt")).unwrap(), "one\ntwo\n");
    scene.run(&["task", "show", &id]).await.exits(0).prints(&["discarded", "There is a second line."]);
    scene.close().await;
}

async fn a_checkout_that_cannot_be_copied_safely_is_a_choice(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let begin = [&["task", "start"], &WRITING[..], &["go"]].concat();
    // The scene may itself lie in a repository.
    let outside = tempfile::tempdir().unwrap();
    let no_git =
        scene.run(&[&begin[..], &["--cwd", outside.path().to_str().unwrap()]].concat()).await.exits(1);
    no_git.complains(&["error: cannot start the task", "not in a git repository", "hint: "]);

    let work = repository(&scene);
    fs::write(work.join("poem.txt"), "mine\n").unwrap();
    let dirty = scene.run(&begin).await.exits(1);
    dirty.complains(&["uncommitted changes: ", "poem.txt", "hint: ", "--worktree=leave", "--worktree=copy"]);
    assert_eq!(scene.run(&["task", "list", "--json"]).await.exits(0).json().len(), 0);

    scene.model.push(Reply::new().command("cat poem.txt"));
    scene.model.push(Reply::say("read"));
    let copy = [&["--worktree=copy"], &WRITING[1..], &["read it"]].concat();
    start(&scene, &copy).await;
    rest(&scene).await;
    let outputs = scene.model.requests().pop().unwrap().tool_outputs();
    assert!(outputs.concat().contains("mine"), "{outputs:?}");
    assert_eq!(fs::read_to_string(work.join("poem.txt")).unwrap(), "mine\n");
    scene.close().await;
}
