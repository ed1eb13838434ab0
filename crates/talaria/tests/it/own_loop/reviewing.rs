//! Reviews of conversations on the built-in loop: the next request of the conversation, whose calls are not executed, counted with
//! the rest, stopped by work.

use serde_json::{Value, json};
use talaria_scripted::{Gate, ModelUsage, Reply};
use talaria_testkit::fault_points::{FaultPoints, VARIABLE};

use crate::own_loop::{FAMILIES, MODEL, exec, scene};
use crate::scene::Scene;

const USAGE: ModelUsage = ModelUsage { input: 900, cached: 500, output: 40, reasoning: 0 };

/// A scene in which one call of a tool makes a review due.
async fn learning(more: &str) -> Scene {
    let scene = scene().await;
    let config = std::fs::read_to_string(scene.home().join("config.toml")).unwrap();
    scene.configure(&format!("{config}[learning]\ncalls = 1\n{more}"));
    scene
}

fn works() -> [Reply; 2] {
    [
        Reply::new().function("search", json!({ "pattern": "cache", "path": "." })).usage(USAGE),
        Reply::say("Nothing about a cache.").usage(USAGE),
    ]
}

fn proposes(text: &str) -> Reply {
    Reply::say(json!({ "memory": [{ "op": "add", "scope": "user", "text": text }] }).to_string()).usage(USAGE)
}

/// The conversation, once its newest review has this state.
async fn reviewed(scene: &Scene, session: &str, state: &str) -> Value {
    loop {
        let shown = scene.run(&["sessions", "show", session, "--json"]).await.exits(0).json();
        let is_there = shown[0]["reviews"]
            .as_array()
            .and_then(|reviews| reviews.last().cloned())
            .is_some_and(|review| review["state"] == state);
        if is_there {
            return shown[0].clone();
        }
    }
}

async fn remembered(scene: &Scene) -> Vec<Value> {
    let rows = scene.run(&["memory", "list", "--json"]).await.exits(0).json();
    rows.into_iter().map(|row| row["text"].clone()).collect()
}

fn session_of(events: &[Value]) -> String {
    events[0]["session"].as_str().unwrap().to_owned()
}

/// The members of a request that decide about a provider's cache, and the items of its conversation.
fn parts(body: &Value) -> (Vec<Value>, Vec<Value>) {
    let head = ["model", "instructions", "system", "tools"].map(|name| body[name].clone()).to_vec();
    let items = body.get("input").or_else(|| body.get("messages")).unwrap().as_array().unwrap().clone();
    // Marks for the cache move with the conversation; they are no part of what is cached.
    (head, items.into_iter().map(without_marks).collect())
}

fn without_marks(mut value: Value) -> Value {
    match &mut value {
        Value::Object(members) => {
            members.remove("cache_control");
            members.values_mut().for_each(|member| *member = without_marks(member.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without_marks(item.take())),
        _ => {}
    }
    value
}

#[tokio::test]
async fn a_review_is_the_next_request_of_the_conversation_and_counted_with_it() {
    for family in FAMILIES {
        let scene = learning("").await;
        scene.model.play(works().into_iter().chain([proposes("Prefers pelicans")]));
        let ended = exec(&scene, family, &["--json", "Is there a cache?"]).await.exits(0);
        let session = session_of(&ended.events());
        let shown = reviewed(&scene, &session, "done").await;
        assert_eq!(remembered(&scene).await, ["Prefers pelicans"], "{family}: {shown}");
        assert_eq!(shown["reviews"][0]["usage"]["total"], 940, "{family}: {shown}");
        let requests = scene.model.requests();
        let [_, last, review] = &requests[..] else { panic!("{family}: {} requests", requests.len()) };
        let ((head, items), (review_head, review_items)) = (parts(&last.body), parts(&review.body));
        assert_eq!(head, review_head, "{family}: system prompt and tools stay");
        assert!(review_items.starts_with(&items), "{family}: the conversation stays, byte for byte");
        assert_eq!(review.assistant_texts().last(), Some(&"Nothing about a cache."), "{family}");
        assert!(review.prompt().contains("memory"), "{family}: the question is the last item");
        // A side question does not become a part of the conversation.
        scene.model.push(Reply::say("Still nothing.").usage(USAGE));
        scene.run(&["exec", "--resume", &session, "And now?"]).await.exits(0);
        let next = scene.model.requests().pop().unwrap();
        assert_eq!(next.user_texts(), ["Is there a cache?", "And now?"], "{family}");
        let sums = scene.run(&["usage", "--by", "session", "--json"]).await.exits(0).json();
        assert_eq!(
            (&sums[0]["requests"], &sums[0]["usage"]["total"], &sums[0]["amount"]),
            (&json!(4), &json!(4 * 940), &Value::Null),
            "{family}: each request once, and no price where none is known: {sums:?}"
        );
        scene.close().await;
    }
}

#[tokio::test]
async fn a_call_instead_of_an_answer_is_not_executed_and_the_review_is_not_done() {
    for family in FAMILIES {
        let scene = learning("").await;
        let call = || Reply::new().function("write", json!({ "path": "made.txt", "text": "no" }));
        scene.model.play(works().into_iter().chain([call(), call()]));
        let arguments = ["--json", "--sandbox", "workspace-write", "Is there a cache?"];
        let ended = exec(&scene, family, &arguments).await.exits(0);
        let session = session_of(&ended.events());
        let shown = reviewed(&scene, &session, "not_done").await;
        assert!(!scene.work().join("made.txt").exists(), "{family}");
        assert_eq!(scene.model.requests().len(), 4, "{family}: asked twice");
        let why = shown["reviews"][0]["report"]["why"].as_str().unwrap().to_owned();
        assert!(why.starts_with("asked 2 times"), "{family}: {why}");
        assert_eq!(remembered(&scene).await, [""; 0], "{family}");
        scene.close().await;
    }
}

#[tokio::test]
async fn another_model_of_the_provider_reviews() {
    let scene = learning("[auxiliary]\nbackground_review = \"small\"\n").await;
    scene.model.play(works().into_iter().chain([proposes("Prefers pelicans")]));
    let ended = exec(&scene, "chat", &["--json", "Is there a cache?"]).await.exits(0);
    reviewed(&scene, &session_of(&ended.events()), "done").await;
    let models: Vec<Value> =
        scene.model.requests().iter().map(|request| request.body["model"].clone()).collect();
    assert_eq!(models, [MODEL, MODEL, "small"]);
    scene.close().await;
}

#[tokio::test]
async fn a_model_of_another_provider_reviews() {
    let other = "[auxiliary]\nbackground_review = { provider = \"own-messages\", model = \"small\" }\n";
    let scene = learning(other).await;
    scene.model.play(works().into_iter().chain([proposes("Prefers pelicans")]));
    let ended = exec(&scene, "chat", &["--json", "Is there a cache?"]).await.exits(0);
    reviewed(&scene, &session_of(&ended.events()), "done").await;
    let review = scene.model.requests().pop().unwrap();
    assert_eq!(
        (format!("{:?}", review.family).to_lowercase(), &review.body["model"]),
        ("messages".to_owned(), &json!("small"))
    );
    assert_eq!(remembered(&scene).await, ["Prefers pelicans"]);
    scene.close().await;
}

#[tokio::test]
async fn work_for_the_conversation_stops_a_review_and_it_is_done_after_it() {
    for family in FAMILIES {
        let scene = learning("").await;
        let gate = Gate::new();
        let held = Reply::new().gate(&gate).text("{}");
        scene.model.play(works().into_iter().chain([held]));
        let ended = exec(&scene, family, &["--json", "Is there a cache?"]).await.exits(0);
        let session = session_of(&ended.events());
        reviewed(&scene, &session, "running").await;
        talaria_testkit::until("the question has arrived", || scene.model.requests().len() == 3).await;
        scene.model.play([Reply::say("Nothing new."), proposes("Prefers pelicans")]);
        let ended = scene.run(&["exec", "--resume", &session, "And now?"]).await.exits(0);
        assert_eq!(ended.stdout, "Nothing new.\n", "{family}: the turn does not wait for the review");
        let shown = reviewed(&scene, &session, "done").await;
        assert_eq!(shown["reviews"].as_array().unwrap().len(), 1, "{family}: {shown}");
        assert_eq!(shown["reviews"][0]["attempts"], 1, "{family}: a stopped attempt does not count: {shown}");
        assert_eq!(remembered(&scene).await, ["Prefers pelicans"], "{family}");
        let sums = scene.run(&["usage", "--by", "session", "--json"]).await.exits(0).json();
        // Only Anthropic's family reports tokens at the beginning of an answer.
        let estimated = u64::from(family != "messages");
        assert_eq!(
            (&sums[0]["requests"], &sums[0]["estimated"], &sums[0]["usage"]["partial"]),
            (&json!(5), &json!(estimated), &json!(true)),
            "{family}: what was stopped is counted, as an estimate or a lower bound: {sums:?}"
        );
        gate.open();
        scene.close().await;
    }
}

#[tokio::test]
async fn a_review_without_a_key_waits_for_the_next_turn_and_is_not_given_up() {
    let mut scene = learning("").await;
    let points = FaultPoints::listen(&scene.work().join("points"));
    scene.set(VARIABLE, points.socket());
    let mut trap = points.trap("after:review-due", 0);
    scene.model.play(works());
    let running = scene.start(&["exec", "--provider", "own-chat", "--model", MODEL, "Is there a cache?"]);
    let held = trap.reached().await.unwrap();
    scene.kill_engine().await;
    drop(held);
    drop(trap);
    running.end().await;
    // The next engine has no key: it is asked nothing, and says that the review waits.
    scene.set("OWN_KEY", "");
    let sums = scene.run(&["sessions", "list", "--json"]).await.exits(0).json();
    let session = sums[0]["id"].as_str().unwrap().to_owned();
    let shown = reviewed(&scene, &session, "due").await;
    assert_eq!(scene.model.requests().len(), 2, "{shown}");
    scene.set("OWN_KEY", crate::own_loop::KEY);
    scene.model.play([Reply::say("Nothing new."), proposes("Prefers pelicans")]);
    scene.run(&["exec", "--resume", &session, "And now?"]).await.exits(0);
    let shown = reviewed(&scene, &session, "done").await;
    assert_eq!(shown["reviews"].as_array().unwrap().len(), 1, "{shown}");
    assert_eq!(remembered(&scene).await, ["Prefers pelicans"]);
    scene.close().await;
}
