//! Budgets on the built-in loop: no request is sent that a budget has no room for, a person is asked, and what is not known of a cost
//! is never nothing.

use std::fs;

use serde_json::{Value, json};
use talaria_scripted::{Gate, ModelUsage, Reply};
use talaria_testkit::FaultPoints;
use talaria_testkit::fault_points::VARIABLE;

use crate::own_loop::{MODEL, answer, exec, scene_configured};
use crate::scene::{Running, Scene, of_type};

/// Room for one request, and for no further one after it.
const CONVERSATION: &str = "[budget]\nconversation = \"120k tokens\"\n";
const LARGE: ModelUsage = ModelUsage { input: 100_000, cached: 0, output: 40, reasoning: 0 };

/// A call whose request leaves no room for the next one.
fn reads(scene: &Scene) {
    fs::write(scene.work().join("bird.txt"), "a wren\n").unwrap();
    scene.model.push(Reply::new().function("read", json!({ "path": "bird.txt" })).usage(LARGE));
}

fn wait_for_people(scene: &Scene) -> Running {
    scene.start(&["exec", "--json", "--provider", "own-chat", "--model", MODEL, "--approve", "wait", "Read."])
}

/// The id of the question for more.
async fn asked(scene: &Scene) -> String {
    let open = |status: &Value| status["requests"].as_array().is_some_and(|open| open.len() == 1);
    scene.wait_status(open).await["requests"][0]["id"].as_str().unwrap().to_owned()
}

async fn reply(scene: &Scene, id: &str, words: &str) {
    let answers = json!({ "budget": words }).to_string();
    scene.run(&["requests", "answer", id, "accept", "--answers", &answers]).await.exits(0);
}

async fn budget(scene: &Scene, session: &str) -> Value {
    scene.run(&["sessions", "show", session, "--json"]).await.exits(0).json()[0]["budgets"][0].clone()
}

fn session_of(events: &[Value]) -> String {
    events[0]["session"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_request_without_room_waits_until_a_person_allows_more() {
    let scene = scene_configured(CONVERSATION).await;
    reads(&scene);
    scene.model.push(Reply::say("A wren.").usage(ModelUsage {
        input: 500,
        cached: 0,
        output: 10,
        reasoning: 0,
    }));
    let running = wait_for_people(&scene);
    let id = asked(&scene).await;
    assert_eq!(scene.model.requests().len(), 1, "nothing is sent before the answer");
    scene.run(&["requests", "show", &id]).await.exits(0).prints(&[
        "The budget of the conversation is 120k tokens, and 100040 tokens is spent",
        "The next request can cost up to ",
        "Allow 120k tokens more",
    ]);
    let status = scene.status().await;
    assert_eq!(
        (&status["budgets"][0]["spent"], &status["budgets"][0]["reserved"]),
        (&json!(100_040), &json!(0))
    );
    // Words without an amount allow nothing, and the person is asked again.
    reply(&scene, &id, "a little").await;
    let again = |status: &Value| {
        status["requests"].as_array().is_some_and(|open| open.len() == 1 && open[0]["id"] != json!(id))
    };
    let second = scene.wait_status(again).await["requests"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(scene.model.requests().len(), 1);
    reply(&scene, &second, "80k tokens").await;
    let ended = running.end().await.exits(0);
    let events = ended.events();
    assert_eq!(answer(&events), json!("A wren."), "{ended}");
    let state = budget(&scene, &session_of(&events)).await;
    assert_eq!(
        (&state["limit"], &state["spent"], &state["reserved"]),
        (&json!(200_000), &json!(100_550), &json!(0))
    );
    let sums = scene.run(&["usage", "--by", "session", "--json"]).await.exits(0).json();
    assert_eq!(sums[0]["usage"]["total"], state["spent"], "each request is counted once");
    scene.close().await;
}

#[tokio::test]
async fn a_person_stops_the_turn_instead() {
    let scene = scene_configured(CONVERSATION).await;
    reads(&scene);
    let running = wait_for_people(&scene);
    let id = asked(&scene).await;
    reply(&scene, &id, "Stop").await;
    running.end().await.exits(4);
    assert_eq!(scene.model.requests().len(), 1);
    scene.close().await;
}

#[tokio::test]
async fn a_turn_in_which_no_one_is_asked_ends_with_the_reason_and_the_next_step() {
    for how in [&["--approval", "never"][..], &[]] {
        let scene = scene_configured(CONVERSATION).await;
        reads(&scene);
        let arguments = [&["--json"], how, &["Read."]].concat();
        let ended = exec(&scene, "messages", &arguments).await.exits(1);
        let events = ended.events();
        let outcome = of_type(&events, "outcome")[0];
        assert_eq!(outcome["code"], "usage_limit", "{ended}");
        let message = outcome["message"].as_str().unwrap();
        assert!(
            message.starts_with("the budget of the conversation is 120k tokens, and 100040 tokens is spent"),
            "{ended}"
        );
        assert!(
            outcome["hint"].as_str().unwrap().contains("talaria config set budget.conversation"),
            "{ended}"
        );
        assert_eq!(scene.model.requests().len(), 1);
        scene.close().await;
    }
}

#[tokio::test]
async fn a_budget_in_dollars_needs_a_known_price() {
    let scene = scene_configured("[budget]\nday = \"$1\"\n").await;
    let refused = exec(&scene, "chat", &["Go."]).await.exits(1);
    refused.complains(&[
        "budget.day is in dollars, and the price of tiny at own-chat is not known",
        "providers.own-chat.models.\"tiny\".price",
        "talaria config set budget.providers.own-chat unlimited",
    ]);
    assert_eq!(scene.model.requests().len(), 0);
    let config = fs::read_to_string(scene.home().join("config.toml")).unwrap();
    let model = format!("models.{MODEL}]\ncontext = 200000\n");
    let priced = format!("{model}price = {{ input = 2.0, cached = 1.0, output = 10.0 }}\n");
    scene.configure(&config.replace(&model, &priced));
    scene.model.push(Reply::say("Done.").usage(ModelUsage {
        input: 1_000,
        cached: 0,
        output: 40,
        reasoning: 0,
    }));
    exec(&scene, "chat", &["Go."]).await.exits(0);
    // 1,000 at $2 and 40 at $10 a million.
    scene.run(&["usage"]).await.exits(0).prints(&["budget    today: $0.0024 of $1\n"]);
    scene.run(&["status"]).await.exits(0).prints(&["budget    today: $0.0024 of $1\n"]);
    // A provider that is left out of every budget is asked whatever it costs.
    scene.configure(&format!("{config}[budget.providers]\nown-responses = \"unlimited\"\n"));
    scene.model.push(Reply::say("Done.").usage(LARGE));
    exec(&scene, "responses", &["Go."]).await.exits(0);
    assert_eq!(scene.status().await["budgets"][0]["spent"], json!(2_400_000), "it is not counted");
    scene.close().await;
}

#[tokio::test]
async fn two_conversations_share_what_a_day_has() {
    let scene = scene_configured("[budget]\nday = \"100k tokens\"\n").await;
    let gate = Gate::new();
    scene.model.push(Reply::new().gate(&gate).text("First."));
    let first = scene.start(&["exec", "--provider", "own-chat", "--model", MODEL, "One."]);
    gate.reached().await;
    let reserved = scene.status().await["budgets"][0]["reserved"].as_u64().unwrap();
    assert!(reserved > 32_768, "{reserved}");
    let file = scene.home().join("config.toml");
    let config = fs::read_to_string(&file).unwrap();
    // Room for what runs, and for less than another request.
    scene.configure(&config.replace("100k tokens", &format!("{} tokens", reserved + 30_000)));
    let second = wait_for_people(&scene);
    let id = asked(&scene).await;
    scene.run(&["requests", "show", &id]).await.exits(0).prints(&["is reserved for requests that run"]);
    assert_eq!(scene.model.requests().len(), 1);
    reply(&scene, &id, "Stop").await;
    second.end().await.exits(4);
    gate.open();
    first.end().await.exits(0).prints(&["First."]);
    scene.close().await;
}

#[tokio::test]
async fn what_a_killed_engine_had_sent_counts_as_all_that_it_reserved() {
    let mut scene = scene_configured("[budget]\nconversation = \"1M tokens\"\n").await;
    let points = FaultPoints::listen(&scene.work().join("points"));
    scene.set(VARIABLE, points.socket());
    let mut trap = points.trap("before:model-answer", 0);
    let usage = ModelUsage { input: 900, cached: 0, output: 40, reasoning: 0 };
    scene.model.play([Reply::say("Never stored.").usage(usage), Reply::say("Stored.").usage(usage)]);
    let running = scene.start(&["exec", "--json", "--provider", "own-chat", "--model", MODEL, "Go."]);
    let held = trap.reached().await.unwrap();
    let reserved = scene.status().await["budgets"][0]["reserved"].as_u64().unwrap();
    scene.kill_engine().await;
    drop(held);
    drop(trap);
    running.end().await;
    talaria_testkit::until("the turn was asked again", || scene.model.requests().len() == 2).await;
    scene.wait_status(|status| status["turns"].as_array().is_some_and(Vec::is_empty)).await;
    let sums = scene.run(&["usage", "--by", "session", "--json"]).await.exits(0).json();
    let state = budget(&scene, sums[0]["key"].as_str().unwrap()).await;
    assert_eq!(
        (state["uncertain"].as_u64(), state["spent"].as_u64(), state["reserved"].as_u64()),
        (Some(reserved), Some(reserved + 940), Some(0)),
        "{state}"
    );
    scene.close().await;
}

#[tokio::test]
async fn what_a_person_allows_counts_once_although_the_engine_is_killed() {
    for point in
        ["before:budget-allowed", "after:budget-allowed", "before:budget-reserved", "after:budget-reserved"]
    {
        let mut scene = scene_configured(CONVERSATION).await;
        let points = FaultPoints::listen(&scene.work().join("points"));
        scene.set(VARIABLE, points.socket());
        reads(&scene);
        scene.model.push(Reply::say("A wren.").usage(LARGE));
        let running = wait_for_people(&scene);
        let id = asked(&scene).await;
        let mut trap = points.trap(point, 0);
        reply(&scene, &id, "100k tokens").await;
        let held = trap.reached().await.unwrap();
        scene.kill_engine().await;
        drop(held);
        drop(trap);
        running.end().await;
        scene.wait_status(|status| status["turns"].as_array().is_some_and(Vec::is_empty)).await;
        let sums = scene.run(&["usage", "--by", "session", "--json"]).await.exits(0).json();
        let state = budget(&scene, sums[0]["key"].as_str().unwrap()).await;
        assert_eq!(
            (&state["limit"], &state["spent"], &state["uncertain"]),
            (&json!(220_000), &json!(200_080), &json!(0)),
            "{point}: {state}"
        );
        assert_eq!((scene.model.requests().len(), &sums[0]["requests"]), (2, &json!(2)), "{point}");
        scene.close().await;
    }
}

#[tokio::test]
async fn a_person_lets_the_next_model_of_the_chain_continue() {
    let more = "[budget.providers]\nown-chat = \"120k tokens per day\"\n[model]\nfallback = [\"own-responses/tiny\"]\n";
    let scene = scene_configured(more).await;
    reads(&scene);
    scene.model.push(Reply::say("A wren, I think."));
    let running = wait_for_people(&scene);
    let id = asked(&scene).await;
    scene.run(&["requests", "show", &id]).await.exits(0).prints(&["Continue with own-responses/tiny"]);
    reply(&scene, &id, "Continue with own-responses/tiny").await;
    let ended = running.end().await.exits(0);
    assert_eq!(answer(&ended.events()), json!("A wren, I think."), "{ended}");
    let families: Vec<String> =
        scene.model.requests().iter().map(|request| format!("{:?}", request.family).to_lowercase()).collect();
    assert_eq!(families, ["chat", "responses"]);
    scene.close().await;
}

#[tokio::test]
async fn a_review_that_has_no_room_is_not_asked_and_says_so() {
    let scene = scene_configured(&format!("{CONVERSATION}[learning]\ncalls = 1\n")).await;
    let small = ModelUsage { input: 1_000, cached: 0, output: 40, reasoning: 0 };
    scene.model.push(Reply::new().function("search", json!({ "pattern": "x", "path": "." })).usage(small));
    scene.model.push(Reply::say("Nothing.").usage(LARGE));
    let ended = exec(&scene, "chat", &["--json", "Is there an x?"]).await.exits(0);
    let session = session_of(&ended.events());
    let review = loop {
        let shown = scene.run(&["sessions", "show", &session, "--json"]).await.exits(0).json();
        let review = shown[0]["reviews"].as_array().and_then(|reviews| reviews.last().cloned());
        if let Some(review) = review.filter(|review| review["state"] == "not_done") {
            break review;
        }
    };
    assert!(review.to_string().contains("the budget of the conversation is 120k tokens"), "{review}");
    assert_eq!(scene.model.requests().len(), 2);
    scene.close().await;
}
