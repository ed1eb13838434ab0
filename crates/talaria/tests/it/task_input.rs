//! Bad input to tasks: each mistake has its exit code, its cause and a next step, and nothing was started for it.

use std::fs;

use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::scene::{Scene, both_versions};
use crate::tasks::{shown, start};

both_versions!(
    newest:
    a_prompt_of_a_megabyte_is_taken,
    what_does_not_fit_together_starts_nothing,
);

async fn a_prompt_of_a_megabyte_is_taken(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::say("read"));
    let prompt = "word ".repeat(200_000);
    let ended = scene.run_with_input(&["task", "start", "--wait", "-"], prompt.as_bytes()).await.exits(0);
    assert_eq!(ended.stdout, "read\n");
    assert!(scene.model.requests()[0].prompt() == prompt, "the prompt came whole");
    let listed = scene.run(&["task", "list"]).await.exits(0);
    assert!(listed.stdout.lines().all(|line| line.chars().count() < 250), "{listed}");
    scene.close().await;
}

async fn what_does_not_fit_together_starts_nothing(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let file = scene.work().join("file");
    fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    let refused: [(&[&str], &[&str]); 8] = [
        (&[""], &["error: the prompt is empty", "hint: "]),
        (&[" \n"], &["error: the prompt is empty"]),
        (&["--cwd", "/nowhere/at/all", "go"], &["error: cannot work in /nowhere/at/all", "hint: ", "--cwd"]),
        (&["--cwd", file, "go"], &["cause: it is not a directory"]),
        (&["--writable-root", "/nowhere", "go"], &["cannot let the task write in /nowhere", "hint: "]),
        (&["--worktree", "go"], &["error: cannot start the task", "read-only", "hint: "]),
        (&["--network", "go"], &["error: cannot start the task", "read-only", "hint: "]),
        (&["--notify", "pigeon:post", "go"], &["error: cannot start the task", "no such target", "webhook:"]),
    ];
    for (options, words) in refused {
        let ended = scene.run(&[&["task", "start"], options].concat()).await.exits(2);
        assert_eq!(ended.stdout, "", "{options:?}");
        ended.complains(words);
    }
    // An invalid value is refused before anything is read.
    for options in [
        ["--sandbox", "danger-full-access"],
        ["--approval", "never"],
        ["--deadline", "soon"],
        ["--deadline", "0"],
        ["--worktree=perhaps", "--json"],
    ] {
        scene.run(&[&["task", "start"], &options[..], &["go"]].concat()).await.exits(2);
    }
    for arguments in [&["task", "list", "--limit", "0"][..], &["task", "list", "--limit", "10001"]] {
        scene.run(arguments).await.exits(2);
    }
    assert_eq!(scene.run(&["task", "list", "--json"]).await.exits(0).json().len(), 0);

    scene.model.push(Reply::say("Done."));
    let id = start(&scene, &["go"]).await;
    crate::tasks::rest(&scene).await;
    for action in [&["apply"][..], &["discard"], &["discard", "--force"], &["show", "--diff"]] {
        let ended = scene.run(&[&["task"], action, &[&id]].concat()).await;
        assert_eq!((ended.code == Some(0), ended.stdout.as_str()), (false, ""), "{action:?}: {ended}");
        ended.complains(&["error: cannot ", "cause: ", "worktree"]);
    }
    for action in ["steer", "send"] {
        scene.run(&["task", action, &id, ""]).await.exits(2).complains(&["error: the prompt is empty"]);
    }
    assert_eq!(shown(&scene, &id).await["turns"], 1);
    scene.close().await;
}

#[tokio::test]
async fn an_unknown_task_is_told_with_the_way_to_the_list() {
    let scene = Scene::empty().await;
    for arguments in [
        &["show", "zz"][..],
        &["show", "zz", "--diff"],
        &["show", "zz", "--json"],
        &["watch", "zz"],
        &["watch", "zz", "--json"],
        &["steer", "zz", "more"],
        &["interrupt", "zz"],
        &["apply", "zz"],
        &["discard", "zz"],
        &["show", "\u{1b}[2J"],
        &["show", "../../etc"],
    ] {
        let ended = scene.run(&[&["task"], arguments].concat()).await.exits(2);
        assert_eq!(ended.stdout, "", "{arguments:?}");
        assert!(!ended.stderr.contains('\u{1b}'), "{ended:?}");
        ended.complains(&["error: cannot ", "cause: ", "hint: ", "list"]);
    }
    scene.close().await;
}

/// `send` looks for Codex first: without one there is nothing to continue with.
#[tokio::test]
async fn without_codex_no_task_is_started() {
    let mut scene = Scene::empty().await;
    scene.only_programs(&[]);
    let ended = scene.run(&["task", "start", "go"]).await.exits(6);
    ended
        .complains(&["error: cannot start the task\ncause: cannot use Codex: codex was not found", "hint: "]);
    scene.run(&["task", "list"]).await.exits(0).prints(&["no tasks"]);
    scene.close().await;
}
