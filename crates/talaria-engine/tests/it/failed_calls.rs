//! Calls that Codex refuses have no step of its own; images that it cannot read are left out. Both are reported, with the
//! real Codex: live, on a resumed thread, and after an engine was away.

use serde_json::json;
use talaria_core::api::{NewSession, SessionStarted};
use talaria_core::event::Event;
use talaria_core::input::InputPart;
use talaria_core::item::{ItemBody, Status};
use talaria_core::outcome::Outcome;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_scripted::{Gate, Reply};
use talaria_testkit::Codex;

use crate::home::{Home, completed_once};
use crate::stage::both_versions;

both_versions!(
    calls_that_codex_refuses_are_told_as_failed_and_none_twice,
    a_call_that_failed_on_a_resumed_thread_is_read_from_its_file,
    a_call_that_failed_while_no_engine_was_there_is_told_once,
    an_image_that_codex_cannot_read_is_a_warning,
    an_image_on_a_resumed_thread_is_a_warning_too,
);

const MISFIT: &str = "*** Begin Patch\n*** Update File: a.txt\n@@\n-not there\n+new\n*** End Patch\n";

fn refused() -> [Reply; 2] {
    [Reply::new().patch(MISFIT), Reply::new().function("no_such_tool", json!({}))]
}

/// The reported failures, one line each.
fn failures(events: &[Event]) -> Vec<String> {
    let failure = |event: &Event| {
        let Event::ItemCompleted { item } = event else { return None };
        match &item.body {
            ItemBody::FailedCall { tool, error } => {
                Some(format!("{tool}: {}", error.lines().next().unwrap_or_default()))
            }
            ItemBody::Command { command, status: Status::Failed, exit_code, .. } => {
                Some(format!("{command} {exit_code:?}"))
            }
            _ => None,
        }
    };
    events.iter().filter_map(failure).collect()
}

fn warnings(events: &[Event]) -> Vec<&str> {
    let mut found = Vec::new();
    for event in events {
        if let Event::Warning { message } = event
            && message.contains("image")
        {
            found.push(message.as_str());
        }
    }
    found
}

async fn opened(codex: &Codex) -> Home {
    let mut home = Home::real(codex).await;
    std::fs::write(home.codex_home.work().join("a.txt"), "hello\n").unwrap();
    home.open().await;
    home
}

/// Has the next turn run on a thread that another process resumed.
async fn resume(home: &mut Home) {
    home.stop(false).await;
    home.open().await;
}

async fn next_turn(home: &Home, started: &SessionStarted, input: Vec<InputPart>) -> Vec<Event> {
    let (id, mut turn) = (started.id.clone(), home.turn(""));
    turn.input = input;
    let next = home.on(|engine| async move { engine.start_turn(id.as_str(), turn).await }).await.unwrap();
    let mut events = home.events(&next, next.after).await;
    assert_eq!(events.outcome().await.outcome, Outcome::Completed, "{:#?}", events.seen);
    events.seen
}

fn said(text: &str) -> InputPart {
    InputPart::Text { text: text.to_owned() }
}

async fn calls_that_codex_refuses_are_told_as_failed_and_none_twice(codex: Codex) {
    let home = opened(&codex).await;
    let command = |line: &str| Reply::new().function("exec_command", json!({ "cmd": line, "login": false }));
    home.model.play(refused());
    home.model.play([
        Reply::new().function("exec_command", json!({ "line": "ls" })),
        Reply::new().function("view_image", json!({ "path": "nope.png" })),
        command("echo x > denied.txt"),
        command("echo fine"),
        command("exit 3"),
        Reply::new().patch("*** Begin Patch\n*** Add File: b.txt\n+x\n*** End Patch\n"),
        Reply::say("done"),
    ]);
    let new = NewSession {
        kind: talaria_core::api::Kind::Exec,
        cwd: home.codex_home.work().to_str().unwrap().to_owned(),
        model: None,
        sandbox: Some(Sandbox::ReadOnly),
        approval: Some(ApprovalPolicy::Never),
        turn: home.turn("go"),
    };
    let started = home.on(|engine| async move { engine.start_session(new).await }).await.unwrap();
    let mut events = home.events(&started, 0).await;
    assert_eq!(events.outcome().await.outcome, Outcome::Completed);
    let mut told: Vec<String> = failures(&events.seen)
        .into_iter()
        .map(|line| line.replace(&format!("{}/", home.codex_home.work().display()), ""))
        .map(|line| line.replace("/bin/bash -c ", "").replace(['\'', '"'], ""))
        .collect();
    let mut expected = [
        "apply_patch: apply_patch verification failed: Failed to find expected lines in a.txt:",
        "no_such_tool: unsupported call: no_such_tool",
        "exec_command: failed to parse function arguments: missing field `cmd` at line 1 column 13",
        "view_image: unable to locate image at `nope.png`: No such file or directory (os error 2)",
        "echo x > denied.txt Some(1)",
        "exit 3 Some(3)",
        "apply_patch: patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings",
    ];
    // Codex 0.130 may report the end of a command after the next call.
    told.sort();
    expected.sort_unstable();
    assert_eq!(told, expected);
    let messages = home.detail(&started).await.messages;
    let notes: String = messages.iter().filter_map(|message| message.content.clone()).collect();
    assert!(notes.contains("[✗ apply_patch verification failed: Failed to find"), "{notes}");
    assert!(notes.contains("[✗ no_such_tool failed: unsupported call: no_such_tool]"), "{notes}");
    completed_once(&home.all(&started).await);
    home.close().await;
}

async fn a_call_that_failed_on_a_resumed_thread_is_read_from_its_file(codex: Codex) {
    let mut home = opened(&codex).await;
    home.model.play(refused());
    home.model.push(Reply::say("first"));
    let (started, _) = home.run("go").await;
    resume(&mut home).await;
    home.model.play(refused());
    home.model.play([Reply::new().command("exit 3"), Reply::say("done")]);
    let told = failures(&next_turn(&home, &started, vec![said("again")]).await);
    assert_eq!(told.len(), 3, "{told:#?}");
    for what in ["apply_patch: ", "no_such_tool: ", "exit 3"] {
        assert_eq!(told.iter().filter(|line| line.contains(what)).count(), 1, "{told:#?}");
    }
    completed_once(&home.all(&started).await);
    home.close().await;
}

async fn a_call_that_failed_while_no_engine_was_there_is_told_once(codex: Codex) {
    let (mut home, first, second) = (opened(&codex).await, Gate::new(), Gate::new());
    home.model.play([
        Reply::new().function("no_such_tool", json!({})),
        Reply::new().gate(&first).patch(MISFIT),
        Reply::new().text("half ").gate(&second).text("whole"),
    ]);
    let started = home.start(ApprovalPolicy::Never, "go").await;
    let mut events = home.events(&started, 0).await;
    events
        .is(|event| matches!(event, Event::ItemCompleted { item } if item.body.kind() == "failed_call"))
        .await;
    first.reached().await;
    home.crash().await;
    first.open();
    second.reached().await;
    home.open().await;
    let mut events = home.events(&started, 0).await;
    events.is(|event| matches!(event, Event::Gap(_))).await;
    second.open();
    assert_eq!(events.outcome().await.outcome, Outcome::Completed);
    let told = failures(&events.seen);
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told[0].starts_with("no_such_tool") && told[1].starts_with("apply_patch"), "{told:#?}");
    completed_once(&home.all(&started).await);
    home.close().await;
}

/// The beginning of a picture, cut off in its header.
fn cut_picture(home: &Home) -> InputPart {
    let path = home.codex_home.work().join("cut.png");
    std::fs::write(&path, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x04\0\0\0\x04\x08\x02\0\0\0").unwrap();
    InputPart::LocalImage { path: path.to_str().unwrap().to_owned() }
}

async fn an_image_that_codex_cannot_read_is_a_warning(codex: Codex) {
    let home = opened(&codex).await;
    home.model.play([Reply::say("first"), Reply::say("I see nothing.")]);
    let (started, _) = home.run("go").await;
    let events = next_turn(&home, &started, vec![said("look"), cut_picture(&home)]).await;
    let told = warnings(&events);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("the model did not get an image; Codex sent it this text instead: "),
        "{told:?}"
    );
    home.close().await;
}

async fn an_image_on_a_resumed_thread_is_a_warning_too(codex: Codex) {
    let mut home = opened(&codex).await;
    home.model.play([Reply::say("first"), Reply::say("I see nothing.")]);
    let (started, _) = home.run("go").await;
    resume(&mut home).await;
    let events = next_turn(&home, &started, vec![said("look"), cut_picture(&home)]).await;
    assert_eq!(warnings(&events).len(), 1, "{events:#?}");
    home.close().await;
}
