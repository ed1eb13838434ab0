//! Plugins that Codex lists and that are not written, and entries that are kept when the plan is unknown.

use std::fs;

use serde_json::{Value, json};
use talaria_testkit::AppServer;
use talaria_testkit::app_server::directive::{on, reply, reply_error};

use super::{accept, codex_text, configure_more};
use crate::scene::Scene;

const PLUGIN: &str = "[plugins.\"mail@shop\"]\nenabled = true\n";

/// What `plugin/list` answers in both versions, with all that they require.
fn listed(version: &str, load_errors: &Value) -> Value {
    let plugin = |name: &str, is_there: bool| {
        let mut plugin = json!({
            "id": format!("{name}@shop"), "name": name, "installed": is_there, "enabled": is_there,
            "source": { "type": "remote" }, "installPolicy": "AVAILABLE", "authPolicy": "ON_USE",
            "availability": "AVAILABLE", "interface": null, "keywords": [], "shareContext": null,
        });
        if version != "0.130.0" {
            plugin["version"] = json!("1.0.0");
            plugin["installedAt"] = json!(1_760_000_000);
            plugin["disabledReason"] = json!(null);
        }
        plugin
    };
    json!({
        "marketplaces": [{
            "name": "shop", "path": null, "interface": null,
            "plugins": [plugin("mail", true), plugin("maps", false)],
        }],
        "marketplaceLoadErrors": load_errors, "featuredPluginIds": [],
    })
}

/// A scene with a Codex that was used before and answers so when it is asked for its plugins.
async fn answering(version: &str, answer: Value) -> Scene {
    let (scene, _) = Scene::scripted(server(version, answer)).await;
    fs::write(scene.codex_home.path().join("installation_id"), "3f1c5b1e-6c0e-4b7e-9d61-0a1b2c3d4e5f")
        .unwrap();
    scene
}

fn server(version: &str, answer: Value) -> AppServer {
    AppServer::ready([accept(), on("plugin/list", [answer])]).version(version)
}

/// Has the Codex of a scene answer otherwise from now on.
fn answer_now(scene: &Scene, answer: Value) {
    server("0.166.0", answer).install(&scene.codex_home.root().join("scripted"));
}

fn failing() -> Value {
    reply_error(json!({ "code": -32603, "message": "no way out" }))
}

#[tokio::test]
async fn an_installed_plugin_is_written_and_undone() {
    for version in ["0.130.0", "0.166.0"] {
        let scene = answering(version, reply(listed(version, &json!([])))).await;
        let before = codex_text(&scene);
        let ended = scene.run(&["migrate", "--yes", "--no-tools"]).await.exits(0);
        ended.prints(&[
            "+[plugins.\"mail@shop\"]\n",
            "migrated  plugin mail@shop\n",
            "config.toml: written\n",
        ]);
        assert!(codex_text(&scene).contains(PLUGIN) && !codex_text(&scene).contains("maps"));
        scene.run(&["migrate", "--yes", "--no-tools"]).await.exits(0).prints(&["nothing to change"]);
        scene.run(&["migrate", "--undo", "--yes"]).await.exits(0).prints(&["byte for byte"]);
        assert_eq!(codex_text(&scene), before);
        scene.close().await;
    }
}

#[tokio::test]
async fn a_list_that_fails_is_a_warning_and_the_rest_is_migrated() {
    let scene = answering("0.166.0", failing()).await;
    let ended = scene.run(&["migrate", "--yes"]).await.exits(0);
    ended.prints(&[
        "migrated  server talaria-tools\n",
        "warning: plugins were not listed: ",
        "no way out",
        "config.toml: written\n",
    ]);
    assert!(codex_text(&scene).contains("[mcp_servers.talaria-tools]"));
    scene.close().await;
}

#[tokio::test]
async fn plugins_of_which_nothing_could_be_found_out_stay_until_they_are_known_to_be_unwanted() {
    let whole = || reply(listed("0.166.0", &json!([])));
    let nothing = |errors: Value| json!({ "marketplaces": [], "marketplaceLoadErrors": errors });
    let mut scene = answering("0.166.0", whole()).await;
    scene.run(&["migrate", "--yes"]).await.exits(0);
    for answer in [failing(), reply(nothing(json!([{ "marketplacePath": "/shop", "message": "no" }])))] {
        answer_now(&scene, answer);
        let ended = scene.run(&["migrate", "--yes"]).await.exits(0);
        ended.prints(&["kept      plugin mail@shop\n", "warning: "]);
        assert!(codex_text(&scene).contains(PLUGIN));
    }
    answer_now(&scene, reply(nothing(json!([]))));
    let ended = scene.run(&["migrate", "--dry-run"]).await.exits(0);
    ended.prints(&["-[plugins.\"mail@shop\"]\n", "to remove plugin mail@shop\n"]);
    let ended = scene.run(&["migrate", "--dry-run", "--no-plugins"]).await.exits(0);
    ended.prints(&["to remove plugin mail@shop\n"]);
    let config = fs::read_to_string(scene.home().join("config.toml")).unwrap();
    scene.configure("");
    scene.only_programs(&[]);
    let ended = scene.run(&["migrate", "--dry-run"]).await.exits(0);
    ended.prints(&["kept      plugin mail@shop\n", "warning: not checked by Codex: "]);
    scene.configure(&config);
    scene.close().await;
}

#[tokio::test]
async fn a_server_with_a_mistake_stays_as_it_was_written_before() {
    let scene = answering("0.166.0", failing()).await;
    configure_more(&scene, "[mcp_servers.one]\ncommand = \"one\"\n");
    let before = codex_text(&scene);
    scene.run(&["migrate", "--yes"]).await.exits(0);
    let written = codex_text(&scene);
    let config = fs::read_to_string(scene.home().join("config.toml")).unwrap();
    scene.configure(&config.replace("command = \"one\"", "comand = \"one\""));
    let ended = scene.run(&["migrate", "--yes"]).await.exits(1);
    ended.prints(&["error     server one: ", "; its earlier entry is kept\n", "nothing to change"]);
    scene.configure(
        &config
            .replace("[mcp_servers.one]\ncommand = \"one\"\n", "")
            .replace("[codex]", "mcp_servers = 3\n[codex]"),
    );
    let ended = scene.run(&["migrate", "--yes"]).await.exits(0);
    ended.prints(&["kept      server one: it may still be needed\n", "warning: ", "nothing to change"]);
    assert_eq!(codex_text(&scene), written);
    scene.run(&["migrate", "--undo", "--yes"]).await.exits(0).prints(&["byte for byte"]);
    assert_eq!(codex_text(&scene), before);
    scene.close().await;
}
