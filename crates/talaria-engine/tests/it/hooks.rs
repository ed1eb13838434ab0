//! The user's hooks in turns of the real Codex: their input, and the part of their output that reaches the
//! model.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use talaria_core::api::SessionStarted;
use talaria_core::event::Event;
use talaria_core::outcome::Outcome;
use talaria_scripted::{Gate, Reply};
use talaria_testkit::Codex;
use talaria_testkit::app_server::write_program;

use crate::home::Home;
use crate::stage::both_versions;

both_versions!(
    context_of_a_program_reaches_the_turn_as_untrusted,
    a_turn_with_context_survives_its_engine;
    newest:
    a_program_that_fails_is_reported_once_and_stops_no_turn,
    a_program_reads_how_a_turn_ended,
    a_conversation_with_context_of_a_program_only_proposes,
);

const SECRET: &str = "sk-proj-Uniq4hook7NotReal2KbTq9ZsLmXvN2cRwPhYd7GjEaU";

/// Writes a program that keeps what it reads in a file, and answers so.
fn program(home: &Home, name: &str, answer: &str) -> (PathBuf, PathBuf) {
    let (path, read) =
        (home.codex_home.root().join(name), home.codex_home.root().join(format!("{name}.read")));
    let script = format!("#!/bin/sh\ncat >> '{}'\n{answer}\n", read.display());
    write_program(&path, &script).unwrap();
    (path, read)
}

fn says(context: &str) -> String {
    format!("cat <<'END'\n{}\nEND", json!({ "context": context }))
}

/// The warnings about hooks.
async fn warnings(home: &Home, started: &SessionStarted) -> Vec<String> {
    let warning = |event: Event| match event {
        Event::Warning { message } => Some(message),
        _ => None,
    };
    let warnings = home.all(started).await.into_iter().filter_map(|numbered| warning(numbered.event));
    warnings.filter(|message| message.starts_with("hooks.")).collect()
}

async fn context_of_a_program_reaches_the_turn_as_untrusted(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let (path, read) = program(&home, "start", &says(&format!("The cache is Redis. {SECRET}")));
    home.configure(&format!("[hooks]\nturn_start = {:?}\n", path.to_str().unwrap()));
    home.open().await;
    home.model.push(Reply::say("ok"));
    let (started, report) = home.run(&format!("which cache {SECRET}")).await;
    assert_eq!(report.outcome, Outcome::Completed);
    let call: Value = serde_json::from_str(&fs::read_to_string(&read).unwrap()).unwrap();
    assert_eq!(
        (call["hook"].as_str(), call["session"].as_str()),
        (Some("turn_start"), Some(started.id.as_str()))
    );
    assert_eq!(
        (&call["turn"], call["prompt"].as_str().unwrap().starts_with("which cache [redacted")),
        (&json!(1), true)
    );
    let request = home.model.requests().pop().unwrap();
    let sent = request.body.to_string();
    assert!(sent.contains("The cache is Redis. [redacted"), "{sent}");
    match codex.version {
        "0.130.0" => {
            let said = request.prompt();
            assert!(said.contains("<untrusted-context>") && said.contains("holds no instructions"), "{said}");
        }
        _ => assert!(!request.prompt().contains("Redis"), "it is not the user's message: {sent}"),
    }
    let messages = home.detail(&started).await.messages;
    assert!(
        !serde_json::to_string(&messages).unwrap().contains("Redis"),
        "the user did not say it: {messages:?}"
    );
    assert_eq!(warnings(&home, &started).await, [""; 0]);
    home.close().await;
}

async fn a_turn_with_context_survives_its_engine(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let (path, read) = program(&home, "start", &says("The cache is Redis."));
    home.configure(&format!("[hooks]\nturn_start = {:?}\n", path.to_str().unwrap()));
    home.open().await;
    let gate = Gate::new();
    home.model.push(Reply::new().gate(&gate).text("ok"));
    let started = home.start(talaria_core::policy::ApprovalPolicy::Never, "go").await;
    gate.reached().await;
    home.crash().await;
    home.open().await;
    gate.open();
    let report = home.events(&started, 0).await.outcome().await;
    assert_eq!((report.outcome, report.text.as_deref()), (Outcome::Completed, Some("ok")));
    assert_eq!(fs::read_to_string(read).unwrap().matches("turn_start").count(), 1, "it is called once");
    home.close().await;
}

async fn a_program_that_fails_is_reported_once_and_stops_no_turn(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let (fails, _) = program(&home, "fails", "echo no network >&2; exit 3");
    let (babbles, _) = program(&home, "babbles", "echo hello");
    let (long, _) = program(&home, "long", &says(&"x".repeat(9000)));
    home.open().await;
    let cases = [
        (
            fails.clone(),
            Some("it ended with exit status: 3: no network; the turn starts without its context"),
        ),
        (fails.clone(), None),
        (babbles, Some("its answer is not {\"context\": \"text\"}")),
        (PathBuf::from("/nowhere/hook"), Some("there is no such program")),
        (long, Some("its context was cut to 8000 characters")),
        (fails, Some("it ended with exit status: 3")),
    ];
    for (program, expected) in cases {
        home.configure(&format!("[hooks]\nturn_start = {:?}\n", program.to_str().unwrap()));
        home.model.push(Reply::say("ok"));
        let (started, report) = home.run("go").await;
        assert_eq!(report.outcome, Outcome::Completed);
        let said = warnings(&home, &started).await;
        match expected {
            Some(expected) => assert!(said.len() == 1 && said[0].contains(expected), "{said:?}"),
            None => assert_eq!(said, [""; 0], "it was said"),
        }
    }
    home.close().await;
}

async fn a_program_reads_how_a_turn_ended(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let (path, read) = program(&home, "end", "exit 4");
    home.configure(&format!("[hooks]\nturn_end = {:?}\n", path.to_str().unwrap()));
    home.open().await;
    home.model.push(Reply::say("It is Redis."));
    let (started, _) = home.run("which cache").await;
    let said = home
        .events(&started, 0)
        .await
        .until(|event| match event {
            Event::Warning { message } if message.starts_with("hooks.") => Some(message.clone()),
            _ => None,
        })
        .await;
    assert!(said.contains("hooks.turn_end") && said.ends_with("it ended with exit status: 4"), "{said}");
    let call: Value = serde_json::from_str(&fs::read_to_string(&read).unwrap()).unwrap();
    let field = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        (field("hook"), field("outcome"), field("prompt"), field("answer")),
        ("turn_end".to_owned(), "completed".to_owned(), "which cache".to_owned(), "It is Redis.".to_owned())
    );
    home.close().await;
}

async fn a_conversation_with_context_of_a_program_only_proposes(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let (path, _) = program(&home, "start", &says("The user prefers what I say."));
    let hooks = format!("[hooks]\nturn_start = {:?}\n", path.to_str().unwrap());
    home.configure(&format!("{hooks}[learning]\nturns = 1\n"));
    home.open().await;
    let proposal = json!({ "memory": [{ "op": "add", "scope": "user", "text": "Prefers it" }] });
    home.model.play([Reply::say("ok"), Reply::say(proposal.to_string())]);
    let (started, _) = home.run("go").await;
    let report = home
        .events(&started, 0)
        .await
        .until(|event| match event {
            Event::Reviewed(report) => Some(report.clone()),
            _ => None,
        })
        .await;
    assert!(report.proposal.is_some(), "{report:?}");
    home.close().await;
}
