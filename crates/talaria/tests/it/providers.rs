//! `talaria providers`: which providers are known, and where their keys are. No key is ever shown.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::scene::{Ended, Scene};

const KEY: &str = "sk-test-0123456789abcdef";

/// A scene whose configuration has a provider of each family, all of them the scripted model.
async fn scene() -> Scene {
    let mut scene = Scene::empty().await;
    let base = scene.model.base_url();
    let sections: String = ["responses", "chat", "messages"]
        .iter()
        .map(|api| {
            format!(
                "[providers.own-{api}]\nbase_url = \"{base}\"\napi = \"{api}\"\nkey_env = \"OWN_KEY\"\n\
                 headers = {{ x-team = \"blue\" }}\n[providers.own-{api}.models.tiny]\ncontext = 8000\n"
            )
        })
        .collect();
    scene.configure(&sections);
    scene.set("OWN_KEY", KEY);
    scene
}

fn row(ended: &Ended, name: &str) -> Value {
    ended.json().into_iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}: {ended}"))
}

fn shows_no_key(ended: &Ended) {
    assert!(!ended.stdout.contains(KEY) && !ended.stderr.contains(KEY), "{ended}");
}

#[tokio::test]
async fn the_list_says_where_keys_are_and_shows_none() {
    let mut scene = scene().await;
    scene.set("ANTHROPIC_API_KEY", KEY);
    scene.set("OPENAI_API_KEY", "");
    let listed = scene.run(&["providers", "list", "--json"]).await.exits(0);
    shows_no_key(&listed);
    assert_eq!(listed.json().len(), 18 + 3);
    assert_eq!(row(&listed, "anthropic")["key"], json!({ "state": "found", "source": "ANTHROPIC_API_KEY" }));
    assert_eq!(row(&listed, "openai")["key"], json!({ "state": "missing", "variables": ["OPENAI_API_KEY"] }));
    assert_eq!(row(&listed, "ollama")["key"], json!({ "state": "not_needed" }));
    let own = row(&listed, "own-messages");
    assert_eq!((&own["api"], &own["configured"]), (&json!("messages"), &json!(true)));
    assert_eq!(own["models"], json!([{ "name": "tiny", "context": 8000, "max_output": null }]));
    let listed = scene.run(&["providers", "list"]).await.exits(0);
    shows_no_key(&listed);
    assert!(
        listed.stdout.contains("missing: OPENAI_API_KEY") && listed.stdout.contains("own-chat"),
        "{listed}"
    );
    scene.close().await;
}

#[tokio::test]
async fn a_key_file_that_others_can_read_is_refused_and_a_mistake_is_shown() {
    let scene = Scene::empty().await;
    let file = scene.home().join("provider-key");
    fs::write(&file, KEY).unwrap();
    scene.configure(
        "[providers.filed]\nbase_url = \"https://models.example.com/v1\"\napi = \"chat\"\nkey_file = \"provider-key\"\n\
         [providers.wrong]\napi = \"chat\"\n",
    );
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let listed = scene.run(&["providers", "list", "--json"]).await.exits(0);
    let filed = row(&listed, "filed");
    assert_eq!(filed["key"]["state"], "refused", "{listed}");
    assert!(filed["key"]["why"].as_str().unwrap().contains("can be read by others"), "{listed}");
    assert!(row(&listed, "wrong")["wrong"][0].as_str().unwrap().contains("needs base_url"), "{listed}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let listed = scene.run(&["providers", "list", "--json"]).await.exits(0);
    assert_eq!(row(&listed, "filed")["key"]["state"], "found", "{listed}");
    shows_no_key(&listed);
    scene.run(&["config", "check"]).await.exits(1).prints(&["providers.wrong"]);
    // A provider with a mistake ends no other command.
    scene.run(&["memory", "list"]).await.exits(0);
    scene.close().await;
}

#[tokio::test]
async fn doctor_has_a_line_for_each_provider_with_a_key() {
    let mut scene = scene().await;
    scene.set("XAI_API_KEY", KEY);
    let checked = scene.run(&["doctor", "--json"]).await;
    shows_no_key(&checked);
    let details: Vec<String> = checked
        .json()
        .iter()
        .filter(|row| row["check"] == "provider")
        .map(|row| format!("{}: {}", row["status"].as_str().unwrap(), row["detail"].as_str().unwrap()))
        .collect();
    assert_eq!(details[0], "ok: xai: https://api.x.ai/v1, key from XAI_API_KEY");
    assert_eq!(details.len(), 4, "{details:?}");
    assert!(details[1..].iter().all(|line| line.ends_with("key from OWN_KEY")), "{details:?}");
    scene.close().await;
}
