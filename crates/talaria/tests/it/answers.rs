//! Output of `talaria exec` on success: for people, for scripts, for shells.

use serde_json::json;
use talaria_scripted::{Gate, ModelUsage, Reply};
use talaria_testkit::Codex;
use talaria_testkit::app_server::directive::{send, stderr};
use talaria_testkit::app_server::{AppServer, agent_delta, complete_turn, start_turn};

use crate::scene::{Scene, both_versions, of_type, only};

both_versions!(
    newest:
    a_pipe_gets_the_answer_alone_and_standard_error_the_rest,
    what_is_said_before_the_answer_is_not_in_the_pipe,
    quiet_prints_only_the_answer,
    json_prints_one_numbered_event_per_line_and_nothing_else,
);

async fn a_pipe_gets_the_answer_alone_and_standard_error_the_rest(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().text("**first** line\n").gate(&gate).text("second line"));
    let mut running = scene.start(&["exec", "say two lines"]);
    // The settings in force are shown before the answer arrives.
    running.wait_for_account(&format!("Codex {}", codex.version)).await;
    gate.open();
    let ended = running.end().await.exits(0);
    assert_eq!(ended.stdout, "**first** line\nsecond line\n", "{ended}");
    let ended = ended.complains(&["gpt-5.5", "sandbox ", "tokens: 1.0k in (600 cached), 50 out"]);
    assert!(!ended.stderr.contains("line"), "the answer is printed once: {ended}");
    assert!(!ended.stderr.contains('\u{1b}'), "no escapes in a pipe: {ended}");
    assert_eq!(scene.model.requests()[0].prompt(), "say two lines");
    scene.close().await;
}

async fn what_is_said_before_the_answer_is_not_in_the_pipe(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().text("I look first.").command("echo out-$((40+2))"));
    scene.model.push(Reply::say("It is 42."));
    let never = ["--sandbox", "danger-full-access", "--approval", "never", "look"];
    let ended = scene.run(&[&["exec"], &never[..]].concat()).await.exits(0);
    assert_eq!(ended.stdout, "It is 42.\n", "{ended}");
    let ended = ended.complains(&["I look first.", "out-42", "tokens: "]);
    let at = |text: &str| ended.stderr.find(text).unwrap();
    assert!(at("I look first.") < at("out-42") && at("out-42") < at("tokens: "), "{ended}");
    scene.close().await;
}

async fn quiet_prints_only_the_answer(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().reasoning("hm").text("forty").text("-two"));
    let ended = scene.run(&["exec", "--quiet", "what is it?"]).await.exits(0);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("forty-two\n", ""));
    scene.close().await;
}

async fn json_prints_one_numbered_event_per_line_and_nothing_else(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let usage = ModelUsage { input: 900, cached: 500, output: 40, reasoning: 7 };
    scene.model.push(Reply::new().text_chunks(["Hel", "lo,\n", "\"wörld\"\u{1b}[2J"]).usage(usage));
    let ended = scene.run(&["exec", "--json", "greet me"]).await.exits(0);
    let events = ended.events();
    only(&events, "session_started");
    let text = "Hello,\n\"wörld\"\u{1b}[2J";
    let streamed: String =
        of_type(&events, "text_delta").iter().map(|event| event["delta"].as_str().unwrap()).collect();
    assert_eq!(streamed, text);
    let mut outcome = events.last().unwrap().clone();
    for stamp in ["session", "seq", "at", "turn_number"] {
        outcome.as_object_mut().unwrap().remove(stamp);
    }
    let expected = json!({
        "type": "outcome", "outcome": "completed", "code": null, "by": null, "message": null, "text": text,
        "usage": { "input": 900, "cached": 500, "output": 40, "reasoning": 7, "total": 940 },
        "declined": 0, "children_running": 0, "hint": null, "retry_at": null, "exit": 0,
    });
    assert_eq!(outcome, expected);
    scene.close().await;
}

#[tokio::test]
async fn what_codex_prints_to_standard_error_does_not_reach_the_json() {
    // Over the socket and over pipes.
    for version in ["0.166.0", "0.126.0"] {
        let noise = || stderr("thread 'main' panicked at nothing\n{\"type\":\"outcome\"}\nWARN a warning");
        let mut directives = vec![noise()];
        directives.extend(start_turn());
        directives.extend([noise(), send(agent_delta("fine")), noise()]);
        directives.extend(complete_turn("fine"));
        let (scene, _) = Scene::scripted(AppServer::ready(directives).version(version)).await;
        let ended = scene.run(&["exec", "--json", "go"]).await;
        assert_eq!(ended.code, Some(0), "{ended}");
        let events = ended.events();
        assert_eq!(events.last().unwrap()["text"], "fine");
        assert!(!ended.stdout.contains("WARN"), "{ended}");
        scene.close().await;
    }
}
