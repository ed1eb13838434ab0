//! What a folder may be used for where nothing is requested: Codex's own configuration decides, on the loop as on Codex.

use std::fs;

use serde_json::{Value, json};
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::own_loop::{exec, scene, scene_with};
use crate::scene::{Scene, both_versions, only};

both_versions! {
    a_folder_means_the_same_on_codex_and_on_the_loop,
}

/// Codex's configuration with keys before its tables, and further tables.
fn configure_codex(scene: &Scene, base: &str, keys: &str, tables: &str) {
    let file = scene.codex_home.path().join("config.toml");
    fs::write(file, format!("{keys}\n{base}\n{tables}\n")).unwrap();
}

fn codex_config(scene: &Scene) -> String {
    fs::read_to_string(scene.codex_home.path().join("config.toml")).unwrap()
}

fn trusted(scene: &Scene, level: &str) -> String {
    format!("[projects.{:?}]\ntrust_level = \"{level}\"\n", scene.work().to_str().unwrap())
}

/// Sandbox and approval policy that a conversation reports.
fn bounds(events: &[Value]) -> (Value, Value) {
    let started = only(events, "session_started");
    (started["sandbox"].clone(), started["approval"].clone())
}

async fn a_folder_means_the_same_on_codex_and_on_the_loop(codex: Codex) {
    let scene = scene_with(&codex).await;
    let base = codex_config(&scene);
    let never = "sandbox_mode = \"workspace-write\"\napproval_policy = \"never\"";
    let made = scene.work().join("made");
    let mut first = None;
    for (keys, tables, is_writable) in [
        ("", String::new(), false),
        ("", trusted(&scene, "trusted"), true),
        ("", trusted(&scene, "untrusted"), true),
        (never, String::new(), true),
        ("sandbox_mode = \"read-only\"", trusted(&scene, "trusted"), false),
    ] {
        configure_codex(&scene, &base, keys, &tables);
        scene.model.push(Reply::say("ok"));
        let on_codex = scene.run(&["exec", "--json", "hello"]).await.exits(0).events();
        // Only `untrusted` asks about a command inside the sandbox.
        let runs = bounds(&on_codex).1 != "untrusted";
        if runs {
            scene.model.push(Reply::new().function("run", json!({ "command": "echo x > made" })));
        }
        scene.model.push(Reply::say("ok"));
        let on_loop = exec(&scene, "chat", &["--json", "hello"]).await.exits(0);
        let events = on_loop.events();
        assert_eq!(bounds(&events), bounds(&on_codex), "{keys} {tables}: {on_loop}");
        let expected = if is_writable { "workspace-write" } else { "read-only" };
        assert_eq!(bounds(&events).0, expected, "{keys} {tables}");
        assert_eq!(made.exists(), is_writable && runs, "{keys} {tables}: {on_loop}");
        let _ = fs::remove_file(&made);
        first.get_or_insert(events[0]["session"].as_str().unwrap().to_owned());
    }
    // A conversation keeps what was decided when it began.
    configure_codex(&scene, &base, never, &trusted(&scene, "trusted"));
    scene.model.push(Reply::new().function("run", json!({ "command": "echo x > made" })));
    scene.model.push(Reply::say("ok"));
    scene.run(&["exec", "--resume", &first.unwrap(), "again"]).await.exits(0);
    assert!(!made.exists());
    scene.close().await;
}

#[tokio::test]
async fn further_roots_and_the_network_of_codexs_configuration_hold_on_the_loop() {
    let scene = scene().await;
    let base = codex_config(&scene);
    let root = scene.user_home();
    let workspace =
        format!("[sandbox_workspace_write]\nwritable_roots = [{root:?}]\nnetwork_access = true\n");
    let keys = "approval_policy = \"never\"";
    for (tables, is_writable) in [(workspace.clone(), false), (workspace + &trusted(&scene, "trusted"), true)]
    {
        configure_codex(&scene, &base, keys, &tables);
        let file = root.join("made");
        scene.model.push(Reply::new().function("write", json!({ "path": file, "text": "x" })));
        scene.model.push(Reply::say("ok"));
        let before = scene.model.requests().len();
        let ended = exec(&scene, "messages", &["Write."]).await.exits(0);
        assert_eq!(file.exists(), is_writable, "{tables}: {ended}");
        let prompt = scene.model.requests()[before].body.to_string();
        assert_eq!(prompt.contains("Network: commands may use it"), is_writable, "{prompt}");
        assert_eq!(prompt.contains(root.to_str().unwrap()), is_writable, "{prompt}");
    }
    scene.close().await;
}

#[tokio::test]
async fn a_configuration_of_codex_that_cannot_be_read_permits_nothing_and_is_named() {
    let scene = scene().await;
    configure_codex(&scene, &codex_config(&scene), "sandbox_mode = [broken", "");
    let ended = exec(&scene, "chat", &["hello"]).await;
    assert_ne!(ended.code, Some(0), "{ended}");
    ended.complains(&["cannot read Codex's configuration", "config.toml", "--sandbox and --approval"]);
    assert_eq!(scene.model.requests().len(), 0);
    scene.model.push(Reply::say("ok"));
    exec(&scene, "chat", &["--sandbox", "read-only", "--approval", "on-request", "hello"]).await.exits(0);
    scene.close().await;
}
