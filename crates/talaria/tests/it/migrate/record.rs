//! The record of a migration, when it is lost or the file has moved.

use std::fs;
use std::os::unix::fs::symlink;

use super::{accepting, codex_file, codex_text, configure_more};
use crate::scene::Scene;

fn lose_the_record(scene: &Scene) {
    fs::remove_dir_all(scene.home().join("migrations")).unwrap();
}

/// A scene that was migrated once, with the text from before.
async fn migrated() -> (Scene, String) {
    let scene = accepting().await;
    configure_more(&scene, "[mcp_servers.one]\ncommand = \"one\"\n");
    let before = codex_text(&scene);
    scene.run(&["migrate", "--yes"]).await.exits(0);
    (scene, before)
}

#[tokio::test]
async fn without_its_record_a_migration_takes_over_what_it_wants_and_undo_gives_the_text_without_it() {
    for another in ["", "[mcp_servers.two]\ncommand = \"two\"\n"] {
        let (scene, before) = migrated().await;
        lose_the_record(&scene);
        configure_more(&scene, another);
        scene.run(&["migrate", "--yes"]).await.exits(0).prints(&["migrated  server one\n"]);
        scene
            .run(&["migrate", "--undo", "--yes"])
            .await
            .exits(0)
            .prints(&["as it was before, byte for byte"]);
        assert_eq!(codex_text(&scene), before, "{another}");
        scene.close().await;
    }
}

#[tokio::test]
async fn only_looking_writes_nothing_down() {
    let (scene, _) = migrated().await;
    lose_the_record(&scene);
    scene.run(&["migrate", "--dry-run"]).await.exits(0).prints(&["nothing to change"]);
    assert!(!scene.home().join("migrations").exists());
    scene.close().await;
}

#[tokio::test]
async fn without_its_record_undo_says_that_there_is_none() {
    let (scene, _) = migrated().await;
    lose_the_record(&scene);
    let written = codex_text(&scene);
    let ended = scene.run(&["migrate", "--undo", "--yes"]).await.exits(0);
    ended.prints(&["nothing to undo; this home has no record of the entries between the talaria lines"]);
    assert_eq!(codex_text(&scene), written);
    scene.close().await;
}

#[tokio::test]
async fn a_file_that_became_a_link_is_still_known() {
    for is_migrated_again in [false, true] {
        let (scene, before) = migrated().await;
        let dotfile = scene.codex_home.root().join("dotfiles.toml");
        fs::rename(codex_file(&scene), &dotfile).unwrap();
        symlink(&dotfile, codex_file(&scene)).unwrap();
        if is_migrated_again {
            configure_more(&scene, "[mcp_servers.two]\ncommand = \"two\"\n");
            scene.run(&["migrate", "--yes"]).await.exits(0);
        }
        scene
            .run(&["migrate", "--undo", "--yes"])
            .await
            .exits(0)
            .prints(&["as it was before, byte for byte"]);
        assert_eq!(fs::read_to_string(&dotfile).unwrap(), before);
        scene.close().await;
    }
}

#[tokio::test]
async fn a_link_to_quite_another_file_leaves_the_record_of_the_first_alone() {
    let (scene, before) = migrated().await;
    let aside = scene.codex_home.root().join("aside.toml");
    fs::rename(codex_file(&scene), &aside).unwrap();
    let another = scene.codex_home.root().join("another.toml");
    fs::write(&another, "model = \"m\"\n").unwrap();
    symlink(&another, codex_file(&scene)).unwrap();
    scene.run(&["migrate", "--undo", "--yes"]).await.exits(0).prints(&["nothing to undo"]);
    fs::rename(&aside, codex_file(&scene)).unwrap();
    scene.run(&["migrate", "--undo", "--yes"]).await.exits(0).prints(&["as it was before, byte for byte"]);
    assert_eq!(codex_text(&scene), before);
    scene.close().await;
}
