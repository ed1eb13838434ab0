//! Several keys of one provider: which one a request has, what becomes of one that fails, and that none is ever shown.

use std::fs;

use serde_json::{Value, json};
use talaria_scripted::{Gate, Reply};

use crate::own_loop::{MODEL, answer, exec};
use crate::scene::{Scene, of_type, only};

const FIRST: &str = "sk-first-0123456789abcdefghij";
const SECOND: &str = "sk-second-0123456789abcdefghij";

/// A provider of each family with two keys.
async fn scene(more: &str) -> Scene {
    let mut scene = Scene::empty().await;
    let base = scene.model.base_url();
    let section = |api: &str| {
        format!(
            "[providers.own-{api}]\nbase_url = \"{base}\"\napi = \"{api}\"\nkey_env = [\"FIRST_KEY\", \"SECOND_KEY\"]\n{more}"
        )
    };
    scene.configure(&["responses", "chat", "messages"].map(section).concat());
    scene.set("FIRST_KEY", FIRST);
    scene.set("SECOND_KEY", SECOND);
    scene.set("NO_PROXY", "127.0.0.1");
    scene
}

/// The keys of the requests, in order.
fn keys(scene: &Scene) -> Vec<&'static str> {
    let key = |text: Option<&str>| match text.unwrap_or_default().trim_start_matches("Bearer ") {
        FIRST => "first",
        SECOND => "second",
        _ => "none",
    };
    let requests = scene.model.requests();
    requests.iter().map(|one| key(one.header("authorization").or(one.header("x-api-key")))).collect()
}

/// What the list says about a key.
async fn listed(scene: &Scene, provider: &str, source: &str) -> Value {
    let list = scene.run(&["providers", "list", "--json"]).await.exits(0);
    assert!(!list.stdout.contains("sk-"), "{list}");
    let row = list.json().into_iter().find(|row| row["name"] == provider).unwrap();
    let keys = row["keys"].as_array().unwrap();
    keys.iter().find(|key| key["source"] == source).unwrap()["used"].clone()
}

/// No key is in a file of the home.
fn nothing_is_stored(scene: &Scene) {
    for entry in fs::read_dir(scene.home()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            for key in [FIRST, SECOND] {
                let is_in = bytes.windows(key.len()).any(|window| window == key.as_bytes());
                assert!(!is_in, "{}", path.display());
            }
        }
    }
}

#[tokio::test]
async fn a_key_that_fails_is_replaced_at_once_and_its_state_is_listed() {
    for (family, status, code, state) in [
        ("chat", 429, "insufficient_quota", "exhausted"),
        ("messages", 402, "billing_error", "exhausted"),
        ("responses", 401, "invalid_api_key", "dead"),
        ("chat", 429, "rate_limit_exceeded", "exhausted"),
    ] {
        let scene = scene("").await;
        let refusal = Reply::refuse(status, code, format!("no more for {FIRST}"));
        scene.model.push(refusal.header("retry-after", "900"));
        scene.model.push(Reply::say("With the second."));
        scene.model.push(Reply::say("And again."));
        let ended = exec(&scene, family, &["--json", "Go."]).await.exits(0);
        let events = ended.events();
        assert_eq!(answer(&events), json!("With the second."), "{ended}");
        let retrying = only(&events, "retrying")["message"].as_str().unwrap();
        assert!(retrying.contains("trying again with another key"), "{ended}");
        assert!(!ended.stdout.contains("sk-first"), "{ended}");
        // Another conversation has learned from it.
        exec(&scene, family, &["Go."]).await.exits(0);
        assert_eq!(keys(&scene), ["first", "second", "second"], "{family} {code}");
        let provider = format!("own-{family}");
        let first = listed(&scene, &provider, "FIRST_KEY").await;
        assert_eq!((&first["state"], &first["requests"]), (&json!(state), &json!(1)), "{first}");
        assert!(first["until"].is_string(), "{first}");
        let second = listed(&scene, &provider, "SECOND_KEY").await;
        assert_eq!(
            (&second["state"], &second["requests"], &second["in_use"]),
            (&json!("ok"), &json!(2), &json!(0))
        );
        assert!(second["tokens"].as_u64().unwrap() > 0, "{second}");
        let page = scene.run(&["providers", "list"]).await.exits(0);
        assert!(page.stdout.contains(&format!("FIRST_KEY ({state} until")), "{page}");
        nothing_is_stored(&scene);
        scene.close().await;
    }
}

#[tokio::test]
async fn a_refusal_of_permission_changes_no_key() {
    let scene = scene("").await;
    scene.model.push(Reply::refuse(403, "permission_denied", "not in your plan"));
    scene.model.push(Reply::say("Fine."));
    exec(&scene, "chat", &["Go."]).await.exits(1);
    exec(&scene, "chat", &["Go."]).await.exits(0);
    assert_eq!(keys(&scene), ["first", "first"]);
    assert_eq!(listed(&scene, "own-chat", "FIRST_KEY").await["state"], "ok");
    scene.close().await;
}

#[tokio::test]
async fn if_no_key_works_the_turn_says_so_and_a_dead_key_recovers() {
    let scene = scene("").await;
    scene.model.push(Reply::refuse(401, "invalid_api_key", "Incorrect API key provided"));
    scene.model.push(Reply::refuse(401, "invalid_api_key", "Incorrect API key provided"));
    let ended = exec(&scene, "chat", &["--json", "Go."]).await.exits(6);
    assert_eq!(ended.events().pop().unwrap()["code"], "auth", "{ended}");
    scene.model.push(Reply::say("It was something else."));
    exec(&scene, "chat", &["Go."]).await.exits(0);
    assert_eq!(keys(&scene), ["first", "second", "first"]);
    assert_eq!(listed(&scene, "own-chat", "FIRST_KEY").await["state"], "ok");
    assert_eq!(listed(&scene, "own-chat", "SECOND_KEY").await["state"], "dead");
    scene.close().await;
}

#[tokio::test]
async fn round_robin_changes_the_key_with_each_turn_and_keeps_it_within_one() {
    let scene = scene("key_strategy = \"round_robin\"\n").await;
    fs::write(scene.work().join("notes.txt"), "eins\n").unwrap();
    for _ in 0..2 {
        scene.model.push(Reply::new().function("read", json!({ "path": "notes.txt" })));
        scene.model.push(Reply::say("Done."));
        exec(&scene, "messages", &["Go."]).await.exits(0);
    }
    assert_eq!(keys(&scene), ["first", "first", "second", "second"]);
    scene.close().await;
}

#[tokio::test]
async fn a_key_has_no_more_requests_at_once_than_it_may_have() {
    let scene = scene("max_concurrent = 1\n").await;
    let gates = [Gate::new(), Gate::new()];
    for gate in &gates {
        scene.model.push(Reply::new().text("It").gate(gate).text(" is done."));
    }
    scene.model.push(Reply::say("Now I."));
    let arguments = ["exec", "--json", "--provider", "own-chat", "--model", MODEL, "Go."];
    let (one, two) = (scene.start(&arguments), scene.start(&arguments));
    scene.model.wait_for_requests(2).await;
    let mut three = scene.start(&arguments);
    three.wait_for("waiting for a key of own-chat").await;
    assert_eq!(scene.model.requests().len(), 2, "the third one waits");
    gates.iter().for_each(Gate::open);
    for running in [one, two, three] {
        let ended = running.end().await.exits(0);
        assert!(of_type(&ended.events(), "retrying").is_empty(), "{ended}");
    }
    let mut used = keys(&scene);
    used[..2].sort_unstable();
    assert_eq!(used[..2], ["first", "second"]);
    scene.close().await;
}

#[tokio::test]
async fn a_parameter_that_a_provider_refuses_is_remembered_for_its_model() {
    let scene = scene("extra_body = { top_k = 4 }\n").await;
    scene.model.push(Reply::refuse(400, "unknown_parameter", "Unknown parameter: 'top_k'"));
    scene.model.push(Reply::say("Without it."));
    scene.model.push(Reply::say("Again without it."));
    let ended = exec(&scene, "chat", &["--json", "Go."]).await.exits(0);
    only(&ended.events(), "retrying");
    let ended = exec(&scene, "chat", &["--json", "Go."]).await.exits(0);
    assert!(of_type(&ended.events(), "retrying").is_empty(), "{ended}");
    let has: Vec<bool> =
        scene.model.requests().iter().map(|request| request.body.get("top_k").is_some()).collect();
    assert_eq!(has, [true, false, false]);
    // Another model of the provider may take it.
    scene.model.push(Reply::say("With it."));
    scene.run(&["exec", "--provider", "own-chat", "--model", "other", "Go."]).await.exits(0);
    assert!(scene.model.requests()[3].body.get("top_k").is_some());
    scene.close().await;
}
