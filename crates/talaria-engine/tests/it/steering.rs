//! Further input for a running turn, while the engine or Codex dies: the model reads it, or its sender gets it back.

use talaria_core::api::{Interrupt, Say, SessionStarted, When};
use talaria_core::event::Event;
use talaria_core::item::ItemBody;
use talaria_core::outcome::Outcome;
use talaria_core::policy::ApprovalPolicy;
use talaria_core::request::Who;
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::home::{Events, Home};
use crate::stage::both_versions;

both_versions!(
    what_was_handed_over_by_an_engine_that_was_killed_is_read_and_not_returned,
    what_was_handed_over_and_never_read_is_returned_by_the_next_engine,
    what_was_handed_to_a_codex_that_died_is_returned_by_the_next_engine,
);

/// A turn whose command runs until the file `go` exists, and that was steered once.
async fn steered(home: &Home) -> SessionStarted {
    home.model.push(Reply::new().command("while ! test -e go; do sleep 0.05; done"));
    let started = home.start(ApprovalPolicy::Never, "first").await;
    let mut events = home.events(&started, 0).await;
    let is_command = |event: &Event| matches!(event, Event::ItemStarted { item } if matches!(item.body, ItemBody::Command { .. }));
    events.is(is_command).await;
    steer(home, &started, "mind the cheese").await;
    events.is(|event| matches!(event, Event::Steered { .. })).await;
    started
}

async fn steer(home: &Home, started: &SessionStarted, text: &str) {
    let say = Say { text: text.to_owned(), images: Vec::new(), when: When::Now };
    let (id, engine) = (started.id.as_str(), home.engine());
    assert!(engine.say(id, say).await.unwrap().to_running_turn);
}

/// Everything that was returned.
fn returned(events: &Events) -> Vec<String> {
    let inputs = events.seen.iter().filter_map(|event| match event {
        Event::Unqueued { inputs, .. } => Some(inputs),
        _ => None,
    });
    inputs.flatten().map(|input| input.text.clone()).collect()
}

async fn what_was_handed_over_by_an_engine_that_was_killed_is_read_and_not_returned(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let started = steered(&home).await;
    home.crash().await;
    home.open().await;
    let mut events = home.events(&started, 0).await;
    events.is(|event| matches!(event, Event::Gap(_))).await;
    steer(&home, &started, "and the wine").await;
    events.is(|event| matches!(event, Event::Steered { .. })).await;
    home.model.push(Reply::say("done"));
    std::fs::write(home.codex_home.work().join("go"), "").unwrap();
    assert_eq!(events.outcome().await.outcome, Outcome::Completed);
    let read = home.model.requests()[1].body.to_string();
    assert!(read.contains("mind the cheese") && read.contains("and the wine"), "{read}");
    assert_eq!(returned(&events), [""; 0], "{:#?}", events.seen);
    home.close().await;
}

async fn what_was_handed_over_and_never_read_is_returned_by_the_next_engine(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let started = steered(&home).await;
    home.crash().await;
    home.open().await;
    let mut events = home.events(&started, 0).await;
    events.is(|event| matches!(event, Event::Gap(_))).await;
    home.engine().interrupt(started.id.as_str(), Interrupt { by: Who::User }).await.unwrap();
    assert_eq!(events.outcome().await.outcome, Outcome::Interrupted { by: Who::User });
    assert_eq!(returned(&events), ["mind the cheese"], "{:#?}", events.seen);
    home.close().await;
}

async fn what_was_handed_to_a_codex_that_died_is_returned_by_the_next_engine(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let started = steered(&home).await;
    let pids = home.hosts().await;
    home.crash().await;
    home.kill_codex(&pids).await;
    home.open().await;
    let mut events = home.events(&started, 0).await;
    let outcome = events.outcome().await.outcome;
    assert!(matches!(outcome, Outcome::Lost { .. }), "{outcome:?}");
    assert_eq!(returned(&events), ["mind the cheese"], "{:#?}", events.seen);
    std::fs::write(home.codex_home.work().join("go"), "").unwrap();
    home.close().await;
}
