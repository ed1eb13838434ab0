//! Several at once: other Talarias, and editors that know of no lock.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use talaria_testkit::FaultPoints;
use talaria_testkit::fault_points::VARIABLE;

use super::{accepting, codex_file, codex_text, configure_more};
use crate::scene::Scene;

/// How often two meet.
const ROUNDS: usize = 6;

/// A second Talaria home, with the same Codex and its own server.
fn second_home(scene: &Scene, server: &str) -> PathBuf {
    let home = scene.codex_home.root().join("second");
    fs::create_dir_all(&home).unwrap();
    let config = fs::read_to_string(scene.home().join("config.toml")).unwrap();
    let (codex, _) = config.split_once("[mcp_servers").unwrap();
    fs::write(home.join("config.toml"), format!("{codex}[mcp_servers.{server}]\ncommand = \"{server}\"\n"))
        .unwrap();
    home
}

/// Reads the file all the time until it is dropped; every text must be one that Codex could read.
struct Reader {
    stop: Arc<AtomicBool>,
    seen: Arc<AtomicUsize>,
    thread: Option<std::thread::JoinHandle<Result<(), String>>>,
}

impl Reader {
    fn start(file: PathBuf) -> Self {
        let (stop, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&seen));
        let thread = std::thread::spawn(move || {
            let mut last = String::new();
            while !stopped.load(Ordering::Relaxed) {
                let text = fs::read_to_string(&file).map_err(|error| format!("cannot be read: {error}"))?;
                text.parse::<toml_edit::DocumentMut>().map_err(|error| format!("{error}\n{text}"))?;
                if !text.contains("model = ") {
                    return Err(format!("half of it is gone:\n{text}"));
                }
                if text != last {
                    count.fetch_add(1, Ordering::Relaxed);
                    last = text;
                }
            }
            Ok(())
        });
        Self { stop, seen, thread: Some(thread) }
    }

    /// Stops; returns how many different texts it saw.
    fn end(mut self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap().unwrap();
        self.seen.load(Ordering::Relaxed)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_homes_migrate_at_once_and_neither_loses_the_others_servers() {
    let scene = accepting().await;
    configure_more(&scene, "[mcp_servers.one]\ncommand = \"one\"\n");
    let second = second_home(&scene, "two");
    let original = codex_text(&scene);
    let reader = Reader::start(codex_file(&scene));
    let other = |arguments: &[&str]| {
        let mut command = scene.command(arguments);
        command.env("TALARIA_HOME", &second);
        crate::scene::Running::from(command.spawn().unwrap())
    };
    for round in 0..ROUNDS {
        let (here, there) = (scene.start(&["migrate", "--yes"]), other(&["migrate", "--yes"]));
        let (here, there) = tokio::join!(here.end(), there.end());
        here.exits(0);
        there.exits(0);
        let text = codex_text(&scene);
        assert!(text.contains("[mcp_servers.one]") && text.contains("[mcp_servers.two]"), "{text}");
        // One after the other, and both at once.
        if round % 2 == 0 {
            scene.run(&["migrate", "--undo", "--yes"]).await.exits(0);
            let text = codex_text(&scene);
            assert!(!text.contains("[mcp_servers.one]") && text.contains("[mcp_servers.two]"), "{text}");
            other(&["migrate", "--undo", "--yes"]).end().await.exits(0);
        } else {
            let (here, there) =
                (scene.start(&["migrate", "--undo", "--yes"]), other(&["migrate", "--undo", "--yes"]));
            let (here, there) = tokio::join!(here.end(), there.end());
            here.exits(0);
            there.exits(0);
        }
        let text = codex_text(&scene);
        assert!(!text.contains("[mcp_servers."), "{text}");
        assert_eq!(text, original);
    }
    assert!(reader.end() > ROUNDS, "the reader saw the file change");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_home_migrates_twice_at_once_and_once_is_enough() {
    let scene = accepting().await;
    configure_more(&scene, "[mcp_servers.one]\ncommand = \"one\"\n");
    let original = codex_text(&scene);
    let reader = Reader::start(codex_file(&scene));
    for _ in 0..ROUNDS {
        let runs = [scene.start(&["migrate", "--yes"]), scene.start(&["migrate", "--yes"])];
        for run in runs {
            run.end().await.exits(0);
        }
        assert_eq!(codex_text(&scene).matches("[mcp_servers.one]").count(), 1);
        scene.run(&["migrate", "--undo", "--yes"]).await.exits(0).prints(&["byte for byte"]);
        assert_eq!(codex_text(&scene), original);
    }
    reader.end();
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_editor_writes_in_between_is_kept() {
    let mut scene = accepting().await;
    configure_more(&scene, "[mcp_servers.one]\ncommand = \"one\"\n");
    let original = codex_text(&scene);
    let points = FaultPoints::listen(&scene.codex_home.root().join("points"));
    scene.set(VARIABLE, points.socket());
    // Between the diff and the lock, and while we hold the lock, which no editor knows of.
    for point in ["migrate-checking", "migrate-planned"] {
        fs::write(codex_file(&scene), &original).unwrap();
        let mut trap = points.trap(point, 0);
        let running = scene.start(&["migrate", "--yes"]);
        let held = trap.reached().await.unwrap();
        let edited = format!("# {point}\n{original}");
        fs::write(codex_file(&scene), &edited).unwrap();
        drop(held);
        let ended = running.end().await.exits(0);
        ended.complains(&["note: the file was changed meanwhile; this is what was done instead:"]);
        let text = codex_text(&scene);
        assert!(text.starts_with(&format!("# {point}\n")) && text.contains("[mcp_servers.one]"), "{text}");
        scene.run(&["migrate", "--undo", "--yes"]).await.exits(0);
        assert_eq!(codex_text(&scene), edited, "{point}");
    }
    scene.close().await;
}
