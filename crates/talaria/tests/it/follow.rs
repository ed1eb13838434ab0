//! A turn that is followed from elsewhere, gone on with later, and survives its engine.

use std::fs;

use rustix::process::{Signal, kill_process};
use serde_json::Value;
use talaria_scripted::{Gate, Reply};
use talaria_testkit::Codex;

use crate::scene::{Ended, Scene, both_versions, of_type, only};

both_versions!(
    a_conversation_is_gone_on_with_on_the_same_thread,
    a_conversation_goes_on_with_another_model_only_when_that_is_asked_for;
    newest:
    a_conversation_that_rested_is_told_to_a_fresh_thread,
    a_running_turn_is_followed_from_its_beginning_by_several,
    a_follower_misses_nothing_and_sees_nothing_twice_when_the_engine_is_killed,
);

/// The session of what was printed as JSON.
fn session(ended: &Ended) -> String {
    ended.events()[0]["session"].as_str().unwrap().to_owned()
}

/// The model's text, piece by piece.
fn streamed(events: &[Value]) -> String {
    of_type(events, "text_delta").iter().map(|event| event["delta"].as_str().unwrap()).collect()
}

async fn a_conversation_is_gone_on_with_on_the_same_thread(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::say("first"));
    let first = scene.run(&["exec", "--json", "one"]).await.exits(0);
    let id = session(&first);
    scene.model.push(Reply::say("second"));
    let second = scene.run(&["exec", "--json", "--resume", &id[..13], "two"]).await.exits(0);
    assert_eq!(session(&second), id);
    let last = first.events().last().unwrap()["seq"].as_i64().unwrap();
    assert!(second.events()[0]["seq"].as_i64().unwrap() > last, "only the second turn is shown: {second}");
    assert_eq!(second.events().last().unwrap()["text"], "second");
    let asked = scene.model.requests().last().unwrap().body["input"].to_string();
    assert!(asked.contains("one") && asked.contains("first") && asked.contains("two"), "{asked}");

    // The engine and its Codex are gone, the conversation is not.
    scene.run(&["stop"]).await.exits(0);
    scene.model.push(Reply::say("third"));
    scene.run(&["exec", "--quiet", "--resume", &id, "three"]).await.exits(0).prints(&["third"]);
    let asked = scene.model.requests().last().unwrap().body["input"].to_string();
    assert!(asked.contains("one") && asked.contains("second") && asked.contains("three"), "{asked}");
    scene.close().await;
}

async fn a_conversation_goes_on_with_another_model_only_when_that_is_asked_for(codex: Codex) {
    let scene = Scene::real(&codex).await;
    ["one", "two", "three"].into_iter().for_each(|text| scene.model.push(Reply::say(text)));
    let id = session(&scene.run(&["exec", "--json", "first"]).await.exits(0));
    let other =
        scene.run(&["exec", "--json", "--resume", &id, "--model", "gpt-5.4", "second"]).await.exits(0);
    let events = other.events();
    // Reported by Codex or read from its file, not the requested value.
    assert_eq!(only(&events, "settings_confirmed")["model"], "gpt-5.4", "{other}");
    let third = scene.run(&["exec", "--json", "--resume", &id, "third"]).await.exits(0);
    assert!(of_type(&third.events(), "settings_confirmed").is_empty(), "{third}");
    let requests = scene.model.requests();
    let models: Vec<_> = requests.iter().map(|request| request.body["model"].as_str().unwrap()).collect();
    assert_eq!(models, ["gpt-5.5", "gpt-5.4", "gpt-5.4"]);
    scene.close().await;
}

/// The engine keeps nothing of a conversation in memory between turns; a fresh thread's history is read again.
async fn a_conversation_that_rested_is_told_to_a_fresh_thread(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::say("The word is heron."));
    let id = session(&scene.run(&["exec", "--json", "tell me a word"]).await.exits(0));
    let engine = scene.engine_pid().await;
    kill_process(scene.codex_pid().await, Signal::KILL).unwrap();
    // Input sent to a Codex whose end is not known yet may have arrived, and is not sent again.
    scene.wait_status(|status| status["hosts"].as_array().is_some_and(Vec::is_empty)).await;
    fs::remove_dir_all(scene.codex_home.path().join("sessions")).unwrap();
    scene.model.push(Reply::say("heron"));
    scene.run(&["exec", "--json", "--resume", &id, "which word was it?"]).await.exits(0);
    let asked = scene.model.requests().pop().unwrap();
    let told = asked.user_texts().concat();
    assert!(told.contains("tell me a word") && told.contains("The word is heron."), "{told}");
    assert_eq!(asked.prompt(), "which word was it?");
    assert_eq!(scene.engine_pid().await, engine, "the engine that ran the first turn ran the second");
    scene.close().await;
}

async fn a_running_turn_is_followed_from_its_beginning_by_several(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().text("half\n").gate(&gate).text("and whole\n"));
    let mut running = scene.start(&["exec", "--json", "go"]);
    running.wait_for("half").await;
    let status = scene.status().await;
    let id = status["turns"][0]["session"].as_str().unwrap();
    let mut second = scene.start(&["exec", "--attach", id, "--json"]);
    let mut third = scene.start(&["exec", "--attach", id]);
    second.wait_for("half").await;
    third.wait_for_account("Codex ").await;
    gate.open();
    let (first, second) = (running.end().await.exits(0), second.end().await.exits(0));
    assert_eq!(first.events(), second.events(), "both see the same");
    third.end().await.exits(0).prints(&["half\nand whole"]);
    scene.close().await;
}

async fn a_follower_misses_nothing_and_sees_nothing_twice_when_the_engine_is_killed(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().text("half\n").gate(&gate).text("and whole\n"));
    let mut running = scene.start(&["exec", "--json", "go"]);
    running.wait_for("half").await;
    kill_process(scene.engine_pid().await.unwrap(), Signal::KILL).unwrap();
    gate.open();
    let ended = running.end().await.exits(0);
    // Without a gap: `events` checks the numbers.
    let events = ended.events();
    assert_eq!(events.last().unwrap()["text"], "half\nand whole\n", "{ended}");
    let seen = streamed(&events);
    assert!("half\nand whole\n".starts_with(&seen) || seen.starts_with("half\n"), "{ended}");
    assert_eq!(scene.model.requests().len(), 1, "nothing is prompted twice");
    scene.close().await;
}
