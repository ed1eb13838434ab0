//! The way back.

use std::fs;

use super::{accepting, codex_file, codex_text, configure_more};
use crate::scene::{Scene, names};

const ONE: &str = "[mcp_servers.one]\ncommand = \"one\"\n";

/// A scene after a first migration, with the text from before it.
async fn migrated() -> (Scene, String) {
    let scene = accepting().await;
    configure_more(&scene, ONE);
    let before = codex_text(&scene);
    scene.run(&["migrate", "--yes"]).await.exits(0);
    (scene, before)
}

#[tokio::test]
async fn several_migrations_are_undone_at_once_byte_for_byte() {
    let (scene, before) = migrated().await;
    configure_more(&scene, "[mcp_servers.two]\ncommand = \"two\"\n");
    scene.run(&["migrate", "--yes"]).await.exits(0).prints(&["migrated  server two\n"]);
    scene.run(&["migrate", "--yes"]).await.exits(0).prints(&["nothing to change"]);
    scene
        .run(&["migrate", "--undo"])
        .await
        .exits(2)
        .prints(&["-[mcp_servers.two]", "run it again with --yes"]);
    scene.run(&["migrate", "--undo", "--dry-run"]).await.exits(0).prints(&["nothing was changed"]);
    assert!(codex_text(&scene).contains("[mcp_servers.two]"));
    scene.run(&["migrate", "--undo", "--yes"]).await.exits(0).prints(&["as it was before, byte for byte"]);
    assert_eq!(codex_text(&scene), before);
    let again = scene.run(&["migrate", "--undo", "--yes", "--json"]).await.exits(0);
    assert_eq!(again.json()[0]["outcome"], "nothing_to_undo");
    assert_eq!(codex_text(&scene), before);
    assert_eq!(names(&scene.home().join("migrations")), [""; 0]);
    scene.close().await;
}

#[tokio::test]
async fn what_others_wrote_since_stays_and_that_is_said() {
    let (scene, before) = migrated().await;
    let written = codex_text(&scene);
    fs::write(codex_file(&scene), format!("{written}\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n"))
        .unwrap();
    let ended = scene.run(&["migrate", "--undo", "--yes"]).await.exits(0);
    ended.prints(&["Talaria's entries are removed; the file was changed since"]);
    assert_eq!(codex_text(&scene), format!("{before}\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n"));
    scene.run(&["migrate", "--undo", "--yes"]).await.exits(0).prints(&["nothing to undo"]);
    scene.close().await;
}

#[tokio::test]
async fn an_entry_that_was_changed_since_is_the_users_and_stays() {
    let (scene, _) = migrated().await;
    let written = codex_text(&scene);
    fs::write(codex_file(&scene), written.replace("command = \"one\"", "command = \"mine\"")).unwrap();
    let ended = scene.run(&["migrate", "--undo", "--yes", "--json"]).await.exits(0);
    let last = ended.json().pop().unwrap();
    assert_eq!(
        (&last["outcome"], &last["left"][0]),
        (&"taken_out".into(), &"mcp_servers.one".into()),
        "{ended}"
    );
    assert!(
        codex_text(&scene).contains("command = \"mine\"") && !codex_text(&scene).contains("talaria-tools")
    );
    scene.close().await;
}

#[tokio::test]
async fn after_the_users_change_a_second_migration_goes_back_to_the_users_text() {
    let (scene, before) = migrated().await;
    let with = |text: &str| format!("# mine\n{text}");
    fs::write(codex_file(&scene), with(&codex_text(&scene))).unwrap();
    configure_more(&scene, "[mcp_servers.two]\ncommand = \"two\"\n");
    scene.run(&["migrate", "--yes"]).await.exits(0);
    scene.run(&["migrate", "--undo", "--yes"]).await.exits(0).prints(&["byte for byte"]);
    assert_eq!(codex_text(&scene), with(&before));
    scene.close().await;
}

#[tokio::test]
async fn a_file_that_was_not_there_goes_again() {
    let scene = accepting().await;
    fs::remove_file(codex_file(&scene)).unwrap();
    let agents = scene.codex_home.path().join("AGENTS.md");
    fs::write(&agents, "be kind\n").unwrap();
    scene.run(&["migrate", "--yes"]).await.exits(0).prints(&["--- /dev/null\n"]);
    assert!(codex_file(&scene).exists());
    assert_eq!(fs::read_to_string(&agents).unwrap(), "be kind\n", "nothing but the one file is written");
    scene.run(&["migrate", "--undo", "--yes"]).await.exits(0).prints(&["removed; it did not exist before"]);
    assert!(!codex_file(&scene).exists());
    scene.close().await;
}

#[tokio::test]
async fn the_way_back_needs_neither_codex_nor_a_valid_configuration() {
    let (mut scene, before) = migrated().await;
    scene.only_programs(&[]);
    scene.configure("[codex\nbroken");
    scene.run(&["migrate", "--undo", "--yes"]).await.exits(0).prints(&["byte for byte"]);
    assert_eq!(codex_text(&scene), before);
    scene.close().await;
}

#[tokio::test]
async fn a_server_that_is_no_longer_configured_is_taken_out_by_the_next_migration() {
    let (scene, before) = migrated().await;
    let config = fs::read_to_string(scene.home().join("config.toml")).unwrap();
    scene.configure(&config.replace(ONE, ""));
    scene.run(&["migrate", "--yes", "--no-tools"]).await.exits(0).prints(&[
        "-[mcp_servers.one]\n",
        "removed   server one\n",
        "removed   server talaria-tools\n",
    ]);
    assert_eq!(codex_text(&scene), before);
    scene.close().await;
}

#[tokio::test]
async fn a_secret_is_written_only_when_that_was_said_and_never_shown() {
    let scene = accepting().await;
    configure_more(
        &scene,
        "[mcp_servers.one]\ncommand = \"one\"\nenv = { DB_PASSWORD = \"quite plain\" }\n\
         [mcp_servers.two]\ncommand = \"two\"\nargs = [\"--password\", \"quite plain\"]\n",
    );
    let ended = scene.run(&["migrate", "--yes"]).await.exits(1);
    ended.prints(&[
        "env.DB_PASSWORD is a secret: set DB_PASSWORD in the environment of Codex\n",
        "error     server two: args holds what looks like a secret",
        "written; 1 server was left out, see above",
    ]);
    assert!(!codex_text(&scene).contains("quite plain"));
    for arguments in [
        &["migrate", "--yes", "--include-secrets"][..],
        &["migrate", "--dry-run"],
        &["migrate", "--dry-run", "--json"],
        &["migrate", "--undo", "--yes"],
    ] {
        let ended = scene.run(arguments).await;
        let is_whole = arguments.contains(&"--include-secrets") || arguments.contains(&"--undo");
        let ended = ended.exits(if is_whole { 0 } else { 1 });
        assert!(!format!("{ended}").contains("quite plain"), "{ended}");
        if arguments.contains(&"--include-secrets") {
            assert!(codex_text(&scene).contains("quite plain"));
            let record = names(&scene.home().join("migrations"));
            let record =
                fs::read_to_string(scene.home().join("migrations").join(&record[0]).join("record.json"));
            assert!(!record.unwrap().contains("quite plain"));
        }
    }
    scene.close().await;
}

#[tokio::test]
async fn a_secret_that_was_written_is_not_shown_when_it_goes_again() {
    for is_undo in [false, true] {
        let scene = accepting().await;
        let plain = fs::read_to_string(scene.home().join("config.toml")).unwrap();
        configure_more(
            &scene,
            "[mcp_servers.one]\ncommand = \"one\"\nargs = [\"--password\", \"quite plain\"]\n\
             [mcp_servers.two]\nurl = \"https://example.org/?api_key=quite-plain\"\n",
        );
        scene.run(&["migrate", "--yes", "--include-secrets"]).await.exits(0);
        assert!(codex_text(&scene).contains("quite plain") && codex_text(&scene).contains("quite-plain"));
        let arguments = if is_undo {
            scene.configure("[codex\nbroken");
            &["migrate", "--undo", "--yes"][..]
        } else {
            scene.configure(&plain);
            &["migrate", "--yes"]
        };
        let ended = scene.run(arguments).await.exits(0).prints(&["-args = [\"--password\", \"[redacted"]);
        let told = format!("{ended}");
        assert!(!told.contains("quite plain") && !told.contains("quite-plain"), "{told}");
        scene.close().await;
    }
}

#[tokio::test]
async fn a_key_that_was_added_below_the_block_stays_and_what_is_ours_goes() {
    let scene = accepting().await;
    for is_migrated_again in [false, true] {
        fs::write(codex_file(&scene), "model = \"gpt-5\"\n").unwrap();
        scene.run(&["migrate", "--yes"]).await.exits(0);
        let key = "model_reasoning_effort = \"high\"\n";
        fs::write(codex_file(&scene), codex_text(&scene) + key).unwrap();
        let note = "model_reasoning_effort was below the talaria lines, which made it a key of \
                    mcp_servers.talaria-tools; it is yours";
        if is_migrated_again {
            let ended = scene.run(&["migrate", "--yes"]).await.exits(0);
            ended.prints(&["migrated  server talaria-tools\n", &format!("warning: {note}")]);
            assert!(codex_text(&scene).starts_with(&format!("model = \"gpt-5\"\n{key}# >>> talaria")));
            scene.run(&["migrate", "--undo", "--yes"]).await.exits(0).prints(&["byte for byte"]);
        } else {
            let ended = scene.run(&["migrate", "--undo", "--yes"]).await.exits(0);
            ended.prints(&["Talaria's entries are removed"]).complains(&[&format!("note: {note}")]);
        }
        assert_eq!(codex_text(&scene), format!("model = \"gpt-5\"\n{key}"));
    }
    scene.close().await;
}

#[tokio::test]
async fn what_the_user_changed_is_named_by_every_undo_and_ours_again_when_it_is_changed_back() {
    let (scene, before) = migrated().await;
    let change = |from: &str, to: &str| {
        fs::write(codex_file(&scene), codex_text(&scene).replace(from, to)).unwrap();
    };
    change("command = \"one\"", "command = \"mine\"");
    let ended = scene.run(&["migrate", "--yes"]).await.exits(0);
    ended.prints(&["kept      server one: you changed it since Talaria wrote it"]);
    for outcome in ["taken_out", "nothing_to_undo"] {
        let ended = scene.run(&["migrate", "--undo", "--yes", "--json"]).await.exits(0);
        let last = ended.json().pop().unwrap();
        assert_eq!(
            (&last["outcome"], &last["left"][0]),
            (&outcome.into(), &"mcp_servers.one".into()),
            "{ended}"
        );
        assert!(codex_text(&scene).contains("command = \"mine\""));
    }
    change("command = \"mine\"", "command = \"one\"");
    scene.run(&["migrate", "--undo", "--yes"]).await.exits(0).prints(&["Talaria's entries are removed"]);
    assert!(!codex_text(&scene).contains("mcp_servers.one"));
    let lines = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    assert_eq!(lines(&codex_text(&scene)), lines(&before), "a blank line beside what was the user's stays");
    scene.run(&["migrate", "--undo", "--yes"]).await.exits(0).prints(&["config.toml: nothing to undo\n"]);
    scene.close().await;
}

#[tokio::test]
async fn what_another_home_may_have_written_is_named_when_it_is_replaced() {
    let (scene, _) = migrated().await;
    fs::remove_dir_all(scene.home().join("migrations")).unwrap();
    let path = scene.home().join("config.toml");
    let changed = fs::read_to_string(&path).unwrap().replace("command = \"one\"", "command = \"other\"");
    fs::write(&path, changed).unwrap();
    let replaced = "mcp_servers.one was written by a Talaria that this home has no record of";
    scene.run(&["migrate", "--yes"]).await.exits(0).prints(&["migrated  server one\n", replaced]);
    let again = scene.run(&["migrate", "--yes"]).await.exits(0);
    assert!(!again.stdout.contains("no record"), "{again}");
    scene.close().await;
}
