//! `talaria migrate`: Codex's own file before, between and after.
//!
//! The real Codex reads the result where its judgement matters; a scripted one that accepts everything replaces it where
//! only files, processes and their timing do.

use std::fs;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use talaria_testkit::AppServer;
use talaria_testkit::app_server::directive::{on, reply};

use crate::scene::Scene;

mod codex;
mod crash;
mod files;
mod plugins;
mod races;
mod record;
mod undo;

/// The servers that the scripted Codex claims to see, whatever it reads.
const SEEN: [&str; 4] = ["one", "two", "three", "talaria-tools"];

/// A scene with a Codex that accepts every text.
async fn accepting() -> Scene {
    Scene::scripted(AppServer::ready([accept()])).await.0
}

/// Has a scripted Codex accept every text.
fn accept() -> Value {
    let servers: Map<String, Value> = SEEN.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    let config = json!({ "config": { "mcp_servers": servers }, "origins": {} });
    on("config/read", [reply(config)])
}

/// Adds lines to Talaria's configuration.
fn configure_more(scene: &Scene, toml: &str) {
    let path = scene.home().join("config.toml");
    let old = fs::read_to_string(&path).unwrap();
    fs::write(path, format!("{old}\n{toml}")).unwrap();
}

/// Codex's configuration file.
fn codex_file(scene: &Scene) -> PathBuf {
    scene.codex_home.path().join("config.toml")
}

fn codex_text(scene: &Scene) -> String {
    fs::read_to_string(codex_file(scene)).unwrap()
}
