//! Failures around a turn: the model server, Codex, the reader of the output, Talaria itself.

use std::fs::File;

use rustix::process::{Signal, kill_process};
use serde_json::json;
use talaria_scripted::{Gate, Reply};
use talaria_testkit::Codex;
use talaria_testkit::app_server::directive::{close, exit, huge, notify, raw, raw_bytes, send, stderr};
use talaria_testkit::app_server::{AppServer, THREAD, TURN, agent_delta, complete_turn, start_turn};

use crate::scene::{Scene, both_versions, of_type};

both_versions!(
    faults_of_the_model_server_have_their_own_exit_code_and_hint;
    newest:
    quiet_tells_a_failure_on_standard_error,
    a_killed_codex_loses_the_turn_with_the_signal_named,
    a_reader_that_leaves_ends_the_turn_without_a_panic,
    a_reader_that_never_came_does_not_matter,
    output_that_cannot_be_written_is_an_error,
    a_turn_goes_on_when_its_command_is_killed,
);

async fn faults_of_the_model_server_have_their_own_exit_code_and_hint(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let model_gone = json!({ "error": { "message": "no such model", "type": "invalid_request_error", "code": "model_not_found" } });
    let cases = [
        (Reply::status(401), 6, "auth", "hint: check the key of the provider mock"),
        (Reply::status(429), 1, "rate_limit", "hint: wait a little"),
        (Reply::status(500), 1, "server", "hint: the provider had an error"),
        (Reply::status(404).body(model_gone), 1, "model_not_found", "hint: choose another model"),
        (Reply::new().text("half").drop_stream(), 1, "connection", "hint: check the network"),
    ];
    for (reply, code, class, hint) in cases {
        scene.model.push(reply);
        let ended = scene.run(&["exec", "go"]).await.exits(code);
        assert_eq!(ended.stdout, "", "nothing that looks like an answer");
        let ended = ended.complains(&[&format!("error: the turn failed ({class}"), "cause: ", hint]);
        let names_address = ended.stderr.contains("check the provider's base_url");
        assert_eq!(names_address, class == "model_not_found", "{ended}");
    }
    scene.close().await;
}

async fn quiet_tells_a_failure_on_standard_error(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::status(401));
    let ended = scene.run(&["exec", "--quiet", "go"]).await.exits(6);
    assert_eq!(ended.stdout, "");
    ended.complains(&["error: the turn failed (auth)", "hint: check the key of the provider mock"]);
    scene.close().await;
}

#[tokio::test]
async fn a_login_is_advised_for_openai_and_for_no_provider_that_takes_none() {
    for (provider, first, last) in [
        ("mock", "check the key of the provider mock", "only if that provider uses it"),
        ("openai", "run `talaria login`", ", then try again"),
    ] {
        let error = json!({ "message": "401 Unauthorized", "codexErrorInfo": "unauthorized", "additionalDetails": null });
        let turn = json!({ "id": TURN, "rootTurnId": TURN, "items": [], "itemsView": "notLoaded",
            "status": "failed", "error": error, "startedAt": null, "completedAt": null, "durationMs": null });
        let failed = notify("turn/completed", json!({ "threadId": THREAD, "turn": turn }));
        let play = [start_turn(), vec![failed.clone()], start_turn(), vec![failed]].concat();
        let (scene, _installed) = Scene::scripted(AppServer::ready(play).provider(provider)).await;
        let told = scene.run(&["exec", "go"]).await.exits(6);
        let hint = told.stderr.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap();
        assert!(hint.starts_with(first) && hint.ends_with(last), "{told}");
        let json = scene.run(&["exec", "--json", "go"]).await.exits(6);
        assert_eq!(json.events().last().unwrap()["hint"], hint, "{json}");
        scene.close().await;
    }
}

async fn a_killed_codex_loses_the_turn_with_the_signal_named(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().text("half\n").stall());
    let running = scene.start(&["exec", "go"]);
    scene.model.wait_for_requests(1).await;
    kill_process(scene.codex_pid().await, Signal::KILL).unwrap();
    let ended = running.end().await.exits(7);
    assert_eq!(ended.stdout, "", "nothing that looks like an answer");
    ended.complains(&[
        "error: the turn was lost; how it ended is not known",
        "signal: 9 (SIGKILL)",
        "hint: check what it did",
    ]);
    scene.close().await;
}

async fn a_reader_that_leaves_ends_the_turn_without_a_panic(codex: Codex) {
    let scene = Scene::real(&codex).await;
    for options in [&["exec", "go"][..], &["exec", "--json", "go"]] {
        let gate = Gate::new();
        scene.model.push(Reply::new().text("first\n").gate(&gate).text("second\n").stall());
        let mut running = scene.start(options);
        if options.contains(&"--json") {
            running.wait_for("first").await;
        } else {
            gate.reached().await;
        }
        // As `head -1` does.
        let ended = running.hang_up();
        gate.open();
        let ended = ended.await.exits(4);
        assert!(!ended.stderr.contains("error"), "{ended}");
    }
    scene.close().await;
}

async fn a_reader_that_never_came_does_not_matter(codex: Codex) {
    let scene = Scene::real(&codex).await;
    for (command, code) in [("doctor", 0), ("demo", 4)] {
        let ended = scene.start(&[command]).hang_up().await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(code), ""), "{ended}");
    }
    scene.close().await;
}

async fn output_that_cannot_be_written_is_an_error(codex: Codex) {
    // Not every system has such a device.
    let Ok(full) = File::options().write(true).open("/dev/full") else { return };
    let scene = Scene::real(&codex).await;
    for options in
        [&["exec", "go"][..], &["exec", "--json", "go"], &["exec", "--quiet", "go"], &["doctor"], &["demo"]]
    {
        scene.model.push(Reply::say("unheard"));
        let output = scene.command(options).stdout(full.try_clone().unwrap()).spawn().unwrap();
        let output = output.wait_with_output().await.unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{options:?}: {stderr}");
        assert!(
            stderr.contains("error: cannot write the output\ncause: No space left"),
            "{options:?}: {stderr}"
        );
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
    scene.close().await;
}

async fn a_turn_goes_on_when_its_command_is_killed(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().text("half\n").gate(&gate).text("and whole\n"));
    let mut running = scene.start(&["exec", "--json", "go"]);
    running.wait_for("half").await;
    running.kill().await;
    let status = scene.wait_status(|status| status["turns"].as_array().unwrap().len() == 1).await;
    let session = status["turns"][0]["session"].as_str().unwrap();
    let mut attached = scene.start(&["exec", "--attach", session, "--json"]);
    attached.wait_for("half").await;
    gate.open();
    let ended = attached.end().await.exits(0);
    let events = ended.events();
    assert_eq!(events.last().unwrap()["text"], "half\nand whole\n", "{ended}");
    scene.close().await;
}

/// Over the socket and over pipes.
const BOTH_WAYS: [&str; 2] = ["0.166.0", "0.126.0"];

#[tokio::test]
async fn garbage_from_codex_is_shown_and_the_turn_goes_on() {
    for version in BOTH_WAYS {
        let mut directives = start_turn();
        directives.extend([raw("this is { no JSON"), raw("[1,2]"), send(agent_delta("fine"))]);
        directives.extend(complete_turn("fine"));
        let (scene, _) = Scene::scripted(AppServer::ready(directives).version(version)).await;
        let ended = scene.run(&["exec", "--json", "go"]).await.exits(0);
        let events = ended.events();
        assert_eq!(of_type(&events, "corrupt").len(), 2, "{ended}");
        assert_eq!(events.last().unwrap()["text"], "fine");
        scene.close().await;
    }
}

#[tokio::test]
async fn a_message_of_64_megabytes_is_named_and_never_taken_in() {
    // After a line the next one can be found; a socket that was not read to its end is of no use any more.
    for (version, exit) in [("0.166.0", 7), ("0.126.0", 0)] {
        let mut directives = start_turn();
        directives.extend([huge(64 * 1024 * 1024), send(agent_delta("fine"))]);
        directives.extend(complete_turn("fine"));
        let (scene, _) = Scene::scripted(AppServer::ready(directives).version(version)).await;
        let ended = scene.run(&["exec", "--json", "go"]).await.exits(exit);
        ended.events();
        ended.prints(&["67108864 bytes; at most 33554432 bytes are read"]);
        scene.close().await;
    }
}

#[tokio::test]
async fn invalid_utf8_from_codex_is_named() {
    for (version, exit) in [("0.166.0", 7), ("0.126.0", 0)] {
        let mut directives = start_turn();
        directives.extend([raw_bytes(b"{\"method\":\"\xff\xfe\"}"), send(agent_delta("fine"))]);
        directives.extend(complete_turn("fine"));
        let (scene, _) = Scene::scripted(AppServer::ready(directives).version(version)).await;
        let ended = scene.run(&["exec", "--json", "go"]).await.exits(exit);
        ended.events();
        ended.prints(&["not valid UTF-8"]);
        scene.close().await;
    }
}

#[tokio::test]
async fn a_codex_that_goes_by_itself_loses_the_turn_with_its_last_words() {
    for version in BOTH_WAYS {
        let mut directives = start_turn();
        directives.extend([stderr("out of cheese"), exit(3)]);
        let (scene, _) = Scene::scripted(AppServer::ready(directives).version(version)).await;
        let ended = scene.run(&["exec", "go"]).await.exits(7);
        ended.complains(&["error: the turn was lost", "exit status: 3", "out of cheese"]);
        scene.close().await;
    }
}

#[tokio::test]
async fn a_codex_that_hangs_up_loses_the_turn() {
    let (scene, _) = Scene::scripted(AppServer::ready(start_turn().into_iter().chain([close()]))).await;
    scene.run(&["exec", "go"]).await.exits(7).complains(&["error: the turn was lost"]);
    scene.close().await;
}

#[tokio::test]
async fn a_codex_that_does_not_come_up_is_told_with_its_last_words() {
    let (scene, _) = Scene::scripted(AppServer::script([stderr("no cheese at all"), exit(9)])).await;
    let ended = scene.run(&["exec", "go"]).await.exits(1);
    ended.complains(&[
        "error: the turn failed (not_sent)",
        "cause: cannot start Codex",
        "exit status: 9",
        "no cheese at all",
        "hint: run `talaria doctor`",
    ]);
    scene.close().await;
}
