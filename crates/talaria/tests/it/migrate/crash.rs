//! Killed anywhere, a migration leaves the old file or the new one, and the next run ends well.

use std::fs;

use talaria_testkit::FaultPoints;
use talaria_testkit::fault_points::VARIABLE;

use super::{accepting, codex_file, codex_text, configure_more};
use crate::scene::{Scene, names};

const MIGRATE: &[&str] = &["migrate", "--yes"];
const UNDO: &[&str] = &["migrate", "--undo", "--yes"];

/// State before the run that is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    AnotherMigration,
    ThisMigration,
}

struct Stage {
    scene: Scene,
    points: FaultPoints,
    /// Codex's file before Talaria ever touched it.
    original: String,
}

impl Stage {
    async fn new() -> Self {
        let mut scene = accepting().await;
        configure_more(&scene, "[mcp_servers.one]\ncommand = \"one\"\n");
        let points = FaultPoints::listen(&scene.codex_home.root().join("points"));
        scene.set(VARIABLE, points.socket());
        let original = codex_text(&scene);
        Self { scene, points, original }
    }

    /// Makes the state before the run; returns Codex's file.
    async fn prepare(&self, before: Before) -> String {
        let _ = fs::remove_dir_all(self.scene.home().join("migrations"));
        fs::write(codex_file(&self.scene), &self.original).unwrap();
        match before {
            Before::Nothing => {}
            Before::AnotherMigration => {
                self.scene.run(&["migrate", "--yes", "--no-tools"]).await.exits(0);
            }
            Before::ThisMigration => {
                self.scene.run(MIGRATE).await.exits(0);
            }
        }
        self.points.passed();
        codex_text(&self.scene)
    }

    /// Nothing but what belongs there is in the two homes.
    fn check_tidy(&self, at: &str) {
        assert_eq!(names(&self.scene.codex_home.path()), ["config.toml"], "{at}");
        let room = self.scene.home().join("migrations");
        for key in names(&room) {
            assert!(!key.starts_with('.'), "{at}: {key} is left");
            let kept = names(&room.join(&key));
            assert!(kept.iter().all(|name| !name.starts_with('.')), "{at}: {kept:?}");
        }
    }
}

/// Kills the run at each point that it passes, in turn.
async fn kill_everywhere(before: Before, arguments: &[&str]) {
    let stage = Stage::new().await;
    let old = stage.prepare(before).await;
    stage.scene.run(arguments).await.exits(0);
    let (passed, new) = (stage.points.passed(), codex_text(&stage.scene));
    assert!(passed.iter().any(|point| point == "after:file-renamed"), "{passed:?}");
    for (skip, at) in passed.iter().enumerate() {
        assert_eq!(stage.prepare(before).await, old);
        let mut trap = stage.points.trap("*", skip);
        let running = stage.scene.start(arguments);
        let held = trap.reached().await.unwrap();
        running.kill().await;
        drop(held);
        let left = codex_text(&stage.scene);
        assert!(left == old || left == new, "{at}: neither the old nor the new file\n{left}");
        stage.scene.run(arguments).await.exits(0);
        assert_eq!(codex_text(&stage.scene), new, "{at}: the next run does the work");
        stage.check_tidy(at);
        stage.scene.run(UNDO).await.exits(0);
        assert_eq!(codex_text(&stage.scene), stage.original, "{at}: the way back");
    }
    stage.scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_migration_may_be_killed_anywhere() {
    kill_everywhere(Before::Nothing, MIGRATE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_further_migration_may_be_killed_anywhere() {
    kill_everywhere(Before::AnotherMigration, MIGRATE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_undo_may_be_killed_anywhere() {
    kill_everywhere(Before::ThisMigration, UNDO).await;
}
