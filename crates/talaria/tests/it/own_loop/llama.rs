//! The built-in loop against the server of llama.cpp with a model of random weights: real tokens, real limits, a real cache.
//!
//! What the model says has no meaning. That it says anything, where it stops and what was cached has.

use serde_json::Value;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;
use talaria_testkit::model_peers::LlamaServer;

use crate::own_loop::FAMILIES;
use crate::scene::{Ended, Scene};
use crate::tasks::{rest, shown, start};

/// The model stops at these letters, so that its answers are short and end by themselves.
const ENDS: &str = "[\"e\", \"t\", \"a\", \"o\"]";

/// A scene with three providers for each family: `short` ends by itself, `cut` reaches its limit, `long` does not end soon.
async fn scene(peer: &LlamaServer) -> Scene {
    let scene = Scene::empty().await;
    let base = peer.base_url();
    let mut config = String::new();
    for api in FAMILIES {
        let (limit, stop) = match api {
            "responses" => ("max_output_tokens", "stop"),
            "chat" => ("max_tokens", "stop"),
            _ => ("max_tokens", "stop_sequences"),
        };
        let kinds = [
            ("short", format!("{limit} = 64, temperature = 2.0, seed = 11, {stop} = {ENDS}")),
            ("cut", format!("{limit} = 8")),
            ("long", format!("{limit} = 6000")),
        ];
        for (kind, body) in kinds {
            config.push_str(&format!(
                "[providers.{kind}-{api}]\nbase_url = \"{base}\"\napi = \"{api}\"\nextra_body = {{ {body} }}\n"
            ));
        }
    }
    scene.configure(&config);
    scene
}

async fn exec(scene: &Scene, provider: &str, arguments: &[&str]) -> Ended {
    scene.run(&[&["exec", "--json", "--provider", provider, "--model", "random"], arguments].concat()).await
}

fn outcome(ended: &Ended) -> Value {
    ended.events().pop().unwrap()
}

#[tokio::test]
async fn llama_answers_is_cut_refuses_what_does_not_fit_and_is_stopped() {
    let peer = LlamaServer::start(12_000).await;
    let scene = scene(&peer).await;
    for family in FAMILIES {
        let ended = exec(&scene, &format!("short-{family}"), &["Say something."]).await;
        let said = outcome(&ended);
        assert_eq!(said["outcome"], "completed", "{family}: {ended}");
        assert!(said["usage"]["input"].as_u64().unwrap() > 500, "{family}: real tokens: {ended}");
    }
    // Its Responses API calls an answer completed that was cut, so nothing can be known there.
    for family in ["chat", "messages"] {
        let ended = exec(&scene, &format!("cut-{family}"), &["Say something."]).await.exits(1);
        let cut = outcome(&ended);
        assert_eq!(cut["outcome"], "failed", "{family}: {ended}");
        assert!(cut["message"].as_str().unwrap().contains("output limit"), "{family}: {ended}");
        assert_eq!(cut["usage"]["output"], 8, "{family}: {ended}");
    }
    let long = "word and more ".repeat(8_000);
    for family in FAMILIES {
        let ended = exec(&scene, &format!("short-{family}"), &[&long]).await.exits(1);
        let refused = outcome(&ended);
        assert_eq!(refused["code"], "context_window", "{family}: {ended}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("12000") && message.contains("context"), "{family}: {message}");
        assert!(refused["hint"].as_str().unwrap().contains("start a new conversation"), "{family}: {ended}");
    }
    for family in FAMILIES {
        let long = format!("long-{family}");
        let task = start(&scene, &["--provider", &long, "--model", "random", "Say much."]).await;
        let mut watching = scene.start(&["task", "watch", &task, "--json"]);
        watching.wait_for("text_delta").await;
        scene.run(&["task", "interrupt", &task]).await.exits(0);
        rest(&scene).await;
        assert_eq!(shown(&scene, &task).await["outcome"]["outcome"], "interrupted", "{family}");
        watching.kill().await;
        // The server is free again at once: a generation without a reader would hold its only slot.
        let ended = exec(&scene, &format!("short-{family}"), &["Say something."]).await.exits(0);
        assert_eq!(outcome(&ended)["outcome"], "completed", "{family}: {ended}");
    }
    scene.close().await;
}

#[tokio::test]
async fn a_conversation_of_forty_turns_keeps_its_prefix_in_the_cache_of_llama() {
    for family in FAMILIES {
        let peer = LlamaServer::start(12_000).await;
        let scene = scene(&peer).await;
        let ended = exec(&scene, &format!("short-{family}"), &["Turn 1."]).await.exits(0);
        let session = ended.events()[0]["session"].as_str().unwrap().to_owned();
        let lines: String = (2..=40).map(|turn| format!("Turn {turn}: go on.\n")).collect();
        let chat = scene.run_with_input(&["--plain", "--resume", &session], lines.as_bytes()).await;
        let mut attempts = attempts(&scene).await;
        assert_eq!(attempts.len(), 40, "{family}: {chat}");
        let first = attempts.remove(0);
        let mut before = first["input"].as_u64().unwrap();
        let mut unknown = 0;
        for (turn, usage) in (2..).zip(&attempts) {
            // It leaves out `message_start`, and with that the input, where the first token ends the answer.
            if family == "messages" && usage["partial"] == true {
                unknown += 1;
                continue;
            }
            let place = format!("{family}, turn {turn}: {usage}");
            let (input, cached) = (usage["input"].as_u64().unwrap(), usage["cached"].as_u64().unwrap());
            assert!(input > before, "{place}");
            assert!(cached + 64 >= before, "{place}: {cached} of {before} tokens were still cached");
            before = input;
        }
        assert!(unknown < 10, "{family}: {unknown} of 40 turns without their input");
        scene.close().await;
    }
}

/// The usage of every request, in order.
async fn attempts(scene: &Scene) -> Vec<Value> {
    let file = scene.home().join("talaria.db");
    let mut conn = SqliteConnectOptions::new().filename(file).read_only(true).connect().await.unwrap();
    let query =
        sqlx::query_scalar("select usage from model_attempt where purpose = 'turn' order by ordinal, number");
    let rows: Vec<String> = query.fetch_all(&mut conn).await.unwrap();
    rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect()
}
