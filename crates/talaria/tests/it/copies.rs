//! A copied home leaves the original alone and says that it is a copy; a home that was moved or restored is adopted.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Signal, kill_process};
use serde_json::Value;
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::scene::{Ended, Running, Scene, both_versions, write_program};
use crate::survival::lane::{LOOK, is_alive};
use crate::task_worktree::repository;
use crate::tasks::{rest, start};

both_versions!(
    a_home_that_was_renamed_is_adopted_with_its_codex;
    newest:
    a_copy_of_a_home_in_use_touches_nothing_of_the_original,
);

/// A task that asks about every command, and may write where it works.
const WRITING: [&str; 4] = ["--sandbox", "workspace-write", "--approval", "untrusted"];

/// Runs the program on another home than that of the scene.
async fn at(scene: &Scene, home: &Path, arguments: &[&str]) -> Ended {
    let child = scene.command(arguments).env("TALARIA_HOME", home).spawn().unwrap();
    Running::from(child).end().await
}

/// What of a home a copy has.
const COPIES: [(&str, &[&str]); 3] = [
    ("whole", &["."]),
    ("backup", &["talaria.db", "talaria.db-wal", "talaria.db-shm", "key", "config.toml", "home.json"]),
    ("database", &["talaria.db", "talaria.db-wal", "key"]),
];

fn copy(home: &Path, to: &Path, parts: &[&str]) {
    fs::create_dir(to).unwrap();
    for part in parts {
        let copied =
            std::process::Command::new("cp").arg("-a").arg(home.join(part)).arg(to).output().unwrap();
        let said = String::from_utf8_lossy(&copied.stderr);
        // A socket that is gone by now is of no interest.
        assert!(copied.status.success() || said.contains("sock"), "{said}");
    }
}

fn told(scene: &Scene) -> Vec<String> {
    let text = fs::read_to_string(scene.work().join("told")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

async fn wait_told(scene: &Scene, count: usize) {
    while told(scene).len() < count {
        tokio::time::sleep(LOOK).await;
    }
}

async fn open_request(scene: &Scene) -> String {
    let status = scene.wait_status(|status| status["requests"].as_array().unwrap().len() == 1).await;
    status["requests"][0]["id"].as_str().unwrap().to_owned()
}

async fn a_copy_of_a_home_in_use_touches_nothing_of_the_original(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let tell = scene.work().join("tell");
    write_program(&tell, &format!("cat > /dev/null; echo told >> {}", scene.work().join("told").display()));
    scene.model.push(Reply::new().command("echo made >> note"));
    scene.model.push(Reply::say("Done."));
    let target = format!("command:{}", tell.display());
    let task = start(&scene, &[&WRITING[..], &["--notify", &target, "do it"]].concat()).await;
    let request = open_request(&scene).await;
    wait_told(&scene, 1).await;
    let (engine, host) = (scene.engine_pid().await.unwrap(), scene.codex_pid().await);
    let original = scene.home().canonicalize().unwrap();
    let words = format!("this home is a copy of {}", original.display());
    for (name, parts) in COPIES {
        let home = scene.codex_home.root().join(name);
        copy(&scene.home(), &home, parts);
        fs::copy(scene.home().join("config.toml"), home.join("config.toml")).unwrap();
        // Before an engine has been there the file says what it is; a database alone says it when it is opened.
        if name != "database" {
            at(&scene, &home, &["status"]).await.exits(0).prints(&[&words]);
            at(&scene, &home, &["stop"]).await.exits(0).prints(&[&words, "left alone"]);
            at(&scene, &home, &["doctor"]).await.prints(&["warning  copy "]);
        }
        let listed = at(&scene, &home, &["requests", "list"]).await.exits(0);
        listed.complains(&[&format!("note: {words}")]).prints(&["no open requests"]);
        let shown = at(&scene, &home, &["task", "show", &task, "--json"]).await.exits(0).json().remove(0);
        assert_eq!(shown["status"], "lost", "{shown}");
        let said = shown.to_string();
        assert!(said.contains("which continues this turn"), "{said}");
        let sent = at(&scene, &home, &["task", "send", &task, "go on"]).await.exits(1);
        sent.complains(&["may be working on this conversation", "TALARIA_HOME="]);
        at(&scene, &home, &["task", "notify"]).await.exits(0).prints(&["no pending notifications"]);
        at(&scene, &home, &["status"]).await.exits(0).prints(&["note      ", &words]);
        at(&scene, &home, &["stop"]).await.exits(0);
        // The second engine of the copy knows what it is, and does not say it with every command.
        let again = at(&scene, &home, &["sessions", "list"]).await.exits(0);
        assert!(!again.stderr.contains("copy"), "{again}");
        at(&scene, &home, &["stop"]).await.exits(0).prints(&["has ended"]);
        assert_eq!((scene.engine_pid().await, scene.codex_pid().await), (Some(engine), host), "{name}");
        assert!(is_alive(host.as_raw_nonzero().get()), "{name}");
        assert_eq!(told(&scene).len(), 1, "{name}: nobody is told by a copy");
    }
    scene.run(&["requests", "answer", &request, "accept"]).await.exits(0);
    wait_told(&scene, 2).await;
    let shown = scene.run(&["task", "show", &task, "--json"]).await.exits(0).json().remove(0);
    assert_eq!((&shown["status"], &shown["answer"]), (&"completed".into(), &"Done.".into()), "{shown}");
    assert_eq!(fs::read_to_string(scene.work().join("note")).unwrap(), "made\n");
    assert_eq!(scene.model.requests().len(), 2, "the model was asked for each step once");
    assert_eq!(told(&scene).len(), 2, "once for the question, once for the end");
    scene.close().await;
}

async fn a_home_that_was_renamed_is_adopted_with_its_codex(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().command("echo made >> note"));
    scene.model.push(Reply::say("Done."));
    let task = start(&scene, &[&WRITING[..], &["do it"]].concat()).await;
    let request = open_request(&scene).await;
    let (engine, host) = (scene.engine_pid().await.unwrap(), scene.codex_pid().await);
    kill_process(engine, Signal::KILL).unwrap();
    while is_alive(engine.as_raw_nonzero().get()) {
        tokio::time::sleep(LOOK).await;
    }
    let moved: PathBuf = scene.codex_home.root().join("moved");
    fs::rename(scene.home(), &moved).unwrap();
    let status = at(&scene, &moved, &["status", "--json"]).await.exits(0).json().remove(0);
    assert!(status["left"].as_array().unwrap().iter().any(|it| it["kind"] == "codex"), "{status}");
    let answered = at(&scene, &moved, &["requests", "answer", &request, "accept"]).await.exits(0);
    answered.complains(&["note: this home was moved here from "]);
    let shown = async {
        loop {
            let shown: Value =
                at(&scene, &moved, &["task", "show", &task, "--json"]).await.exits(0).json().remove(0);
            if shown["status"] != "working" && shown["status"] != "waiting_for_approval" {
                return shown;
            }
        }
    };
    let shown = shown.await;
    assert_eq!(shown["status"], "completed", "{shown}");
    let status = at(&scene, &moved, &["status", "--json"]).await.exits(0).json().remove(0);
    assert_eq!(status["hosts"][0]["pid"], host.as_raw_nonzero().get(), "the same Codex went on");
    at(&scene, &moved, &["stop"]).await.exits(0);
    scene.close().await;
}

#[tokio::test]
async fn a_copy_whose_original_does_not_run_is_adopted_and_says_so() {
    let scene = Scene::empty().await;
    scene.run(&["sessions", "list"]).await.exits(0);
    scene.run(&["stop"]).await.exits(0);
    let home = scene.codex_home.root().join("copy");
    copy(&scene.home(), &home, &["."]);
    let listed = at(&scene, &home, &["sessions", "list"]).await.exits(0);
    listed.complains(&["note: this home was copied from ", "where nothing runs", "do not use "]);
    at(&scene, &home, &["stop"]).await.exits(0);
    let gone = scene.codex_home.root().join("second");
    copy(&scene.home(), &gone, &["."]);
    fs::rename(scene.home(), scene.codex_home.root().join("third")).unwrap();
    let listed = at(&scene, &gone, &["sessions", "list"]).await.exits(0);
    listed.complains(&["note: this home was moved here from "]);
    at(&scene, &gone, &["stop"]).await.exits(0);
    scene.close().await;
}

#[tokio::test]
async fn a_copy_does_not_throw_away_the_worktree_of_the_original() {
    let scene = Scene::real(&Codex::v0_166()).await;
    repository(&scene);
    scene.model.push(Reply::say("Nothing to do."));
    let task = start(&scene, &[&WRITING[..], &["--worktree", "look around"]].concat()).await;
    rest(&scene).await;
    let worktree = scene.home().join("worktrees").join(&task);
    assert!(worktree.is_dir());
    let home = scene.codex_home.root().join("copy");
    copy(&scene.home(), &home, &["."]);
    let refused = at(&scene, &home, &["task", "discard", &task]).await.exits(1);
    refused.complains(&["this home is a copy, and the worktree belongs to ", "discard it there"]);
    assert!(worktree.is_dir());
    at(&scene, &home, &["stop"]).await.exits(0);
    scene.run(&["task", "discard", &task]).await.exits(0);
    assert!(!worktree.exists());
    scene.close().await;
}

#[tokio::test]
async fn what_an_adopted_copy_still_owes_is_marked_as_a_possible_repeat() {
    let scene = Scene::real(&Codex::v0_166()).await;
    scene.model.push(Reply::say("All is well."));
    let task = start(&scene, &["--notify", "command:/bin/false", "look around"]).await;
    let shown = async |home: &Path| {
        let shown = at(&scene, home, &["task", "show", &task, "--json"]).await.exits(0).json().remove(0);
        shown["notices"][0].clone()
    };
    while shown(&scene.home()).await["state"] != "failed" {
        tokio::time::sleep(LOOK).await;
    }
    assert_eq!(shown(&scene.home()).await["repeat"], false);
    scene.run(&["stop"]).await.exits(0);
    let home = scene.codex_home.root().join("copy");
    copy(&scene.home(), &home, &["."]);
    assert_eq!(shown(&home).await["repeat"], true, "the original may send it as well");
    at(&scene, &home, &["stop"]).await.exits(0);
    scene.close().await;
}
