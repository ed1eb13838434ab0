//! The real Codex's view of the result, on both versions.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use talaria_scripted::Reply;
use talaria_testkit::{Codex, RawCodex, mcp_server};

use super::{codex_file, codex_text, configure_more};
use crate::scene::{Scene, both_versions};

both_versions!(
    the_result_is_accepted_and_a_turn_calls_the_servers_tool_and_undo_gives_the_old_bytes,
    what_codex_refuses_is_not_written_and_its_reason_is_told,
    names_that_only_a_strict_codex_refuses_are_no_obstacle_when_they_are_the_users,
    every_value_comes_back_from_codex_as_it_was;
    newest:
    a_file_that_codex_refuses_already_is_told_apart,
    files_that_the_configuration_names_are_found_by_the_check,
    plugins_of_every_marketplace_are_looked_for_and_the_users_own_stay,
);

/// Where a person chooses.
const CHOICES: &str = "[x] no, stop the turn: ";

/// A call of a tool of the server `own`, as the model names it.
fn tool(codex: &Codex, arguments: &Value) -> Reply {
    let namespace = if codex.version == "0.130.0" { "mcp__own__" } else { "mcp__own" };
    let item = json!({
        "type": "function_call", "id": "fc", "call_id": "call", "namespace": namespace, "name": "ask",
        "arguments": arguments.to_string(),
    });
    let event = |kind: &str| json!({ "type": kind, "output_index": 0, "item": item });
    Reply::new().event(event("response.output_item.added")).event(event("response.output_item.done"))
}

async fn the_result_is_accepted_and_a_turn_calls_the_servers_tool_and_undo_gives_the_old_bytes(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let server = format!("[mcp_servers.own]\ncommand = {:?}\n", mcp_server::program().to_str().unwrap());
    configure_more(&scene, &server);
    let before = codex_text(&scene);
    scene.run(&["migrate", "--yes", "--no-tools", "--permissions", ":workspace"]).await.exits(0).prints(&[
        "+[mcp_servers.own]",
        "+default_permissions = \":workspace\"",
        "migrated  server own\n",
        "migrated  permission default :workspace\n",
        "config.toml: written\n",
    ]);
    assert_ne!(codex_text(&scene), before);
    if codex.version != "0.130.0" {
        let mut strict = Command::new(&codex.native);
        strict.args(["app-server", "--strict-config"]).envs(scene.codex_home.environment());
        // Without input it ends by itself, if it starts at all.
        let output = strict.stdin(std::process::Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    // From here on only Codex knows of the server.
    scene.use_codex(&codex.native);
    let form = json!({
        "mode": "form", "message": "Who?",
        "requestedSchema": { "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] },
    });
    scene.model.play([tool(&codex, &json!({ "elicit": form })), Reply::say("all done")]);
    let mut terminal = scene.terminal(&["exec", "ask them"]);
    for (text, keys) in [
        ("own", ""),
        (CHOICES, "y\n"),
        ("? The MCP server own asks you to fill in a form", ""),
        (CHOICES, "y\n"),
        ("(empty line: back): ", "Ann\n"),
        ("all done", ""),
    ] {
        terminal.wait_for(text).await;
        terminal.type_keys(keys).await;
    }
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.screen());
    let told = scene.model.requests().last().unwrap().body.to_string();
    assert!(told.contains("Ann"), "the server got the answer: {told}");
    scene.run(&["migrate", "--undo", "--yes"]).await.exits(0).prints(&["byte for byte"]);
    assert_eq!(codex_text(&scene), before);
    scene.close().await;
}

async fn what_codex_refuses_is_not_written_and_its_reason_is_told(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let before = codex_text(&scene);
    let ended = scene.run(&["migrate", "--yes", "--permissions", ":nonsense"]).await.exits(1);
    ended.complains(&[
        "error: cannot edit Codex's configuration\ncause: Codex does not accept the result: ",
        "`:nonsense`",
        "hint: nothing was changed; ",
    ]);
    assert_eq!(codex_text(&scene), before);
    assert!(!scene.home().join("migrations/record.json").exists());
    scene.close().await;
}

async fn a_file_that_codex_refuses_already_is_told_apart(codex: Codex) {
    let scene = Scene::real(&codex).await;
    fs::write(codex_file(&scene), "model = 3\n").unwrap();
    let ended = scene.run(&["migrate", "--yes"]).await.exits(1);
    ended.complains(&["cause: Codex does not accept the file as it is now: ", "expected a string"]);
    assert_eq!(codex_text(&scene), "model = 3\n");
    scene.close().await;
}

async fn names_that_only_a_strict_codex_refuses_are_no_obstacle_when_they_are_the_users(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let before = format!("modl = \"typing mistake\"\n{}", codex_text(&scene));
    fs::write(codex_file(&scene), &before).unwrap();
    let ended = scene.run(&["migrate", "--yes"]).await.exits(0);
    if codex.version != "0.130.0" {
        let place = format!("Codex ignores part of your own file: {}:1:1: ", codex_file(&scene).display());
        ended.prints(&[&place, "`modl`"]);
    }
    assert!(codex_text(&scene).contains("[mcp_servers.talaria-tools]"));
    scene.close().await;
}

async fn files_that_the_configuration_names_are_found_by_the_check(codex: Codex) {
    let scene = Scene::real(&codex).await;
    fs::write(scene.codex_home.path().join("rules.md"), "be kind").unwrap();
    let before = format!("model_instructions_file = \"rules.md\"\n{}", codex_text(&scene));
    fs::write(codex_file(&scene), &before).unwrap();
    scene.run(&["migrate", "--yes"]).await.exits(0);
    fs::remove_file(scene.codex_home.path().join("rules.md")).unwrap();
    scene.run(&["migrate", "--undo", "--yes"]).await.exits(0);
    let ended = scene.run(&["migrate", "--yes"]).await.exits(1);
    let missing = scene.codex_home.path().canonicalize().unwrap().join("rules.md").display().to_string();
    ended.complains(&["does not accept the file as it is now: ", &missing]);
    scene.close().await;
}

/// A folder with a marketplace of two plugins.
fn marketplace(folder: &Path, name: &str) {
    for plugin in ["red", "blue"] {
        let root = folder.join("plugins").join(plugin).join(".codex-plugin");
        fs::create_dir_all(&root).unwrap();
        let manifest = json!({ "name": plugin, "version": "1.0.0", "description": "d" });
        fs::write(root.join("plugin.json"), manifest.to_string()).unwrap();
    }
    let plugin = |plugin: &str| {
        json!({
            "name": plugin, "source": { "source": "local", "path": format!("./plugins/{plugin}") },
            "policy": { "installation": "AVAILABLE", "authentication": "ON_INSTALL" }, "category": "x",
        })
    };
    let list = folder.join(".agents/plugins");
    fs::create_dir_all(&list).unwrap();
    let market = json!({ "name": name, "plugins": [plugin("red"), plugin("blue")] });
    fs::write(list.join("marketplace.json"), market.to_string()).unwrap();
}

async fn plugins_of_every_marketplace_are_looked_for_and_the_users_own_stay(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let mut config = codex_text(&scene).replace("plugins = false", "plugins = true");
    for name in ["shop", "fair"] {
        let folder = scene.codex_home.root().join(name);
        marketplace(&folder, name);
        config += &format!("[marketplaces.{name}]\nsource_type = \"local\"\nsource = {folder:?}\n");
    }
    for plugin in ["red@shop", "blue@fair"] {
        let (name, market) = plugin.split_once('@').unwrap();
        // As Codex leaves it when it installs one.
        let cached =
            scene.codex_home.path().join(format!("plugins/cache/{market}/{name}/1.0.0/.codex-plugin"));
        fs::create_dir_all(&cached).unwrap();
        let manifest = json!({ "name": name, "version": "1.0.0", "description": "d" });
        fs::write(cached.join("plugin.json"), manifest.to_string()).unwrap();
        config += &format!("[plugins.{plugin:?}]\nenabled = true\n");
    }
    fs::write(codex_file(&scene), &config).unwrap();
    // A home on which Codex never ran is not filled by a question.
    let found = |ended: &crate::scene::Ended| -> Vec<String> {
        let plugins = ended.json().into_iter().filter(|line| line["type"] == "plugin");
        plugins
            .map(|line| format!("{} {}", line["name"].as_str().unwrap(), line["status"].as_str().unwrap()))
            .collect()
    };
    let ended = scene.run(&["migrate", "--dry-run", "--json"]).await.exits(0);
    assert_eq!(found(&ended), [""; 0]);
    assert!(!scene.codex_home.path().join("installation_id").exists());
    fs::write(scene.codex_home.path().join("installation_id"), "3f1c5b1e-6c0e-4b7e-9d61-0a1b2c3d4e5f")
        .unwrap();
    let ended = scene.run(&["migrate", "--dry-run", "--json"]).await.exits(0);
    assert_eq!(found(&ended), ["blue@fair kept", "red@shop kept"], "{ended}");
    assert_eq!(codex_text(&scene), config, "listing plugins changes no configuration");
    let ended = scene.run(&["migrate", "--dry-run", "--json", "--no-plugins"]).await.exits(0);
    assert_eq!(found(&ended), [""; 0]);
    scene.close().await;
}

async fn every_value_comes_back_from_codex_as_it_was(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let controls: String = (1..0x20u8).chain([0x7f]).map(char::from).collect();
    let values =
        ["quo\"te 'both' \\", "C:\\Users\\me\\x.exe", "two\nlines\r\n", "🦀 é \u{202e}", "", &controls];
    let args = toml_edit::Array::from_iter(values);
    configure_more(&scene, &format!("[mcp_servers.odd]\ncommand = \"/bin/true\"\nargs = {args}\n"));
    scene.run(&["migrate", "--yes"]).await.exits(0);
    let mut client = RawCodex::connect(&codex.native, &scene.codex_home).await;
    let read = client.call("config/read", json!({ "includeLayers": false })).await;
    assert_eq!(read["config"]["mcp_servers"]["odd"]["args"], json!(values));
    client.end().await;
    scene.close().await;
}
