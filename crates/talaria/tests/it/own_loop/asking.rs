//! Requests of the loop to a person: answered from another terminal, declined, or not asked at all.

use serde_json::json;
use talaria_scripted::Reply;
use talaria_testkit::until;

use crate::own_loop::{MODEL, exec, scene};
use crate::scene::of_type;

/// No sandbox, and every command is asked about.
const ASKS: [&str; 4] = ["--sandbox", "danger-full-access", "--approval", "untrusted"];

#[tokio::test]
async fn a_command_waits_for_the_person_and_runs_once_it_is_accepted() {
    for (family, decision) in [("responses", "accept"), ("chat", "decline"), ("messages", "accept")] {
        let scene = scene().await;
        scene.model.push(Reply::new().function("run", json!({ "command": "echo ran >> proof" })));
        scene.model.push(Reply::say("Done."));
        let provider = format!("own-{family}");
        let options = ["--provider", &provider, "--model", MODEL, "--approve", "wait"];
        let arguments = [&["exec", "--json"][..], &options, &ASKS, &["Run it."]].concat();
        let running = scene.start(&arguments);
        let status = scene
            .wait_status(|status| status["requests"].as_array().is_some_and(|all| !all.is_empty()))
            .await;
        let request = status["requests"][0]["id"].as_str().unwrap().to_owned();
        assert!(!scene.work().join("proof").exists(), "nothing runs before the answer");
        scene.run(&["requests", "answer", &request, decision]).await.exits(0);
        let ended = running.end().await;
        let is_accepted = decision == "accept";
        assert_eq!(scene.work().join("proof").exists(), is_accepted, "{ended}");
        assert_eq!(of_type(&ended.events(), "request_closed").len(), 1, "{ended}");
        let results = scene.model.requests()[1].tool_outputs();
        assert_eq!(results[0].contains("declined"), !is_accepted, "{results:?}");
        scene.close().await;
    }
}

#[tokio::test]
async fn a_request_survives_the_engine_and_is_asked_once() {
    let scene = scene().await;
    scene.model.push(Reply::new().function("run", json!({ "command": "echo ran >> proof" })));
    scene.model.push(Reply::say("Done."));
    let options = ["--provider", "own-chat", "--model", MODEL, "--approve", "wait"];
    let arguments = [&["exec", "--json"][..], &options, &ASKS, &["Run it."]].concat();
    let running = scene.start(&arguments);
    let is_asked =
        |status: &serde_json::Value| status["requests"].as_array().is_some_and(|all| all.len() == 1);
    let before = scene.wait_status(is_asked).await;
    scene.kill_engine().await;
    let after = scene.wait_status(is_asked).await;
    assert_eq!(before["requests"][0]["id"], after["requests"][0]["id"], "the same request");
    let request = after["requests"][0]["id"].as_str().unwrap().to_owned();
    scene.run(&["requests", "answer", &request, "accept"]).await.exits(0);
    until("the command ran", || scene.work().join("proof").exists()).await;
    let ended = running.end().await.exits(0);
    assert_eq!(of_type(&ended.events(), "request_opened").len(), 1, "{ended}");
    assert_eq!(std::fs::read_to_string(scene.work().join("proof")).unwrap(), "ran\n");
    scene.close().await;
}

#[tokio::test]
async fn without_a_sandbox_and_a_person_nothing_runs() {
    let scene = scene().await;
    scene.model.push(Reply::new().function("run", json!({ "command": "echo ran >> proof" })));
    scene.model.push(Reply::say("I could not."));
    exec(&scene, "messages", &["--sandbox", "workspace-write", "--approval", "never", "Run it."])
        .await
        .exits(0);
    assert!(!scene.work().join("proof").exists());
    let results = scene.model.requests()[1].tool_outputs();
    assert!(results[0].contains("no one is asked"), "{results:?}");
    scene.close().await;
}

/// The requests that wait for a person.
fn open_requests(status: &serde_json::Value) -> Vec<String> {
    let all = status["requests"].as_array().into_iter().flatten();
    all.map(|request| request["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn what_is_accepted_for_the_conversation_is_not_asked_again_also_by_the_next_engine() {
    let scene = scene().await;
    let append =
        |text: &str| Reply::new().function("run", json!({ "command": format!("echo {text} >> proof") }));
    let write = |text: &str| Reply::new().function("write", json!({ "path": "made.txt", "text": text }));
    scene.model.play([append("ran"), append("ran"), write("one"), write("two"), Reply::say("Done.")]);
    let options = ["--provider", "own-chat", "--model", MODEL, "--approve", "wait"];
    let arguments = [&["exec", "--json"][..], &options, &ASKS, &["Run it."]].concat();
    let running = scene.start(&arguments);
    let mut answered: Vec<String> = Vec::new();
    for _ in ["the command", "the file"] {
        let is_next = |status: &serde_json::Value| {
            open_requests(status).iter().any(|request| !answered.contains(request))
        };
        let status = scene.wait_status(is_next).await;
        let request = open_requests(&status).pop().unwrap();
        scene.run(&["requests", "answer", &request, "accept-for-session"]).await.exits(0);
        answered.push(request);
    }
    let ended = running.end().await.exits(0);
    let events = ended.events();
    let closed: Vec<_> =
        of_type(&events, "request_closed").iter().map(|event| event["why"].clone()).collect();
    let is_known =
        |why: &serde_json::Value| why.as_str().is_some_and(|why| why.contains("accepted the same"));
    assert_eq!(closed.iter().map(is_known).collect::<Vec<_>>(), [false, true, false, true], "{ended}");
    assert_eq!(std::fs::read_to_string(scene.work().join("proof")).unwrap(), "ran\nran\n");
    assert_eq!(std::fs::read_to_string(scene.work().join("made.txt")).unwrap(), "two");

    let session = events[0]["session"].as_str().unwrap().to_owned();
    scene.kill_engine().await;
    scene.model.play([append("ran"), append("other"), Reply::say("Done.")]);
    let running = scene.start(&["exec", "--json", "--resume", &session, "--approve", "wait", "Again."]);
    let status = scene.wait_status(|status| !open_requests(status).is_empty()).await;
    assert_eq!(std::fs::read_to_string(scene.work().join("proof")).unwrap(), "ran\nran\nran\n");
    let request = open_requests(&status).pop().unwrap();
    assert!(
        status["requests"].to_string().contains("echo other"),
        "another command is asked about: {status}"
    );
    scene.run(&["requests", "answer", &request, "decline"]).await.exits(0);
    running.end().await.exits(0);
    assert_eq!(std::fs::read_to_string(scene.work().join("proof")).unwrap(), "ran\nran\nran\n");
    scene.close().await;
}
