//! Files as people have them: linked, read-only, broken, huge, missing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::{accepting, codex_file, codex_text, configure_more};
use crate::scene::{Scene, names};

#[tokio::test]
async fn without_a_terminal_and_without_yes_the_diff_is_shown_and_nothing_changed() {
    let scene = accepting().await;
    configure_more(&scene, "[mcp_servers.one]\ncommand = \"one\"\n");
    let before = codex_text(&scene);
    let looked = scene.run(&["migrate", "--dry-run"]).await.exits(0);
    let shown = ["+[mcp_servers.one]\n", "to write  server one\n", "config.toml: nothing was changed"];
    looked.prints(&shown);
    scene.run(&["migrate"]).await.exits(2).prints(&shown).prints(&["run it again with --yes"]);
    let ended = scene.run(&["migrate", "--json"]).await.exits(2);
    let last = ended.json().pop().unwrap();
    assert_eq!((last["outcome"].as_str(), last["exit"].as_i64()), (Some("not_confirmed"), Some(2)));
    assert!(ended.json().iter().all(|line| line["status"] != "migrated"), "{ended}");
    assert_eq!(codex_text(&scene), before);
    assert_eq!(names(&scene.home().join("migrations")), [""; 0]);
    scene.close().await;
}

#[tokio::test]
async fn at_a_terminal_a_person_is_asked_and_everything_but_yes_is_no() {
    let scene = accepting().await;
    configure_more(&scene, "[mcp_servers.one]\ncommand = \"one\"\n");
    let before = codex_text(&scene);
    for (keys, code) in [("\n", 2), ("n\n", 2), ("\u{3}", 4), ("\u{4}", 2)] {
        let mut terminal = scene.terminal(&["migrate"]);
        terminal.wait_for("Write this to Codex's configuration? [y/N] ").await;
        terminal.type_keys(keys).await;
        terminal.wait_for("nothing was changed").await;
        assert_eq!(terminal.exit_code().await, Some(code), "{keys:?}: {}", terminal.transcript());
        assert_eq!(codex_text(&scene), before, "{keys:?}");
    }
    let mut terminal = scene.colour_terminal(&["migrate"]);
    terminal.wait_for("[y/N] ").await;
    terminal.type_keys("y\n").await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.transcript());
    assert!(String::from_utf8_lossy(&terminal.raw()).contains("\u{1b}[32m+[mcp_servers.one]\u{1b}[0m"));
    assert!(codex_text(&scene).contains("[mcp_servers.one]"));
    scene.close().await;
}

#[tokio::test]
async fn without_codex_a_change_can_be_looked_at_but_not_made() {
    let mut scene = Scene::empty().await;
    scene.only_programs(&[]);
    let before = codex_text(&scene);
    scene.run(&["migrate", "--dry-run"]).await.exits(0).prints(&[
        "+[mcp_servers.talaria-tools]\n",
        "warning: not checked by Codex: cannot use Codex: codex was not found",
    ]);
    let ended = scene.run(&["migrate", "--yes"]).await.exits(6);
    ended.complains(&["error: cannot use Codex\n", "hint: run talaria setup"]);
    assert_eq!(codex_text(&scene), before);
    scene.close().await;
}

#[tokio::test]
async fn a_linked_dotfile_stays_a_link_and_a_mode_stays_a_mode() {
    let scene = accepting().await;
    let dotfile = scene.codex_home.root().join("dotfiles.toml");
    fs::rename(codex_file(&scene), &dotfile).unwrap();
    symlink(&dotfile, codex_file(&scene)).unwrap();
    fs::set_permissions(&dotfile, fs::Permissions::from_mode(0o640)).unwrap();
    let before = codex_text(&scene);
    let holds = |scene: &Scene| {
        assert_eq!(fs::read_link(codex_file(scene)).unwrap(), dotfile);
        assert_eq!(fs::metadata(&dotfile).unwrap().permissions().mode() & 0o777, 0o640);
    };
    scene.run(&["migrate", "--yes"]).await.exits(0);
    holds(&scene);
    assert!(fs::read_to_string(&dotfile).unwrap().contains("talaria-tools"));
    scene.run(&["migrate", "--undo", "--yes"]).await.exits(0);
    holds(&scene);
    assert_eq!(codex_text(&scene), before);
    scene.close().await;
}

#[tokio::test]
async fn what_is_remembered_is_for_its_owner_alone() {
    let scene = accepting().await;
    scene.run(&["migrate", "--yes"]).await.exits(0);
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    let room = scene.home().join("migrations");
    assert_eq!(mode(&room), 0o700);
    for key in names(&room) {
        assert_eq!(mode(&room.join(&key)), 0o700);
        let files = names(&room.join(&key));
        assert_eq!(files.len(), 2, "a record and a backup: {files:?}");
        for file in files {
            assert_eq!(mode(&room.join(&key).join(&file)), 0o600, "{file}");
        }
    }
    scene.close().await;
}

/// Runs a migration of a file that cannot be edited; returns what is reported.
async fn refused(scene: &Scene, code: i32) -> String {
    let ended = scene.run(&["migrate", "--yes"]).await.exits(code);
    assert!(ended.stderr.contains("error: ") && ended.stderr.contains("hint: "), "{ended}");
    assert_eq!(names(&scene.home().join("migrations")), [""; 0], "nothing is remembered");
    ended.stderr
}

#[tokio::test]
async fn a_file_that_cannot_be_edited_is_named_and_left_as_it_is() {
    let scene = accepting().await;
    let file = codex_file(&scene);
    let named = file.canonicalize().unwrap().display().to_string();

    fs::write(&file, "model = \"m\"\n[features\n").unwrap();
    let told = refused(&scene, 2).await;
    assert!(told.contains(&format!("cause: {named}: line 2, column 10: ")), "{told}");
    assert_eq!(codex_text(&scene), "model = \"m\"\n[features\n");

    fs::write(&file, "mcp_servers = { own = { command = \"x\" } }\n").unwrap();
    let told = refused(&scene, 2).await;
    assert!(told.contains(&format!("cause: {named}: line 1")), "{told}");

    fs::write(&file, b"a = \"\xff\"\n").unwrap();
    let told = refused(&scene, 1).await;
    assert!(told.contains(&format!("cannot read {named}: line 1 is not UTF-8")), "{told}");

    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let told = refused(&scene, 1).await;
    assert!(told.contains(&format!("cannot read {named}: it is a directory")), "{told}");
    scene.close().await;
}

#[tokio::test]
async fn talarias_own_broken_file_changes_nothing() {
    let scene = accepting().await;
    let before = codex_text(&scene);
    configure_more(&scene, "[mcp_servers.one\n");
    let told = refused(&scene, 2).await;
    let file = scene.home().join("config.toml").display().to_string();
    assert!(told.contains(&file) && told.contains("line ") && told.contains("column "), "{told}");
    assert_eq!(codex_text(&scene), before);
    scene.close().await;
}

#[tokio::test]
async fn a_server_that_cannot_be_said_is_an_error_and_the_others_are_written() {
    let scene = accepting().await;
    configure_more(
        &scene,
        "[mcp_servers.one]\ncommand = \"one\"\nsampling = {}\n[mcp_servers.bad]\ncommand = 3\n",
    );
    let ended = scene.run(&["migrate", "--yes", "--json"]).await.exits(1);
    let lines = ended.json();
    let server = |name: &str| lines.iter().find(|line| line["name"] == name).unwrap().clone();
    assert_eq!(server("one")["status"], "migrated");
    assert_eq!(server("one")["skipped"][0]["key"], "sampling");
    assert_eq!(server("bad")["status"], "error");
    assert!(server("bad")["why"].as_str().unwrap().contains("command"), "{ended}");
    assert!(codex_text(&scene).contains("[mcp_servers.one]") && !codex_text(&scene).contains("bad"));
    scene.close().await;
}

#[tokio::test]
async fn a_codex_home_that_does_not_exist_is_named_and_not_made() {
    let scene = accepting().await;
    let missing = scene.codex_home.root().join("nowhere");
    let ended = scene.run(&["migrate", "--yes", "--codex-home", missing.to_str().unwrap()]).await.exits(2);
    ended.complains(&[&format!("cause: {} does not exist\nhint: ", missing.display())]);
    assert!(!missing.exists());
    scene.close().await;
}

#[tokio::test]
async fn a_dangling_link_is_a_file_to_come() {
    let scene = accepting().await;
    let dotfile = scene.codex_home.root().join("dotfiles.toml");
    fs::remove_file(codex_file(&scene)).unwrap();
    symlink(&dotfile, codex_file(&scene)).unwrap();
    scene.run(&["migrate", "--yes"]).await.exits(0);
    assert!(fs::read_to_string(&dotfile).unwrap().contains("talaria-tools"));
    assert_eq!(fs::read_link(codex_file(&scene)).unwrap(), dotfile);
    scene.run(&["migrate", "--undo", "--yes"]).await.exits(0);
    assert!(!dotfile.exists());
    assert_eq!(fs::read_link(codex_file(&scene)).unwrap(), dotfile);
    scene.close().await;
}

#[tokio::test]
async fn a_read_only_file_stays_as_it_is() {
    let scene = accepting().await;
    let before = codex_text(&scene);
    fs::set_permissions(codex_file(&scene), fs::Permissions::from_mode(0o444)).unwrap();
    let ended = scene.run(&["migrate", "--yes"]).await.exits(1);
    ended.complains(&["it is read-only\nhint: "]);
    assert_eq!(codex_text(&scene), before);
    // The way back of a change that was not made is no way back.
    fs::set_permissions(codex_file(&scene), fs::Permissions::from_mode(0o644)).unwrap();
    scene.run(&["migrate", "--undo", "--yes"]).await.exits(0).prints(&["nothing to undo"]);
    assert_eq!(codex_text(&scene), before);
    scene.close().await;
}

#[tokio::test]
async fn ten_megabytes_are_edited_like_any_file() {
    let scene = accepting().await;
    let mut text = String::from("model = \"m\"\n");
    let words = "many words ".repeat(60);
    let mut n = 0;
    while text.len() < 10_000_000 {
        n += 1;
        text += &format!("# {words}\n[projects.\"/p/{n}\"]\ntrust_level = \"trusted\"\n");
    }
    fs::write(codex_file(&scene), &text).unwrap();
    let ended = scene.run(&["migrate", "--yes", "--json"]).await.exits(0);
    assert!(ended.stdout.len() < 10_000, "only what changes is shown");
    assert!(codex_text(&scene).contains("talaria-tools"));
    scene.run(&["migrate", "--undo", "--yes"]).await.exits(0);
    assert!(codex_text(&scene) == text);
    scene.close().await;
}
