//! What the built-in loop costs and what its prompts consist of: from the rows of its requests, repeated ones included, and never
//! nothing where something is not known.

use std::fs;

use serde_json::{Value, json};
use talaria_scripted::{ModelUsage, Reply, StreamCut};

use crate::own_loop::{FAMILIES, MODEL, exec, scene};
use crate::scene::Scene;

const USAGE: ModelUsage = ModelUsage { input: 900, cached: 500, output: 40, reasoning: 0 };

async fn sums(scene: &Scene, by: &str) -> Vec<Value> {
    scene.run(&["usage", "--by", by, "--json"]).await.exits(0).json()
}

/// Sets the price of the model of a family: dollars for a million tokens.
fn price(scene: &Scene) {
    let config = fs::read_to_string(scene.home().join("config.toml")).unwrap();
    let model = format!("models.{MODEL}]\ncontext = 200000\n");
    let priced = format!("{model}price = {{ input = 2.0, cached = 1.0, output = 10.0 }}\n");
    scene.configure(&config.replace(&model, &priced));
}

#[tokio::test]
async fn requests_are_counted_with_the_model_that_answered_and_their_price() {
    for family in FAMILIES {
        let scene = scene().await;
        price(&scene);
        scene.model.push(Reply::say("Done.").usage(USAGE).model("tiny-2026"));
        exec(&scene, family, &["Go."]).await.exits(0);
        let by_model = sums(&scene, "model").await;
        let sum = &by_model[0];
        assert_eq!(
            (by_model.len(), &sum["key"], &sum["asked"], &sum["usage"]["total"]),
            (1, &json!("tiny-2026"), &json!([MODEL]), &json!(940)),
            "{family}"
        );
        // 400 at $2, 500 at $1 and 40 at $10 a million, in billionths of a dollar.
        let amount = 400 * 2_000 + 500 * 1_000 + 40 * 10_000;
        assert_eq!((&sum["amount"], &sum["unpriced"]), (&json!(amount), &json!(0)), "{family}");
        let shown = scene.run(&["usage", "--by", "model"]).await.exits(0);
        shown.prints(&["PRICE", "$0.0017", "tiny-2026 answered where tiny was asked"]);
        // The engine that counts next says the same.
        scene.run(&["stop"]).await.exits(0);
        assert_eq!(sums(&scene, "model").await, by_model, "{family}");
        scene.close().await;
    }
}

#[tokio::test]
async fn a_repeated_request_is_counted_and_what_is_not_known_is_not_nothing() {
    for family in FAMILIES {
        let scene = scene().await;
        scene.model.push(Reply::new().text("A wrong").cut_after(2_000, StreamCut::Dropped).drop_stream());
        scene.model.push(Reply::say("Whole.").usage(USAGE));
        let ended = exec(&scene, family, &["--json", "Go."]).await.exits(0);
        let sum = sums(&scene, "session").await.remove(0);
        // Only Anthropic's family reports tokens at the beginning of an answer: a lower bound instead of an estimate.
        let estimated = u64::from(family != "messages");
        assert_eq!(
            (&sum["requests"], &sum["estimated"], &sum["amount"], &sum["unpriced"]),
            (&json!(2), &json!(estimated), &Value::Null, &json!(2)),
            "{family}: {sum}"
        );
        assert_eq!(sum["usage"]["partial"], true, "{family}: an estimate is no exact figure");
        let total = sum["usage"]["total"].as_u64().unwrap();
        assert!(total > 940, "{family}: the repeated request is included: {sum}");
        let outcome = &ended.events().pop().unwrap()["usage"];
        assert_eq!(outcome["total"], total, "{family}: the turn says the same");
        let shown = scene.run(&["usage"]).await.exits(0);
        assert!(shown.stdout.contains("unknown"), "{family}: {shown}");
        assert_eq!(shown.stdout.contains("estimated from bytes"), family != "messages", "{family}: {shown}");
        scene.close().await;
    }
}

#[tokio::test]
async fn a_request_whose_engine_was_killed_is_counted_as_unknown() {
    let mut scene = scene().await;
    let points = talaria_testkit::FaultPoints::listen(&scene.work().join("points"));
    scene.set(talaria_testkit::fault_points::VARIABLE, points.socket());
    let mut trap = points.trap("before:model-answer", 0);
    scene.model.play([Reply::say("Never stored.").usage(USAGE), Reply::say("Stored.").usage(USAGE)]);
    let running = scene.start(&["exec", "--json", "--provider", "own-chat", "--model", MODEL, "Go."]);
    let held = trap.reached().await.unwrap();
    scene.kill_engine().await;
    drop(held);
    drop(trap);
    let ended = running.end().await;
    talaria_testkit::until("the turn was asked again", || scene.model.requests().len() == 2).await;
    scene.wait_status(|status| status["turns"].as_array().is_some_and(Vec::is_empty)).await;
    let sum = sums(&scene, "session").await.remove(0);
    assert_eq!(
        (&sum["requests"], &sum["unreported"], &sum["usage"]["total"]),
        (&json!(2), &json!(1), &json!(940)),
        "{sum} {ended}"
    );
    let session = sum["key"].as_str().unwrap().to_owned();
    let shown = scene.run(&["sessions", "show", &session, "--json"]).await.exits(0).json();
    assert_eq!(shown[0]["turns"][0]["usage"]["partial"], true, "more was spent than is known: {shown:?}");
    scene.close().await;
}

#[tokio::test]
async fn every_part_of_a_prompt_is_listed_with_its_size() {
    for family in FAMILIES {
        let scene = scene().await;
        fs::write(scene.work().join("AGENTS.md"), "Use tabs.\n").unwrap();
        scene.run(&["memory", "add", "Prefers pelicans"]).await.exits(0);
        scene.model.push(Reply::say("Done.").usage(USAGE));
        let ended = exec(&scene, family, &["--json", "Go on with the heron."]).await.exits(0);
        let session = ended.events()[0]["session"].as_str().unwrap().to_owned();
        let report = scene.run(&["context", &session, "--json"]).await.exits(0).json().remove(0);
        assert_eq!(
            (&report["runtime"], &report["reported"], &report["rest"]),
            (&json!("own_loop"), &json!(900), &Value::Null)
        );
        let bytes = |name: &str| {
            let parts = report["parts"].as_array().unwrap();
            let found: Vec<&Value> = parts.iter().filter(|part| part["name"] == name).collect();
            assert_eq!(found.len(), 1, "{family}: {name} in {report}");
            usize::try_from(found[0]["bytes"].as_u64().unwrap()).unwrap()
        };
        let request = scene.model.requests().remove(0);
        let system = match family {
            "responses" => request.body["instructions"].as_str().unwrap().to_owned(),
            "chat" => request.body["messages"][0]["content"].as_str().unwrap().to_owned(),
            _ => {
                let blocks = request.body["system"].as_array().unwrap().iter();
                blocks.map(|block| block["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n\n")
            }
        };
        let tiers = ["system prompt", "settings", "memory", "project instructions"].map(bytes);
        // Three times two line ends between four parts.
        assert_eq!(tiers.iter().sum::<usize>() + 6, system.len(), "{family}: {tiers:?}");
        assert!(system.ends_with("Use tabs.") && system.contains("Prefers pelicans"), "{family}: {system}");
        for tool in request.tool_names() {
            assert!(bytes(tool) > 50, "{family}: {tool}");
        }
        assert!(
            (40..400).contains(&bytes("history")),
            "{family}: the prompt and the answer: {}",
            bytes("history")
        );
        scene.run(&["context", &session]).await.exits(0).prints(&["project instructions", "history"]);
        scene.close().await;
    }
}
