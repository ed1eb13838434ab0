//! `hooks.tool_call` in turns of the real Codex: the program decides before a person is asked, loosens no rule, and what it
//! decided survives the engine.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use talaria_core::api::{MemoryQuery, SessionStarted};
use talaria_core::event::Event;
use talaria_core::ids::TicketId;
use talaria_core::outcome::Outcome;
use talaria_core::policy::ApprovalPolicy;
use talaria_core::request::{Ask, Decision, Who};
use talaria_scripted::Reply;
use talaria_testkit::Codex;
use talaria_testkit::app_server::write_program;

use crate::home::Home;
use crate::stage::both_versions;

both_versions!(
    a_program_decides_about_commands_and_patches_before_a_person,
    a_question_of_the_program_survives_the_engine;
    newest:
    a_program_decides_about_calls_of_our_own_tools,
    a_program_that_fails_leaves_it_to_a_person_and_says_so_once,
    what_rules_forbid_stays_forbidden_whatever_the_program_says,
);

const SECRET: &str = "sk-proj-Uniq5call8NotReal3KbTq9ZsLmXvN2cRwPhYd7GjEaU";

/// Decides by a word in what it reads, and keeps that in a file.
const DECIDES: &str = r#"case "$read" in
*pelican*) echo '{"decision":"deny","reason":"no pelicans"}';;
*heron*) echo '{"decision":"allow"}';;
*owl*) echo '{"decision":"ask","reason":"owls need a look"}';;
esac"#;

/// Writes a program that keeps what it reads in a file, and then does this.
fn program(home: &Home, name: &str, answer: &str) -> (PathBuf, PathBuf) {
    let (path, read) =
        (home.codex_home.root().join(name), home.codex_home.root().join(format!("{name}.read")));
    let script =
        format!("#!/bin/sh\nread=$(cat)\nprintf '%s\\n' \"$read\" >> '{}'\n{answer}\n", read.display());
    write_program(&path, &script).unwrap();
    (path, read)
}

fn configure(home: &Home, program: &std::path::Path) {
    home.configure(&format!("[hooks]\ntool_call = {:?}\n", program.to_str().unwrap()));
}

/// What a program read, call by call.
fn read_calls(file: &PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn memory(text: &str) -> Reply {
    let add = json!({ "op": "add", "scope": "notes", "text": text });
    Reply::new().function("talaria_memory", json!({ "operations": [add] }))
}

/// The entries of the memory.
async fn remembered(home: &Home) -> Vec<String> {
    let list = home.engine().memory(MemoryQuery::default()).await.unwrap();
    list.entries.into_iter().map(|entry| entry.text).collect()
}

/// How the requests of a conversation were closed.
async fn closed(home: &Home, started: &SessionStarted) -> Vec<(Decision, Who, Option<String>)> {
    let closed = |event| match event {
        Event::RequestClosed { decision, by, why, .. } => Some((decision, by, why)),
        _ => None,
    };
    home.all(started).await.into_iter().filter_map(|numbered| closed(numbered.event)).collect()
}

async fn warnings(home: &Home, started: &SessionStarted) -> Vec<String> {
    let warning = |event: Event| match event {
        Event::Warning { message } => Some(message),
        _ => None,
    };
    let warnings = home.all(started).await.into_iter().filter_map(|numbered| warning(numbered.event));
    warnings.filter(|message| message.starts_with("hooks.")).collect()
}

async fn asked(home: &Home, ticket: &TicketId) -> Ask {
    home.engine().request(ticket.as_str()).await.unwrap().ask.unwrap()
}

async fn a_program_decides_about_commands_and_patches_before_a_person(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let (path, read) = program(&home, "decides", DECIDES);
    configure(&home, &path);
    home.open().await;
    let patch = "*** Begin Patch\n*** Add File: pelican.txt\n+grey\n*** End Patch";
    home.model.play([
        Reply::new().command(format!("echo heron {SECRET} > heron.txt")),
        Reply::new().command("echo pelican > bird.txt"),
        Reply::new().patch(patch),
        Reply::new().command("echo owl > owl.txt"),
        Reply::say("done"),
    ]);
    let started = home.start(ApprovalPolicy::Untrusted, "write them").await;
    let mut events = home.events(&started, 0).await;
    let ticket = loop {
        let ticket = events.request().await;
        // Those before were opened and closed at once.
        if home.engine().request(ticket.as_str()).await.unwrap().decision.is_none() {
            break ticket;
        }
    };
    let Ask::Command { command, asked_because, .. } = asked(&home, &ticket).await else {
        panic!("a command")
    };
    assert!(command.contains("owl"), "{command}");
    assert_eq!(asked_because.as_deref(), Some("hooks.tool_call: owls need a look"));
    home.answer(&ticket, "accept").await.unwrap();
    assert_eq!(events.outcome().await.outcome, Outcome::Completed);

    let no = || (Decision::Decline, Who::Hook, Some("hooks.tool_call: no pelicans".to_owned()));
    let yes = (Decision::Accept, Who::Hook, Some("hooks.tool_call".to_owned()));
    assert_eq!(closed(&home, &started).await, [yes, no(), no(), (Decision::Accept, Who::User, None)]);
    let work = home.codex_home.work();
    let exists = ["heron.txt", "bird.txt", "pelican.txt", "owl.txt"].map(|name| work.join(name).exists());
    assert_eq!(exists, [true, false, false, true]);
    let calls = read_calls(&read);
    let tools: Vec<&str> = calls.iter().map(|call| call["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["command", "command", "patch", "command"]);
    assert_eq!((calls[0]["hook"].as_str(), calls[0]["turn"].as_i64()), (Some("tool_call"), Some(1)));
    assert!(calls[2]["input"]["changes"].to_string().contains("grey"), "{}", calls[2]);
    assert!(!fs::read_to_string(&read).unwrap().contains(SECRET), "secrets are masked");
    let told = home.model.requests().iter().any(|request| request.body.to_string().contains("no pelicans"));
    assert!(told, "the model reads the reason");
    let audit = home.engine().audit(Default::default()).await.unwrap();
    assert_eq!(audit.iter().filter(|row| row.principal == "hook").count(), 3, "{audit:#?}");
    home.close().await;
}

async fn a_program_decides_about_calls_of_our_own_tools(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let (path, read) = program(&home, "decides", DECIDES);
    configure(&home, &path);
    home.open().await;
    home.model.play([
        memory("the heron is grey"),
        memory("the pelican is white"),
        memory("the owl is brown"),
        memory("the owl is old"),
        memory("the crow is black"),
        Reply::say("done"),
    ]);
    let started = home.start(ApprovalPolicy::OnRequest, "remember them").await;
    let mut events = home.events(&started, 0).await;
    for (text, decision) in [("brown", "accept"), ("old", "decline")] {
        let ticket = events.request().await;
        let Ask::OwnTool { tool, arguments, reason, .. } = asked(&home, &ticket).await else {
            panic!("a tool")
        };
        assert_eq!((tool.as_str(), reason.as_str()), ("talaria_memory", "hooks.tool_call: owls need a look"));
        assert!(arguments.contains(text), "{arguments}");
        home.answer(&ticket, decision).await.unwrap();
    }
    assert_eq!(events.outcome().await.outcome, Outcome::Completed);
    let outputs = home.model.requests().last().unwrap().tool_outputs();
    assert_eq!(outputs[1], "talaria_memory: declined by hooks.tool_call: no pelicans");
    assert_eq!(outputs[3], "talaria_memory: the user declined this call; nothing was done");
    let expected = ["the heron is grey", "the owl is brown", "the crow is black"];
    assert_eq!(remembered(&home).await, expected, "{outputs:#?}");
    assert_eq!(read_calls(&read).len(), 5);

    // Where no person may be asked, what the program leaves to one does not happen.
    home.model.play([memory("the owl is tired"), Reply::say("done")]);
    let (_, report) = home.run("and this").await;
    assert_eq!(report.outcome, Outcome::Completed);
    let output = home.model.requests().last().unwrap().tool_outputs().pop().unwrap();
    assert!(output.contains("permits no question, so the call did not run"), "{output}");
    assert_eq!(remembered(&home).await.len(), 3);
    home.close().await;
}

async fn a_program_that_fails_leaves_it_to_a_person_and_says_so_once(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let (path, _) = program(&home, "fails", "echo no network >&2; exit 3");
    configure(&home, &path);
    home.open().await;
    home.model.play([
        memory("one"),
        Reply::new().command("echo ran > ran.txt"),
        memory("two"),
        Reply::say("done"),
    ]);
    let started = home.start(ApprovalPolicy::Untrusted, "go").await;
    let mut events = home.events(&started, 0).await;
    for decision in ["accept", "accept", "decline"] {
        let ticket = events.request().await;
        home.answer(&ticket, decision).await.unwrap();
    }
    assert_eq!(events.outcome().await.outcome, Outcome::Completed);
    assert_eq!(remembered(&home).await, ["one"]);
    let said = warnings(&home, &started).await;
    let expected = "it ended with exit status: 3: no network; a person decides instead";
    assert!(said.len() == 1 && said[0].ends_with(expected), "{said:?}");
    home.close().await;
}

async fn what_rules_forbid_stays_forbidden_whatever_the_program_says(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let (path, read) = program(&home, "allows", r#"echo '{"decision":"allow"}'"#);
    let hooks = format!("[hooks]\ntool_call = {:?}\n", path.to_str().unwrap());
    home.configure(&format!("{hooks}[approvals]\ndeny = [\"touch *\"]\n"));
    home.open().await;
    home.model.play([
        Reply::new().command("touch denied.txt"),
        Reply::new().command("mkfs.ext4 /dev/sda9"),
        Reply::new().command("python3 -c 'print(1)'"),
        Reply::say("done"),
    ]);
    let started = home.start(ApprovalPolicy::Untrusted, "go").await;
    let mut events = home.events(&started, 0).await;
    let ticket = loop {
        let ticket = events.request().await;
        if home.engine().request(ticket.as_str()).await.unwrap().decision.is_none() {
            break ticket;
        }
    };
    let Ask::Command { asked_because, .. } = asked(&home, &ticket).await else { panic!("a command") };
    assert!(asked_because.unwrap().contains("your rules cannot see all of it"));
    home.answer(&ticket, "decline").await.unwrap();
    assert_eq!(events.outcome().await.outcome, Outcome::Completed);
    let closed: Vec<(Decision, Who)> =
        closed(&home, &started).await.into_iter().map(|(decision, by, _)| (decision, by)).collect();
    let no = Decision::Decline;
    assert_eq!(closed, [(no, Who::Rule), (no, Who::Floor), (no, Who::User)]);
    assert_eq!(read_calls(&read).len(), 1, "floor and deny rules come first");
    assert!(!home.codex_home.work().join("denied.txt").exists());
    home.close().await;
}

async fn a_question_of_the_program_survives_the_engine(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let (path, read) = program(&home, "decides", DECIDES);
    configure(&home, &path);
    home.open().await;
    home.model.play([memory("the owl is brown"), Reply::say("done")]);
    let started = home.start(ApprovalPolicy::OnRequest, "remember it").await;
    let ticket = home.events(&started, 0).await.request().await;
    home.crash().await;
    home.open().await;
    home.answer(&ticket, "accept").await.unwrap();
    let report = home.events(&started, 0).await.outcome().await;
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!(remembered(&home).await, ["the owl is brown"]);
    assert_eq!(read_calls(&read).len(), 1, "what it decided is on record: it is not asked again");
    assert_eq!(closed(&home, &started).await.len(), 1);
    home.close().await;
}
