//! What goes wrong on the wire, through the whole program: the right outcome and exit code, no call of an answer that was
//! cut, and nothing doubled on screen or in the history that the next request replays.

use std::fs;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use talaria_scripted::{ModelRequest, Reply, ReplyEnd, SseFraming, SseLineEnding};

use crate::own_loop::{FAMILIES, MODEL, answer, scene};
use crate::scene::{Ended, Scene, of_type, only};

const WHOLE: &str = "The whole answer.";

/// Asks in a new conversation: `own` waits as long as usual, `quick` takes two seconds of silence for a cut.
async fn ask(scene: &Scene, kind: &str, family: &str, prompt: &str) -> Ended {
    let provider = format!("{kind}-{family}");
    // What must not run could run in this sandbox.
    let options = ["--provider", &provider, "--model", MODEL, "--sandbox", "workspace-write"];
    scene.run(&[&["exec", "--json"][..], &options, &[prompt]].concat()).await
}

async fn quick_scene() -> Scene {
    let scene = scene().await;
    let base = scene.model.base_url();
    let section = |kind: &str, api: &str, more: &str| {
        format!(
            "[providers.{kind}-{api}]\nbase_url = \"{base}\"\napi = \"{api}\"\nkey_env = \"OWN_KEY\"\n{more}"
        )
    };
    let both = |api| section("own", api, "") + &section("quick", api, "idle_timeout = \"2s\"\n");
    let sections: String = FAMILIES.into_iter().map(both).collect();
    scene.configure(&sections);
    fs::write(scene.work().join("notes.txt"), "eins\n").unwrap();
    scene
}

/// The streamed text of messages that count.
fn streamed(events: &[Value]) -> String {
    let is_void = |item: &Value| {
        of_type(events, "attempt_void").iter().any(|void| void["items"].as_array().unwrap().contains(item))
    };
    let deltas = of_type(events, "text_delta");
    deltas
        .iter()
        .filter(|delta| !is_void(&delta["item"]))
        .map(|delta| delta["delta"].as_str().unwrap())
        .collect()
}

/// The messages that the events call complete.
fn messages(events: &[Value]) -> Vec<&str> {
    let completed = of_type(events, "item_completed");
    let messages = completed.iter().filter(|event| event["item"]["kind"] == "agent_message");
    messages.map(|event| event["item"]["text"].as_str().unwrap()).collect()
}

/// The last request of a conversation that is continued.
async fn next_request(scene: &Scene, events: &[Value]) -> ModelRequest {
    let session = events[0]["session"].as_str().unwrap();
    scene.model.push(Reply::say("Yes."));
    scene.run(&["exec", "--resume", session, "And now?"]).await.exits(0);
    scene.model.requests().pop().unwrap()
}

#[tokio::test]
async fn every_way_to_write_a_stream_is_read_the_same() {
    let plain = SseFraming::default();
    let framings = [
        SseFraming { piece: Some(1), ..plain },
        SseFraming { ending: SseLineEnding::CrLf, bom: true, ..plain },
        SseFraming { ending: SseLineEnding::Cr, names: false, space: false, piece: Some(7), ..plain },
        SseFraming { several_lines: true, names: false, ..plain },
        SseFraming { piece: Some(40), pace: Some(Duration::from_millis(2)), ..plain },
    ];
    for family in FAMILIES {
        let scene = quick_scene().await;
        for framing in framings {
            let call = Reply::new()
                .comment("keep-alive")
                .reasoning("I think.")
                .text("Ich prüfe")
                .ping()
                .text(" 🦀.");
            scene.model.push(call.function("read", json!({ "path": "notes.txt" })).framing(framing));
            scene.model.push(Reply::new().comment("x").text("Die Größe").text(" ist 42.").framing(framing));
            let ended = ask(&scene, "own", family, "Wie groß?").await.exits(0);
            let events = ended.events();
            assert_eq!(answer(&events), json!("Die Größe ist 42."), "{family} {framing:?}: {ended}");
            assert_eq!(
                messages(&events),
                ["Ich prüfe 🦀.", "Die Größe ist 42."],
                "{family} {framing:?}: {ended}"
            );
            assert_eq!(streamed(&events), "Ich prüfe 🦀.Die Größe ist 42.", "{family} {framing:?}: {ended}");
            assert_eq!(of_type(&events, "corrupt").len(), 0, "{family} {framing:?}: {ended}");
            let next = next_request(&scene, &events).await;
            assert_eq!(
                next.assistant_texts(),
                ["Ich prüfe 🦀.", "Die Größe ist 42."],
                "{family} {framing:?}"
            );
            assert_eq!(next.tool_outputs().len(), 1, "{family} {framing:?}");
            assert_eq!(next.user_texts(), ["Wie groß?", "And now?"], "{family} {framing:?}");
        }
        scene.close().await;
    }
}

/// An answer that has a call and is cut: the call must not run.
fn half() -> Reply {
    Reply::new().text("A wrong half.").function("write", json!({ "path": "ran.txt", "text": "it ran" }))
}

#[tokio::test]
async fn an_answer_without_its_end_is_asked_for_again_and_none_of_its_calls_runs() {
    type NamedFault = (&'static str, &'static str, fn() -> Reply);
    let faults: [NamedFault; 6] = [
        ("own", "no terminal frame", || half().end_stream()),
        ("own", "a connection that breaks", || half().drop_stream()),
        ("own", "an error frame after 200", || half().error_frame("server_error", "the upstream broke")),
        ("quick", "a stall", || half().stall()),
        ("quick", "a stall with pings", || half().stall_with_pings(Duration::from_millis(150))),
        ("own", "a page instead of a stream", || Reply::html(502, "<html><title>Bad gateway</title></html>")),
    ];
    // Most of the time is spent waiting: for silence to count as a cut, and before a request is repeated.
    join_all(FAMILIES.map(async |family| {
        let scene = quick_scene().await;
        for (kind, name, fault) in faults {
            let before = scene.model.requests().len();
            scene.model.push(fault());
            scene.model.push(Reply::say(WHOLE));
            let ended = ask(&scene, kind, family, "Say it.").await.exits(0);
            let events = ended.events();
            let place = format!("{family}, {name}: {ended}");
            assert_eq!(answer(&events), json!(WHOLE), "{place}");
            assert_eq!(messages(&events), [WHOLE], "{place}");
            assert_eq!(streamed(&events), WHOLE, "{place}");
            assert_eq!(of_type(&events, "retrying").len(), 1, "{place}");
            assert!(!scene.work().join("ran.txt").exists(), "{place}");
            assert_eq!(scene.model.requests().len() - before, 2, "{place}");
            let next = next_request(&scene, &events).await;
            assert_eq!(next.assistant_texts(), [WHOLE], "{place}");
            assert_eq!(next.tool_outputs(), [""; 0], "{place}");
        }
        scene.close().await;
    }))
    .await;
}

#[tokio::test]
async fn what_follows_the_end_of_an_answer_changes_nothing() {
    type NamedReply = (&'static str, fn() -> Reply);
    let late: [NamedReply; 3] = [
        ("frames after the end", || Reply::say(WHOLE).finish(ReplyEnd::Natural).text(" And more.")),
        ("a second end", || Reply::say(WHOLE).finish(ReplyEnd::Natural).finish(ReplyEnd::Natural)),
        ("one JSON body", || Reply::say(WHOLE).as_json()),
    ];
    for family in FAMILIES {
        let scene = quick_scene().await;
        for (name, reply) in late {
            let before = scene.model.requests().len();
            scene.model.push(reply());
            let ended = ask(&scene, "own", family, "Say it.").await.exits(0);
            let events = ended.events();
            let place = format!("{family}, {name}: {ended}");
            assert_eq!(answer(&events), json!(WHOLE), "{place}");
            assert_eq!(messages(&events), [WHOLE], "{place}");
            assert_eq!(of_type(&events, "retrying").len(), 0, "{place}");
            assert_eq!(scene.model.requests().len() - before, 1, "{place}");
            assert_eq!(next_request(&scene, &events).await.assistant_texts(), [WHOLE], "{place}");
        }
        scene.close().await;
    }
}

#[tokio::test]
async fn an_answer_at_the_output_limit_is_never_called_completed() {
    for family in FAMILIES {
        let scene = quick_scene().await;
        scene.model.push(Reply::say("Cut here").finish(ReplyEnd::MaxOutput));
        let ended = ask(&scene, "own", family, "Say it.").await.exits(1);
        let events = ended.events();
        let outcome = events.last().unwrap();
        assert_eq!(outcome["outcome"], "failed", "{family}: {ended}");
        assert!(outcome["message"].as_str().unwrap().contains("output limit"), "{family}: {ended}");
        assert_eq!(outcome["text"], "Cut here", "{family}: what was said is shown: {ended}");
        assert_eq!(outcome["hint"], "ask the model to continue", "{family}: {ended}");
        assert_eq!(next_request(&scene, &events).await.assistant_texts(), ["Cut here"], "{family}");
        scene.close().await;
    }
}

/// Only this family has an end of its own for a refusal; in the others it is a part of an ordinary answer.
#[tokio::test]
async fn what_was_shown_before_a_refusal_is_void_and_no_item_stays_open() {
    let scene = quick_scene().await;
    scene.model.push(half().finish(ReplyEnd::ContentFilter));
    let ended = ask(&scene, "own", "messages", "Say it.").await.exits(1);
    let events = ended.events();
    let void = only(&events, "attempt_void");
    let started = of_type(&events, "item_started").into_iter();
    let shown: Vec<&Value> = started
        .filter(|event| event["item"]["kind"] == "agent_message")
        .map(|event| &event["item"]["id"])
        .collect();
    assert_eq!(shown.len(), 1, "{ended}");
    assert_eq!(void["items"], json!(shown), "{ended}");
    let outcome = events.last().unwrap();
    assert!(outcome["message"].as_str().unwrap().starts_with("the model refused: "), "{ended}");
    assert_eq!((&outcome["text"], scene.model.requests().len()), (&Value::Null, 1), "{ended}");
    assert!(!scene.work().join("ran.txt").exists(), "{ended}");
    assert_eq!(next_request(&scene, &events).await.tool_outputs(), [""; 0]);
    scene.close().await;
}

#[tokio::test]
async fn a_page_of_a_proxy_is_no_answer_whatever_its_status() {
    for family in FAMILIES {
        let scene = quick_scene().await;
        let page = "<!doctype html><html><title>Sign in to the network</title></html>";
        // With a status of success it may be a passing fault of a relay; the retries are bounded.
        for (status, code, requests) in
            [(200, "server", 6), (403, "not_permitted", 1), (404, "model_not_found", 1)]
        {
            let before = scene.model.requests().len();
            (0..requests)
                .for_each(|_| scene.model.push(Reply::html(status, page).header("retry-after-ms", "1")));
            let ended = ask(&scene, "own", family, "Say it.").await.exits(1);
            let events = ended.events();
            let outcome = events.last().unwrap();
            assert_eq!(outcome["code"], code, "{family} {status}: {ended}");
            assert!(
                outcome["message"].as_str().unwrap().contains("Sign in to the network"),
                "{family}: {ended}"
            );
            assert_eq!(scene.model.requests().len() - before, requests, "{family} {status}: {ended}");
        }
        scene.close().await;
    }
}
