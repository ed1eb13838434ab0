//! One command imports from Hermes; the ordinary commands read it, and an undo removes it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use talaria_scripted::Reply;
use talaria_testkit::Codex;
use talaria_testkit::fault_points::{FaultPoints, VARIABLE};

use crate::scene::{Running, Scene, both_versions};

const STATE: &str = include_str!("../../../talaria-testkit/fixtures/hermes/state.sql");
const CONFIG: &str = "\
model: {default: gpt-5.2, api_key: sk-proj-abcdefghijklmnopqrstuvwxyz012345}
agent: {reasoning_effort: high, max_turns: 90}
tts: {voice: \"\\e[2J\"}
mcp_servers:
  github:
    command: npx
    env: {GITHUB_TOKEN: ghp_z9Y8x7W6v5U4t3S2r1Q0p9O8n7M6l5K4j3I2, DB_PASSWORD: \"P@ssw${ord\"}
  number: {command: tool, args: [--password, 908172635441]}
  address: {url: \"https://a.example/mcp?api_key=abcd5678${\"}
  \"x\\e[2Jy\": {command: evil}
";
/// Texts that must not be found anywhere afterwards.
const SECRETS: [&str; 7] =
    ["a1B2c3D4e5", "sk-proj-abc", "z9Y8x7W6", "s3cr3t-in-env", "P@ssw", "908172635441", "abcd5678"];

async fn change(path: &Path, statements: &str) {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut conn = options.connect().await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}

/// A home of Hermes in the place where it is looked for.
async fn hermes(scene: &Scene) -> PathBuf {
    let root = scene.user_home().join(".hermes");
    for (name, text) in [
        ("config.yaml", CONFIG),
        (".env", "OPENAI_API_KEY=s3cr3t-in-env\n"),
        ("auth.json", r#"{"providers":{"openai-codex":{"tokens":{"access_token":"s3cr3t-in-env"}}}}"#),
        ("memories/MEMORY.md", "The user likes tea.\n"),
        ("skills/writing/SKILL.md", "Write well.\n"),
        ("SOUL.md", "calm\n"),
    ] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    change(&root.join("state.db"), STATE).await;
    root
}

/// Every file below a directory with its content.
fn files(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.symlink_metadata().unwrap() {
                kind if kind.is_dir() => open.push(path),
                kind if kind.is_file() => found.push((path.clone(), fs::read(&path).unwrap())),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

fn assert_no_secret(what: &str, bytes: &[u8]) {
    for secret in SECRETS {
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "{secret} in {what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_comes_is_read_and_goes_again() {
    let scene = Scene::empty().await;
    let theirs = hermes(&scene).await;
    let before = files(&theirs);
    let preview = scene.run(&["import", "hermes", "--dry-run"]).await.exits(0);
    assert!(files(&scene.home()).is_empty(), "a preview makes nothing");
    let preview =
        preview.prints(&["nothing was changed", "model.default = \"gpt-5.2\"", "4 new; 16 new messages"]);

    let imported = scene.run(&["import", "hermes"]).await.exits(0);
    let imported = imported.prints(&[
        "model.effort = \"high\"",
        "${GITHUB_TOKEN}",
        "${DB_PASSWORD}",
        "memories",
        "see the skills: talaria skills list",
        "memories are used in new conversations",
        "4 new; 16 new messages",
        "OPENAI_API_KEY",
        "auth.json: openai-codex",
        "model.api_key: it is a secret",
        "SOUL.md",
        "talaria import hermes --undo",
    ]);
    for ended in [&preview, &imported] {
        assert!(!ended.stdout.contains('\u{1b}'), "{ended}");
        assert_no_secret("the report", ended.stdout.as_bytes());
    }
    assert!(files(&theirs) == before, "nothing of Hermes is changed");
    let kept = fs::read_to_string(scene.home().join("memories/MEMORY.md")).unwrap();
    assert_eq!(kept, "The user likes tea.\n");
    let mode = fs::metadata(scene.home().join("skills/writing/SKILL.md")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let listed = scene.run(&["sessions", "list", "--json"]).await.exits(0).json();
    assert_eq!(listed.len(), 4);
    let named =
        |title: &str| listed.iter().find(|info| info["title"] == title).unwrap()["id"].as_str().unwrap();
    let id = named("Files of the site");
    scene.run(&["sessions", "search", "größer"]).await.exits(0).prints(&[id]);
    let shown = scene.run(&["sessions", "show", id]).await.exits(0);
    shown.prints(&["hermes 20251009_085320_a1b2c3", "gpt-5.2", "terminal {", "README.md", "it is read-only"]);
    let child =
        scene.run(&["sessions", "show", named("[summary] the site has two files; go on")]).await.exits(0);
    child.prints(&[&format!("continued from {id}")]);
    let exported = scene.run(&["sessions", "export", id]).await.exits(0);
    exported.prints(&["### Hermes", "Two: README.md and src.", "From: `hermes"]);

    let again = scene.run(&["import", "hermes", "--json"]).await.exits(0).json();
    assert_eq!(again[0]["sessions"]["new"], 0);
    assert_eq!(again[0]["sessions"]["known"], 4);
    assert_eq!(again[0]["settings"]["taken"].as_array().unwrap().len(), 0);
    assert_eq!(again[0]["settings"]["already_here"], 4);
    let again = scene.run(&["import", "hermes"]).await.exits(0);
    let again = again.prints(&["nothing new to import from", "settings\n  4 already here\n"]);
    assert!(!again.stdout.contains("imported from"), "{again}");
    for (path, bytes) in files(&scene.home()) {
        assert_no_secret(&path.display().to_string(), &bytes);
    }

    let undone = scene.run(&["import", "hermes", "--undo", "--dry-run", "--json"]).await.exits(0).json();
    assert_eq!(undone[0]["sessions"]["removed"], 4);
    assert_eq!(undone[0]["settings"].as_array().unwrap().len(), 4, "as many as were already here");
    let undone = scene.run(&["import", "hermes", "--undo"]).await.exits(0);
    undone.prints(&["4 settings", "2 files", "4 conversations"]);
    assert_eq!(scene.run(&["sessions", "list", "--json"]).await.exits(0).json().len(), 0);
    for name in ["config.toml", "memories", "skills"] {
        assert!(!scene.home().join(name).exists(), "{name}");
    }
    scene.run(&["import", "hermes", "--undo"]).await.exits(1).complains(&["is left to take back"]);
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_settings_that_were_reverted_are_counted() {
    let scene = Scene::empty().await;
    hermes(&scene).await;
    scene.run(&["import", "hermes"]).await.exits(0);
    scene.run(&["config", "set", "model.effort", "low"]).await.exits(0);
    scene.run(&["config", "unset", "model.default"]).await.exits(0);
    let undone = scene.run(&["import", "hermes", "--undo"]).await.exits(0);
    undone.prints(&["  2 settings\n", "kept, because you changed it: model.effort"]);
    let left = fs::read_to_string(scene.home().join("config.toml")).unwrap();
    assert_eq!(left.trim(), "[model]\neffort = \"low\"");
    scene.close().await;
}

both_versions!(
    an_imported_conversation_is_continued_with_what_was_said;
    newest:
    one_without_a_directory_is_not_continued_and_that_is_said,
    imported_memories_are_used_and_undone,
);

async fn an_imported_conversation_is_continued_with_what_was_said(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let theirs = hermes(&scene).await;
    let moved =
        format!("update sessions set cwd = '{}' where title = 'Files of the site'", scene.work().display());
    change(&theirs.join("state.db"), &moved).await;
    fs::remove_file(theirs.join("config.yaml")).unwrap();
    scene.run(&["import", "hermes"]).await.exits(0);
    let listed = scene.run(&["sessions", "list", "--json"]).await.exits(0).json();
    let site = listed.iter().find(|info| info["title"] == "Files of the site").unwrap();
    let id = site["id"].as_str().unwrap();
    scene.model.push(Reply::say("There are two."));
    let ended = scene.run(&["exec", "--resume", id, "how many files were there"]).await.exits(0);
    let notice = "this conversation came from hermes; it continues on a new thread";
    let ended = ended.prints(&["There are two."]);
    assert!(format!("{}{}", ended.stdout, ended.stderr).contains(notice), "{ended}");
    let asked = scene.model.requests().pop().unwrap().body["input"].to_string();
    assert!(asked.contains("earlier_conversation") && asked.contains("Two: README.md and src."), "{asked}");
    assert_eq!(asked.matches("how many files were there").count(), 1, "{asked}");
    scene.model.push(Reply::say("Yes."));
    let ended = scene.run(&["exec", "--resume", id, "really"]).await.exits(0);
    assert!(!format!("{}{}", ended.stdout, ended.stderr).contains("came from hermes"), "once: {ended}");
    let asked = scene.model.requests().pop().unwrap().body["input"].to_string();
    assert!(asked.contains("There are two.") && asked.contains("Two: README.md"), "{asked}");
    let again = scene.run(&["import", "hermes", "--json"]).await.exits(0).json();
    assert_eq!((&again[0]["sessions"]["known"], &again[0]["sessions"]["new"]), (&4.into(), &0.into()));
    let undone = scene.run(&["import", "hermes", "--undo"]).await.exits(0);
    undone.prints(&["3 conversations", "kept, because it was used since"]);
    scene.close().await;
}

#[tokio::test]
async fn an_imported_conversation_is_continued_on_the_built_in_loop_too() {
    let scene = crate::own_loop::scene().await;
    let theirs = hermes(&scene).await;
    let moved =
        format!("update sessions set cwd = '{}' where title = 'Files of the site'", scene.work().display());
    change(&theirs.join("state.db"), &moved).await;
    fs::remove_file(theirs.join("config.yaml")).unwrap();
    scene.run(&["import", "hermes"]).await.exits(0);
    let listed = scene.run(&["sessions", "list", "--json"]).await.exits(0).json();
    let site = listed.iter().find(|info| info["title"] == "Files of the site").unwrap();
    let id = site["id"].as_str().unwrap();
    scene.model.push(Reply::say("There are two."));
    let arguments = ["--resume", id, "how many files were there"];
    let ended = crate::own_loop::exec(&scene, "messages", &arguments).await.exits(0);
    let notice = "this conversation came from hermes; it continues on the built-in loop";
    assert!(format!("{}{}", ended.stdout, ended.stderr).contains(notice), "{ended}");
    let asked = scene.model.requests().pop().unwrap().body["messages"].to_string();
    assert!(asked.contains("earlier_conversation") && asked.contains("Two: README.md and src."), "{asked}");
    assert_eq!(asked.matches("how many files were there").count(), 1, "{asked}");
    scene.model.push(Reply::say("Yes."));
    let ended = scene.run(&["exec", "--resume", id, "really"]).await.exits(0);
    assert!(!format!("{}{}", ended.stdout, ended.stderr).contains("came from hermes"), "once: {ended}");
    let asked = scene.model.requests().pop().unwrap().body["messages"].to_string();
    assert!(asked.contains("There are two.") && asked.contains("Two: README.md"), "{asked}");
    scene.close().await;
}

async fn one_without_a_directory_is_not_continued_and_that_is_said(codex: Codex) {
    let scene = Scene::real(&codex).await;
    hermes(&scene).await;
    scene.run(&["import", "hermes"]).await.exits(0);
    let listed = scene.run(&["sessions", "list", "--json"]).await.exits(0).json();
    for info in &listed {
        let id = info["id"].as_str().unwrap();
        let before = scene.run(&["sessions", "show", id, "--json"]).await.exits(0).json();
        let ended = scene.run(&["exec", "--resume", id, "continue"]).await;
        assert_ne!(ended.code, Some(0), "{ended}");
        ended.complains(&[
            "came from hermes and cannot be continued: its directory",
            "talaria sessions export",
        ]);
        let shown = scene.run(&["sessions", "show", id, "--json"]).await.exits(0).json();
        assert_eq!(shown[0]["turns"], before[0]["turns"], "no turn was added");
    }
    assert!(scene.model.requests().is_empty());
    scene.close().await;
}

async fn imported_memories_are_used_and_undone(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let theirs = hermes(&scene).await;
    fs::remove_file(theirs.join("config.yaml")).unwrap();
    scene.run(&["import", "hermes"]).await.exits(0);
    scene.run(&["memory", "add", "--scope", "notes", "mine"]).await.exits(0);
    // A changed file is kept; with the change undone, it counts as the imported one again.
    scene.run(&["memory", "remove", "mine"]).await.exits(0);
    scene.model.push(Reply::say("Tea."));
    scene.run(&["exec", "what do I like"]).await.exits(0);
    let asked = scene.model.requests().pop().unwrap().body.to_string();
    assert!(asked.contains("The user likes tea."), "{asked}");
    let preview = scene.run(&["import", "hermes", "--undo", "--dry-run"]).await.exits(0);
    preview.prints(&["1 memory entry (`talaria memory undo` restores one)"]);
    scene.run(&["memory", "list"]).await.exits(0).prints(&["The user likes tea."]);
    scene.run(&["import", "hermes", "--undo"]).await.exits(0).prints(&["1 memory entry"]);
    scene.run(&["memory", "list"]).await.exits(0).prints(&["nothing is remembered yet"]);
    scene.run(&["memory", "history"]).await.exits(0).prints(&["- The user likes tea."]);
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_told_and_changes_nothing() {
    let scene = Scene::empty().await;
    let theirs = hermes(&scene).await;
    scene.run(&["import", "hermes", "--home", "nowhere"]).await.exits(2).complains(&["no directory nowhere"]);
    let elsewhere = scene.run(&["import", "hermes", "--home", "."]).await.exits(2);
    elsewhere.complains(&["is no home of Hermes", "--home"]);
    fs::write(
        theirs.join("config.yaml"),
        "model:\n  default: [gpt\napi_key: sk-proj-abcdefghijklmnopqrstuvwxyz012345\n",
    )
    .unwrap();
    let broken = scene.run(&["import", "hermes"]).await.exits(2);
    let broken = broken.complains(&["config.yaml: line 3, column", "nothing was changed"]);
    assert_no_secret("the complaint", broken.stderr.as_bytes());
    assert!(files(&scene.home()).is_empty(), "nothing was made");

    // A database that cannot be read does not keep the rest from coming.
    fs::write(theirs.join("config.yaml"), CONFIG).unwrap();
    fs::write(theirs.join("state.db"), "this is no database").unwrap();
    let half = scene.run(&["import", "hermes"]).await.exits(1);
    half.prints(&["model.default", "not imported: ", "is no database of Hermes", "hint: "]);
    fs::remove_file(theirs.join("state.db")).unwrap();
    change(&theirs.join("state.db"), STATE).await;
    scene.run(&["import", "hermes"]).await.exits(0).prints(&["4 new"]);
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_killed_anywhere_is_completed_by_the_next_and_nothing_is_doubled() {
    let scene = Scene::empty().await;
    hermes(&scene).await;
    // The engine runs already, and is not blocked.
    scene.run(&["sessions", "list"]).await.exits(0);
    let points = FaultPoints::listen(&scene.work().join("points"));
    for point in [
        "after:import-recorded",
        "after:import-settings",
        "after:import-file",
        "after:import-files",
        "after:undo-settings",
        "after:undo-files",
    ] {
        let mut trap = points.trap(point, 0);
        let is_undo = point.contains("undo");
        let arguments: &[&str] =
            if is_undo { &["import", "hermes", "--undo"] } else { &["import", "hermes"] };
        if is_undo {
            scene.run(&["import", "hermes"]).await.exits(0);
        }
        let killed = Running::from(scene.command(arguments).env(VARIABLE, points.socket()).spawn().unwrap());
        let held = trap.reached().await.unwrap();
        killed.kill().await;
        drop(held);
        if !is_undo {
            scene.run(&["import", "hermes"]).await.exits(0);
            let listed = scene.run(&["sessions", "list", "--json"]).await.exits(0).json();
            assert_eq!(listed.len(), 4, "{point}");
            let config = fs::read_to_string(scene.home().join("config.toml")).unwrap();
            assert_eq!(config.matches("[mcp_servers.github]").count(), 1, "{point}: {config}");
            assert!(scene.home().join("skills/writing/SKILL.md").exists(), "{point}");
        }
        scene.run(&["import", "hermes", "--undo"]).await.exits(0);
        let is_left = |path: &PathBuf| {
            let name = path.strip_prefix(scene.home()).unwrap().to_string_lossy().into_owned();
            ["config", "memories", "skills", "imports/hermes"].iter().any(|start| name.starts_with(start))
        };
        let left: Vec<_> = files(&scene.home()).into_iter().map(|(path, _)| path).filter(is_left).collect();
        assert!(left.is_empty(), "{point}: {left:?}");
        assert_eq!(scene.run(&["sessions", "list", "--json"]).await.exits(0).json().len(), 0, "{point}");
    }
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_of_a_run_that_was_killed_behind_the_last_of_them_can_be_taken_back() {
    let scene = Scene::empty().await;
    let theirs = scene.user_home().join(".hermes");
    fs::create_dir_all(&theirs).unwrap();
    change(&theirs.join("state.db"), STATE).await;
    scene.run(&["sessions", "list"]).await.exits(0);
    let points = FaultPoints::listen(&scene.work().join("points"));
    let mut trap = points.trap("before:import-finished", 0);
    let mut command = scene.command(&["import", "hermes"]);
    let killed = Running::from(command.env(VARIABLE, points.socket()).spawn().unwrap());
    let held = trap.reached().await.unwrap();
    killed.kill().await;
    drop(held);
    let again = scene.run(&["import", "hermes", "--json"]).await.exits(0).json();
    assert_eq!(again[0]["sessions"]["known"], 4, "all of them were there");
    scene.run(&["import", "hermes", "--undo"]).await.exits(0).prints(&["4 conversations"]);
    assert_eq!(scene.run(&["sessions", "list", "--json"]).await.exits(0).json().len(), 0);
    scene.close().await;
}
