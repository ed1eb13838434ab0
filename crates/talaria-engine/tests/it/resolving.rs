//! The engine decides how a turn is run: a client sends what was asked for, the configuration and the engine the rest.

use talaria_core::api::{CodexOrigin, Kind, NewSession, NewTask, NewTurn, ProblemCode, SessionQuery};
use talaria_core::event::Event;
use talaria_core::input::InputPart;
use talaria_core::outcome::Outcome;
use talaria_core::policy::{Mode, Sandbox};
use talaria_core::principal::Principal;
use talaria_core::request::Who;
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::home::{Home, calling};

/// A turn as a web page or a chat platform would send it: words alone.
fn words(text: &str) -> NewTurn {
    NewTurn { input: vec![InputPart::Text { text: text.to_owned() }], ..NewTurn::default() }
}

fn session(home: &Home, turn: NewTurn) -> NewSession {
    let cwd = home.codex_home.work().to_str().unwrap().to_owned();
    NewSession { kind: Kind::Chat, cwd, model: None, sandbox: None, approval: None, turn }
}

/// Names the Codex of the scene in the configuration, as a person does.
fn configure(home: &Home, codex: &Codex, more: &str) {
    let (bin, directory) = (codex.native.to_str().unwrap(), home.codex_home.path());
    let directory = directory.to_str().unwrap();
    home.configure(&format!("[codex]\nbin = {bin:?}\nhome = {directory:?}\n{more}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_an_environment_starts_a_turn_and_the_configuration_decides_the_rest() {
    let codex = Codex::v0_166();
    let mut home = Home::real(&codex).await;
    let more = "sandbox = \"read-only\"\n[model]\ndefault = \"gpt-5.4\"\neffort = \"low\"\n";
    configure(&home, &codex, more);
    home.open().await;
    home.model.push(Reply::say("Hello."));
    let new = session(&home, words("hello"));
    let started = home.on(|engine| async move { engine.start_session(new).await }).await.unwrap();
    let program = started.codex.clone().unwrap();
    assert_eq!((program.version.as_str(), program.origin), (codex.version, CodexOrigin::Configured));
    let mut events = home.events(&started, 0).await;
    assert_eq!(events.outcome().await.outcome, Outcome::Completed, "{:#?}", events.seen);
    let in_force = events.seen.iter().find_map(|event| match event {
        Event::SessionStarted(started) => Some(started.clone()),
        _ => None,
    });
    let in_force = in_force.unwrap();
    assert_eq!((in_force.model.as_str(), in_force.sandbox.as_str()), ("gpt-5.4", "read-only"));
    assert_eq!(home.model.requests()[0].body["reasoning"]["effort"], "low");
    // The file is read again for every turn.
    configure(&home, &codex, "turn_timeout = \"1s\"\n");
    home.model.push(Reply::new().text("Endless ").stall());
    let id = started.id.clone();
    let next =
        home.on(|engine| async move { engine.start_turn(id.as_str(), words("more")).await }).await.unwrap();
    let report = home.events(&next, next.after).await.outcome().await;
    assert!(matches!(report.outcome, Outcome::Interrupted { by: Who::Deadline }), "{report:?}");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_decides_the_sandbox_of_a_new_conversation_and_what_is_named_precedes_it() {
    let codex = Codex::v0_166();
    let mut home = Home::real(&codex).await;
    configure(&home, &codex, "");
    home.open().await;
    for (sandbox, in_force) in [(None, "danger-full-access"), (Some(Sandbox::ReadOnly), "read-only")] {
        home.model.push(Reply::say("Hello."));
        let turn = NewTurn { mode: Some(Mode::Unrestricted), ..home.turn("hello") };
        let new = NewSession { sandbox, ..session(&home, turn) };
        let started = home.on(|engine| async move { engine.start_session(new).await }).await.unwrap();
        let mut events = home.events(&started, 0).await;
        events.outcome().await;
        let is_there =
            |event: &Event| matches!(event, Event::SessionStarted(started) if started.sandbox == in_force);
        assert!(events.seen.iter().any(is_there), "{in_force}: {:#?}", events.seen);
    }
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_codex_nothing_is_written_and_a_model_may_not_name_a_program() {
    let codex = Codex::v0_166();
    let mut home = Home::real(&codex).await;
    home.configure("[bridge]\nroots = [\"/\"]\n[codex]\nbin = \"/nowhere/codex\"\n");
    home.open().await;
    let new = session(&home, words("hello"));
    let problem = home.on(|engine| async move { engine.start_session(new).await }).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::Codex, "{problem:?}");
    assert!(problem.message.contains("/nowhere/codex does not exist"), "{problem:?}");
    assert!(problem.hint.is_some(), "{problem:?}");
    // The program that a person may name is not run for a model.
    let turn = NewTurn { caller: home.caller.clone(), ..words("hello") };
    let cwd = home.codex_home.work().to_str().unwrap().to_owned();
    let task = NewTask {
        cwd,
        model: None,
        sandbox: None,
        approval: None,
        writable_roots: Vec::new(),
        network: false,
        worktree: None,
        notify: Vec::new(),
        codex_home: None,
        started_in: None,
        terminal: None,
        turn,
    };
    let model = Principal::model("editor");
    let problem = home.on(|engine| async move { calling(&engine, &model).start_task(task).await }).await;
    let problem = problem.unwrap_err();
    assert!(problem.message.contains("/nowhere/codex does not exist"), "{problem:?}");
    let sessions =
        home.on(|engine| async move { engine.sessions(SessionQuery::default()).await }).await.unwrap();
    assert_eq!(sessions.len(), 0, "{sessions:?}");
    home.close().await;
}
