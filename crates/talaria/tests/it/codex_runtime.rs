//! `talaria codex-runtime`: no false state, no turn split in two, and nothing of Codex changed.

use std::fs;

use serde_json::{Value, json};
use talaria_scripted::{Gate, Reply};
use talaria_testkit::Codex;

use crate::scene::{Scene, both_versions, names};

both_versions!(
    the_state_is_shown_with_codex_and_its_login,
    only_tools_that_codex_offers_the_model_are_named;
    newest:
    a_codex_without_a_login_is_told,
    a_running_turn_is_not_split,
);

fn config(scene: &Scene) -> String {
    fs::read_to_string(scene.home().join("config.toml")).unwrap_or_default()
}

/// Every file of Codex's home with what is in it; the parts that Codex itself writes at each start are left out.
fn codex_config(scene: &Scene) -> String {
    fs::read_to_string(scene.codex_home.path().join("config.toml")).unwrap()
}

/// A Codex that only says its version, and writes down that it was asked.
fn asked_codex(scene: &mut Scene) {
    scene.only_programs(&[("codex", "echo asked >> \"$TALARIA_HOME/../asked\"\necho codex-cli 0.166.0")]);
}

fn times_asked(scene: &Scene) -> usize {
    fs::read_to_string(scene.home().join("../asked")).unwrap_or_default().lines().count()
}

async fn the_state_is_shown_with_codex_and_its_login(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let bin = config(&scene);
    scene.configure(&format!(
        "{bin}[mcp_servers.docs]\ncommand = \"docs\"\n[mcp_servers.off]\ncommand = \"x\"\nenabled = false\n\
         [mcp_servers.old]\nurl = \"https://x/\"\ntransport = \"sse\"\n"
    ));
    let before = codex_config(&scene);
    let shown = scene.run(&["codex-runtime"]).await.exits(0);
    shown.prints(&[
        "runtime    auto\n",
        "used       codex_app_server, because it is the default\n",
        &format!("codex      {}, {}\n", codex.version, codex.native.display()),
        "login      not needed: the configured provider is not OpenAI\n",
        "  codex_app_server: turns run in Codex",
        "  own_loop: turns run in Talaria",
        "  on own_loop: run, process, read, ",
        "  on both: talaria_recall, talaria_memory, ",
        "MCP servers in Talaria's configuration, on both: docs\n",
    ]);
    let state = scene.run(&["codex-runtime", "--json"]).await.exits(0).json().remove(0);
    assert_eq!(state["openai_runtime"], "auto");
    assert_eq!(state["verdict"], json!({ "runtime": "codex_app_server", "because": "usual" }));
    assert_eq!(state["codex"]["version"], codex.version.to_string());
    assert_eq!(state["codex"]["login"], json!({ "state": "not_needed" }));
    assert_eq!(state["runtimes"].as_array().unwrap().len(), 2);
    assert_eq!(state["tools"]["own_loop"][0], "run");
    assert_eq!(state["tools"]["mcp_servers"], json!(["docs"]));
    assert_eq!(scene.engine_pid().await, None, "it starts no engine");
    assert_eq!(codex_config(&scene), before);
    scene.close().await;
}

async fn only_tools_that_codex_offers_the_model_are_named(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::say("ok"));
    scene.run(&["exec", "go"]).await.exits(0);
    let body = &scene.model.requests()[0].body;
    let offered: Vec<&str> =
        body["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    let state = scene.run(&["codex-runtime", "--json"]).await.exits(0).json().remove(0);
    let named = state["tools"]["codex"].as_array().unwrap();
    assert!(!named.is_empty());
    for name in named {
        assert!(offered.contains(&name.as_str().unwrap()), "{name} is not among {offered:?}");
    }
    scene.close().await;
}

async fn a_codex_without_a_login_is_told(codex: Codex) {
    let scene = Scene::without_login(&codex).await;
    let shown = scene.run(&["codex-runtime"]).await.exits(0);
    shown.prints(&["login      not logged in\n", "-> run `"]);
    scene.close().await;
}

async fn a_running_turn_is_not_split(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().text("half\n").gate(&gate).text("and whole\n"));
    let mut running = scene.start(&["exec", "--json", "go"]);
    running.wait_for("half").await;
    let status = scene.status().await;
    let id = status["turns"][0]["session"].as_str().unwrap();
    let before = config(&scene);
    let refused = scene.run(&["codex-runtime", "on"]).await.exits(3);
    refused.complains(&["the runtime was not changed", id, "hint: wait until they end"]);
    assert_eq!(config(&scene), before);
    scene.run(&["codex-runtime", "auto"]).await.exits(0).prints(&["is auto already; nothing was changed"]);
    gate.open();
    running.end().await.exits(0);
    let done = scene.run(&["codex-runtime", "on"]).await.exits(0);
    done.prints(&["codex_app_server (was auto)", "takes effect from the next turn"]);
    scene.close().await;
}

#[tokio::test]
async fn a_switch_changes_one_key_asks_codex_once_and_migrates_nothing() {
    let mut scene = Scene::empty().await;
    asked_codex(&mut scene);
    scene.configure("# mine\n[model]\ndefault = \"m\" # this one\n");
    let before = codex_config(&scene);
    let on = scene.run(&["codex-runtime", "ON"]).await.exits(0);
    on.prints(&[
        "runtime    codex_app_server (was auto), in ",
        "takes effect from the next turn",
        "used       codex_app_server, because it was requested",
        "nothing of Codex was changed; `talaria migrate`",
    ]);
    assert_eq!(times_asked(&scene), 1);
    assert_eq!(
        config(&scene),
        "# mine\n[model]\ndefault = \"m\" # this one\nopenai_runtime = \"codex_app_server\"\n"
    );
    let again = scene.run(&["codex-runtime", "Codex_App_Server"]).await.exits(0);
    again.prints(&["the runtime is codex_app_server already; nothing was changed"]);
    let off = scene.run(&["codex-runtime", "Off", "--json"]).await.exits(0).json().remove(0);
    assert_eq!(
        (&off["openai_runtime"], &off["changed"], &off["effect"]),
        (&json!("off"), &json!(true), &json!("next_turn"))
    );
    assert_eq!(times_asked(&scene), 1, "neither a no-op nor switching off asks Codex");
    assert!(config(&scene).contains("openai_runtime = \"off\"\n"));
    assert_eq!(codex_config(&scene), before);
    scene.run(&["codex-runtime", "codex"]).await.exits(2).complains(&["auto, codex_app_server, on, off"]);
    scene.close().await;
}

#[tokio::test]
async fn without_codex_it_is_not_switched_on_and_can_be_switched_off() {
    let mut scene = Scene::empty().await;
    scene.only_programs(&[]);
    let blocked = scene.run(&["codex-runtime", "on"]).await.exits(6);
    blocked.complains(&["error: cannot use Codex", "codex was not found", "hint: run talaria setup"]);
    assert_eq!(names(&scene.home()), [""; 0]);
    scene
        .run(&["codex-runtime"])
        .await
        .exits(0)
        .prints(&["codex      cannot be used: codex was not found", "-> run talaria setup"]);
    scene.configure("model.openai_runtime = \"codex_app_server\"\n");
    scene.run(&["codex-runtime", "off"]).await.exits(0).prints(&["off (was codex_app_server)"]);
    assert_eq!(config(&scene), "model.openai_runtime = \"off\"\n");
    scene.close().await;
}

#[tokio::test]
async fn a_configuration_with_mistakes_is_told_and_only_the_key_itself_is_mended() {
    let mut scene = Scene::empty().await;
    asked_codex(&mut scene);
    scene.configure("[model\n");
    for arguments in [&["codex-runtime"][..], &["codex-runtime", "on"], &["codex-runtime", "off"]] {
        scene.run(arguments).await.exits(2).complains(&["line 1, column 7"]);
        assert_eq!(config(&scene), "[model\n");
    }
    scene.configure("model = \"m\"\n");
    scene.run(&["codex-runtime", "on"]).await.exits(1).complains(&["model is a string, not a section"]);
    assert_eq!(config(&scene), "model = \"m\"\n");
    scene.configure("[model]\nopenai_runtime = \"codex\" # ?\n");
    scene.run(&["codex-runtime", "auto"]).await.exits(0).prints(&["was a value that could not be used"]);
    assert_eq!(config(&scene), "[model]\nopenai_runtime = \"auto\" # ?\n");
    scene.close().await;
}

#[tokio::test]
async fn another_provider_runs_on_the_built_in_loop() {
    let mut scene = Scene::empty().await;
    scene.only_programs(&[]);
    scene.configure("[model]\nprovider = \"anthropic\"\nopenai_runtime = \"codex_app_server\"\n");
    let state = scene.run(&["codex-runtime", "--json"]).await.exits(0).json().remove(0);
    assert_eq!(state["provider"], "anthropic");
    assert_eq!(state["codex"]["version"], Value::Null);
    scene
        .run(&["codex-runtime"])
        .await
        .exits(0)
        .prints(&["used       own_loop, because Codex runs only OpenAI's models", "provider   anthropic\n"]);
    scene.close().await;
}
