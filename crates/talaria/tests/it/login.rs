//! `talaria login` and `/login`: what a person has to do, how it ends, and that the next turn has the login. A login with ChatGPT
//! is only played by a scripted app-server; with an API key the real Codex logs in, against a model on loopback.

use std::fs;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use talaria_scripted::Reply;
use talaria_testkit::app_server::directive::{notify, on, reply};
use talaria_testkit::{AppServer, Codex, both_versions};

use crate::chat::stage::{Stage, quit, send};
use crate::scene::Scene;

both_versions!(a_login_with_a_key_is_codexs_own_and_counts_for_the_next_turn);

const ID: &str = "5e1f0000-0000-4000-8000-000000000001";

fn started(device: bool) -> Value {
    match device {
        true => {
            json!({ "type": "chatgptDeviceCode", "loginId": ID, "verificationUrl": "https://auth.example/device",
                        "userCode": "ABCD-1234" })
        }
        false => json!({ "type": "chatgpt", "loginId": ID, "authUrl": "https://auth.example/authorize?x=1" }),
    }
}

fn ended(success: bool, error: Value) -> Value {
    notify("account/login/completed", json!({ "loginId": ID, "success": success, "error": error }))
}

/// A Codex that begins a login so, and says no more than what follows.
fn server(device: bool, follows: Vec<Value>) -> AppServer {
    let account = json!({ "account": { "type": "chatgpt", "email": "ada@example.com", "planType": "plus" },
                          "requiresOpenaiAuth": true });
    AppServer::ready([
        on("account/login/start", [vec![reply(started(device))], follows].concat()),
        on("account/login/cancel", [reply(json!({ "status": "canceled" }))]),
        on("account/read", [reply(account)]),
        on("config/read", [reply(json!({ "config": {}, "origins": {} }))]),
        on("model/list", [reply(json!({ "data": [], "nextCursor": null }))]),
        on("account/rateLimits/read", [reply(json!({ "rateLimits": {} }))]),
    ])
}

#[tokio::test]
async fn a_login_in_the_browser_names_the_address_and_the_account() {
    let (scene, installed) = Scene::scripted(server(false, vec![ended(true, Value::Null)])).await;
    let done = scene.run(&["login"]).await.exits(0);
    done.prints(&["Open this address in a browser on this machine:", "https://auth.example/authorize?x=1"])
        .prints(&["logged in: ada@example.com, chatgpt, plus"]);
    let asked: Vec<Value> = installed.received();
    let start = asked.iter().find(|message| message["method"] == "account/login/start").unwrap();
    assert_eq!(start["params"], json!({ "type": "chatgpt" }));
    scene.close().await;
}

#[tokio::test]
async fn a_login_that_fails_says_why() {
    let (scene, _) = Scene::scripted(server(true, vec![ended(false, json!("the code has expired"))])).await;
    let done = scene.run(&["login", "--device"]).await.exits(1);
    done.prints(&["https://auth.example/device", "ABCD-1234"])
        .complains(&["error: the login failed\ncause: the code has expired"]);
    scene.close().await;
}

#[tokio::test]
async fn ctrl_c_cancels_the_login_and_its_codex_ends() {
    let (scene, installed) = Scene::scripted(server(true, Vec::new())).await;
    let mut running = scene.interruptible(&["login", "--device"]);
    running.wait_for("ABCD-1234").await;
    kill_process(running.pid(), Signal::INT).unwrap();
    running.end().await.exits(4).complains(&["error: the login was canceled"]);
    let canceled =
        installed.received().into_iter().find(|message| message["method"] == "account/login/cancel");
    assert_eq!(canceled.unwrap()["params"], json!({ "loginId": ID }));
    scene.close().await;
}

#[tokio::test]
async fn a_login_is_begun_and_canceled_in_the_chat() {
    let (scene, _) = Scene::scripted(server(true, Vec::new())).await;
    let stage = Stage::in_scene(scene);
    let mut terminal = stage.start(24, 80, &[]);
    terminal.wait_shown("returns.").await;
    send(&mut terminal, "/login cancel").await;
    terminal.wait_shown("no login is running").await;
    send(&mut terminal, "/login device").await;
    terminal.wait_shown("ABCD-1234").await;
    send(&mut terminal, "/login").await;
    terminal.wait_shown("a login is running already").await;
    send(&mut terminal, "/login cancel").await;
    terminal.wait_shown("the login was canceled").await;
    quit(terminal).await;
    stage.scene.close().await;
}

#[tokio::test]
async fn what_is_no_key_is_not_sent() {
    let (scene, installed) = Scene::scripted(server(false, Vec::new())).await;
    let done = scene.run_with_input(&["login", "--api-key"], b"not a key\n").await.exits(2);
    done.complains(&["error: this is not an API key"]);
    assert!(!installed.received().iter().any(|message| message["method"] == "account/login/start"));
    scene.close().await;
}

async fn a_login_with_a_key_is_codexs_own_and_counts_for_the_next_turn(codex: Codex) {
    let key = format!("sk-{}", "Fake4Material7NotReal2Fake4Material7");
    let scene = Scene::without_login(&codex).await;
    let config = scene.codex_home.path().join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("openai_base_url = \"{}\"\n{text}", scene.model.base_url())).unwrap();
    // The engine now has a Codex that knows of no login.
    scene.run(&["exec", "go"]).await.exits(6).complains(&["hint: run `talaria login`, then try again"]);
    let done = scene.run_with_input(&["login", "--api-key"], format!("{key}\n").as_bytes()).await.exits(0);
    assert!(done.stdout.contains("logged in: apiKey"), "{done}");
    assert!(!done.to_string().contains(&key), "the key is not shown");
    scene.model.push(Reply::say("fine"));
    let done = scene.run(&["exec", "-q", "go"]).await.exits(0);
    assert_eq!(done.stdout, "fine\n");
    for file in ["talaria.db", "talaria.db-wal", "engine.log"] {
        let kept = fs::read(scene.home().join(file)).unwrap_or_default();
        let is_kept = kept.windows(key.len()).any(|part| part == key.as_bytes());
        assert!(!is_kept, "{file} has the key");
    }
    scene.close().await;
}
