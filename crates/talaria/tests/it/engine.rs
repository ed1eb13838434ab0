//! The engine of the commands: when it is started, what is reported about it, and how it ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use rustix::process::{Signal, kill_process};

use crate::scene::{Scene, names};

/// Where the engine of the scene listens.
fn socket(scene: &Scene) -> PathBuf {
    scene.home().join("run/engine.sock")
}

#[tokio::test]
async fn commands_that_only_look_start_no_engine() {
    let mut scene = Scene::empty().await;
    scene.only_programs(&[]);
    for arguments in [
        &["status"][..],
        &["status", "--json"],
        &["stop"],
        &["doctor"],
        &["--help"],
        &["service", "show"],
        &["config", "get"],
        &["config", "path"],
        &["config", "check"],
        &["codex-runtime"],
    ] {
        scene.run(arguments).await;
        assert_eq!(names(&scene.home()), [""; 0], "{arguments:?} left something");
    }
    let ended = scene.run(&["status"]).await.exits(0);
    assert_eq!(ended.stdout, "no engine is running; `talaria exec` starts one\n");
    let status = scene.status().await;
    for field in ["engine", "hosts", "turns", "background", "requests", "tasks", "limits", "notes"] {
        assert_eq!(status.get(field), Some(&serde_json::Value::Null), "{field}: not known is not none");
    }
    assert_eq!(status["left"], serde_json::json!([]), "that is known");
    scene.run(&["stop"]).await.exits(0).prints(&["no engine is running"]);
    scene.close().await;
}

#[tokio::test]
async fn the_first_command_starts_the_engine_and_stop_ends_it() {
    let scene = Scene::empty().await;
    scene.run(&["sessions", "list"]).await.exits(0).prints(&["no conversations; "]);
    let pid = scene.engine_pid().await.unwrap();
    scene.run(&["requests", "list"]).await.exits(0).prints(&["no open requests"]);
    assert_eq!(scene.engine_pid().await, Some(pid), "one engine serves all");
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(socket(&scene)), mode(scene.home().join("run"))), (0o600, 0o700));
    let said = format!("the engine (process {}) has ended", pid.as_raw_nonzero());
    scene.run(&["stop"]).await.exits(0).prints(&[&said]);
    assert_eq!(scene.engine_pid().await, None);
    assert!(!socket(&scene).exists());
    scene.close().await;
}

#[tokio::test]
async fn an_engine_in_the_foreground_says_so_and_ends_with_a_signal() {
    for signal in [Signal::INT, Signal::TERM] {
        let scene = Scene::empty().await;
        let running = scene.start(&["serve"]);
        let status = scene.wait_status(|status| !status["engine"].is_null()).await;
        assert_eq!(status["engine"]["pid"], i64::from(running.pid().as_raw_nonzero().get()));
        kill_process(running.pid(), signal).unwrap();
        running.end().await.exits(0).complains(&["Ctrl-C ends it"]);
        assert!(!socket(&scene).exists());
        scene.close().await;
    }
}

#[tokio::test]
async fn a_second_engine_on_one_home_is_refused() {
    let scene = Scene::empty().await;
    scene.run(&["sessions", "list"]).await.exits(0);
    let pid = scene.engine_pid().await;
    let ended = scene.run(&["serve"]).await;
    assert!(!matches!(ended.code, Some(0) | None), "{ended}");
    ended.complains(&["error: cannot start the engine", "another engine", "talaria stop"]);
    assert_eq!(scene.engine_pid().await, pid, "the first one goes on");
    scene.close().await;
}

#[tokio::test]
async fn an_engine_that_was_killed_is_replaced_by_the_next_command() {
    let scene = Scene::empty().await;
    scene.run(&["sessions", "list"]).await.exits(0);
    let first = scene.engine_pid().await.unwrap();
    kill_process(first, Signal::KILL).unwrap();
    scene.wait_status(|status| status["engine"].is_null()).await;
    assert!(socket(&scene).exists(), "the socket file is stale now");
    scene.run(&["sessions", "list"]).await.exits(0);
    assert_ne!(scene.engine_pid().await.unwrap(), first);
    scene.close().await;
}

#[tokio::test]
async fn a_file_in_the_place_of_the_socket_is_named_and_left_alone() {
    let scene = Scene::empty().await;
    fs::create_dir(scene.home().join("run")).unwrap();
    fs::write(socket(&scene), "mine").unwrap();
    let ended = scene.run(&["sessions", "list"]).await.exits(1);
    ended.complains(&["error: cannot start the engine", "engine.sock"]);
    assert_eq!(fs::read_to_string(socket(&scene)).unwrap(), "mine");
    fs::remove_file(socket(&scene)).unwrap();
    scene.close().await;
}

#[tokio::test]
async fn a_socket_that_nobody_listens_on_is_replaced() {
    let scene = Scene::empty().await;
    fs::create_dir(scene.home().join("run")).unwrap();
    drop(UnixListener::bind(socket(&scene)).unwrap());
    assert!(socket(&scene).exists());
    scene.run(&["status"]).await.exits(0).prints(&["no engine is running"]);
    scene.run(&["sessions", "list"]).await.exits(0);
    assert!(scene.engine_pid().await.is_some());
    scene.close().await;
}

#[tokio::test]
async fn a_home_that_cannot_be_written_is_told() {
    let mut scene = Scene::empty().await;
    scene.set("TALARIA_HOME", "/proc/talaria");
    let ended = scene.run(&["sessions", "list"]).await.exits(1);
    ended.complains(&[
        "error: cannot start the engine",
        "cause: cannot create /proc/talaria",
        "hint: set TALARIA_HOME",
    ]);
    scene.close().await;
}
