//! Input that waits for the next turn, with images, and what becomes of it when the turn does not complete.

use talaria_core::api::{Interrupt, NewTurn, ProblemCode, Say, SessionStarted, When};
use talaria_core::event::{Event, QueuedInput};
use talaria_core::item::ItemBody;
use talaria_core::outcome::Outcome;
use talaria_core::policy::ApprovalPolicy;
use talaria_core::request::Who;
use talaria_scripted::{Gate, Reply};
use talaria_testkit::Codex;

use crate::home::{Events, Home};
use crate::stage::both_versions;

both_versions!(
    images_go_with_what_is_said_to_a_turn_and_with_what_waits,
    what_codex_took_and_the_model_never_got_is_taken_back;
    newest:
    stopping_a_turn_takes_back_what_waits_and_says_what_it_was,
    what_waits_for_a_turn_that_fails_or_runs_out_of_time_is_returned,
    what_waits_for_a_turn_that_is_lost_is_returned_by_the_next_engine_too,
    what_is_said_in_the_moment_in_which_a_turn_ends_is_not_lost,
);

const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\0\0\0\x0cIDATx\x9cc\xf8\xcf\xc0\0\0\x03\x01\x01\0\xc9\xfe\x92\xef\0\0\0\0IEND\xaeB`\x82";

/// A turn that says something and then waits at the gate.
async fn begun(home: &Home, gate: &Gate) -> (SessionStarted, Events) {
    home.model.push(Reply::new().text("half an ").gate(gate).text("answer"));
    let started = home.start(ApprovalPolicy::Never, "first").await;
    let mut events = home.events(&started, 0).await;
    events.is(|event| matches!(event, Event::TextDelta { .. })).await;
    (started, events)
}

async fn stopping_a_turn_takes_back_what_waits_and_says_what_it_was(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let gate = Gate::new();
    let (started, mut events) = begun(&home, &gate).await;
    let key = format!("sk-proj-{}", "a".repeat(40));
    home.say_next(&started, "then this").await;
    home.say_next(&started, &format!("and this with {key}")).await;
    let queued = events.until(|event| match event {
        Event::Queued { waiting: 2, input } => Some(input.text.clone()),
        _ => None,
    });
    assert!(queued.await.starts_with("and this with "));
    let id = started.id.as_str();
    home.engine().interrupt(id, Interrupt { by: Who::User }).await.unwrap();
    assert_eq!(events.outcome().await.outcome, Outcome::Interrupted { by: Who::User });
    let [.., Event::Unqueued { inputs, .. }, Event::Outcome(_)] = events.seen.as_slice() else {
        panic!("{:#?}", events.seen)
    };
    assert_eq!(inputs[0], QueuedInput { text: "then this".to_owned(), images: Vec::new() });
    assert!(inputs[1].text.starts_with("and this with ") && !inputs[1].text.contains("aaaa"), "{inputs:?}");
    assert_eq!(inputs.len(), 2);
    // As if they had never been requested: the next turn is the second, at once.
    let prompts: Vec<_> = home.detail(&started).await.turns.into_iter().map(|turn| turn.prompt).collect();
    assert_eq!(prompts, ["first"]);
    home.model.push(Reply::say("here"));
    let turn: NewTurn = home.turn("second");
    let second = home.engine().start_turn(id, turn).await.unwrap();
    assert_eq!(second.turn, 2);
    assert_eq!(events.outcome().await.text.as_deref(), Some("here"));
    let prompts: Vec<_> = home.detail(&started).await.turns.into_iter().map(|turn| turn.prompt).collect();
    assert_eq!(prompts, ["first", "second"]);
    gate.open();
    home.close().await;
}

/// The input that was returned with the last outcome.
fn returned(events: &Events) -> Vec<String> {
    match events.seen.as_slice() {
        [.., Event::Unqueued { inputs, .. }, Event::Outcome(_)] => {
            inputs.iter().map(|input| input.text.clone()).collect()
        }
        other => panic!("nothing was returned: {other:#?}"),
    }
}

async fn what_waits_for_a_turn_that_fails_or_runs_out_of_time_is_returned(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.push(Reply::say("ready"));
    let (started, _) = home.run("warm up").await;
    for limit_ms in [Some(1500), None] {
        let gate = Gate::new();
        home.model.push(Reply::new().text("half").gate(&gate).fail("invalid_prompt", "no"));
        let after = home.detail(&started).await.info.last_seq;
        let turn = NewTurn { limit_ms, ..home.turn("first") };
        home.engine().start_turn(started.id.as_str(), turn).await.unwrap();
        home.say_next(&started, "second").await;
        home.say_next(&started, "third").await;
        let mut events = home.events(&started, after).await;
        if limit_ms.is_none() {
            gate.open();
        }
        let outcome = events.outcome().await.outcome;
        match limit_ms {
            Some(_) => assert_eq!(outcome, Outcome::Interrupted { by: Who::Deadline }),
            None => assert!(matches!(outcome, Outcome::Failed { .. }), "{outcome:?}"),
        }
        assert_eq!(returned(&events), ["second", "third"]);
        gate.open();
    }
    let prompts: Vec<_> = home.detail(&started).await.turns.into_iter().map(|turn| turn.prompt).collect();
    assert_eq!(prompts, ["warm up", "first", "first"], "nothing that waited is run alone");
    home.close().await;
}

async fn what_waits_for_a_turn_that_is_lost_is_returned_by_the_next_engine_too(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let gate = Gate::new();
    let (started, mut events) = begun(&home, &gate).await;
    home.say_next(&started, "second").await;
    events.is(|event| matches!(event, Event::Queued { .. })).await;
    let pids = home.hosts().await;
    home.crash().await;
    home.kill_codex(&pids).await;
    home.open().await;
    let mut events = home.events(&started, 0).await;
    let outcome = events.outcome().await.outcome;
    assert!(matches!(outcome, Outcome::Lost { .. }), "{outcome:?}");
    assert_eq!(returned(&events), ["second"]);
    let detail = home.detail(&started).await;
    assert_eq!(detail.turns.len(), 1);
    assert!(!detail.info.running);
    assert_eq!(home.model.requests().len(), 1, "nothing starts by itself");
    gate.open();
    home.close().await;
}

async fn images_go_with_what_is_said_to_a_turn_and_with_what_waits(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let picture = home.codex_home.work().join("dot.png");
    std::fs::write(&picture, PICTURE).unwrap();
    let path = picture.to_str().unwrap().to_owned();
    let gate = Gate::new();
    let (started, mut events) = begun(&home, &gate).await;
    let say = async |text: &str, images: &[&str], when| {
        let images = images.iter().map(|path| (*path).to_owned()).collect();
        home.engine().say(started.id.as_str(), Say { text: text.to_owned(), images, when }).await
    };
    for bad in ["/no/such/file.png", "dot.png", home.codex_home.work().to_str().unwrap()] {
        for when in [When::Now, When::Next] {
            let refused = say("look", &[bad], when).await.unwrap_err();
            assert_eq!(refused.code, ProblemCode::BadRequest);
            assert!(refused.message.contains(bad), "{}", refused.message);
        }
    }
    home.model.push(Reply::say("a dot"));
    home.model.push(Reply::say("another dot"));
    say("and this?", &[&path], When::Now).await.unwrap();
    events.is(|event| matches!(event, Event::Steered { .. })).await;
    say("and that?", &[&path], When::Next).await.unwrap();
    let queued = QueuedInput { text: "and that?".to_owned(), images: vec![path.clone()] };
    events.is(|event| matches!(event, Event::Queued { input, .. } if *input == queued)).await;
    gate.open();
    assert_eq!(events.outcome().await.text.as_deref(), Some("a dot"));
    assert_eq!(events.outcome().await.text.as_deref(), Some("another dot"));
    let pictures = |at: usize| home.model.requests()[at].body.to_string().matches("data:image/png").count();
    assert_eq!([pictures(0), pictures(1), pictures(2)], [0, 1, 2]);
    home.close().await;
}

async fn what_is_said_in_the_moment_in_which_a_turn_ends_is_not_lost(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.push(Reply::say("ready"));
    let (started, _) = home.run("warm up").await;
    let id = started.id.as_str();
    for round in 0..12 {
        // One for the turn, one for the input, whichever turn takes it.
        home.model.push(Reply::say("answered"));
        home.model.push(Reply::say("answered"));
        let after = home.detail(&started).await.info.last_seq;
        home.engine().start_turn(id, home.turn("go")).await.unwrap();
        let mut events = home.events(&started, after).await;
        let is_ending = |event: &Event| match round % 2 {
            0 => {
                matches!(event, Event::ItemCompleted { item } if matches!(item.body, ItemBody::AgentMessage { .. }))
            }
            _ => matches!(event, Event::UsageUpdated { .. }),
        };
        events.is(is_ending).await;
        let text = format!("one thing more, number {round}");
        let say = Say { text: text.clone(), images: Vec::new(), when: When::Now };
        let said = home.engine().say(id, say).await;
        events.outcome().await;
        let is_queued = |event: &Event| matches!(event, Event::Queued { input, .. } if input.text == text);
        let is_steered = |event: &Event| matches!(event, Event::Steered { .. });
        let is_told =
            |event: &Event| matches!(event, Event::Warning { message } if message.contains("further input"));
        match said {
            Err(problem) => {
                assert_eq!(problem.code, ProblemCode::Conflict, "{}", problem.message);
                assert!(!events.seen.iter().any(is_queued));
            }
            Ok(_) if events.seen.iter().any(is_queued) => drop(events.outcome().await),
            Ok(_) => assert!(
                events.seen.iter().any(|event| is_steered(event) || is_told(event)),
                "it was taken, and nobody says what became of it: {:#?}",
                events.seen
            ),
        }
    }
    home.close().await;
}

async fn what_codex_took_and_the_model_never_got_is_taken_back(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.push(Reply::new().command("sleep 600"));
    let started = home.start(ApprovalPolicy::Never, "wait").await;
    let mut events = home.events(&started, 0).await;
    let is_command = |event: &Event| matches!(event, Event::ItemStarted { item } if matches!(item.body, ItemBody::Command { .. }));
    events.is(is_command).await;
    let id = started.id.as_str();
    let say = Say { text: "mind the cheese".to_owned(), images: Vec::new(), when: When::Now };
    assert!(home.engine().say(id, say).await.unwrap().to_running_turn);
    events.is(|event| matches!(event, Event::Steered { .. })).await;
    home.engine().interrupt(id, Interrupt { by: Who::User }).await.unwrap();
    assert_eq!(events.outcome().await.outcome, Outcome::Interrupted { by: Who::User });
    let back = events.seen.iter().find_map(|event| match event {
        Event::Unqueued { inputs, .. } => Some(inputs.clone()),
        _ => None,
    });
    let expected = QueuedInput { text: "mind the cheese".to_owned(), images: Vec::new() };
    assert_eq!(back, Some(vec![expected]), "{:#?}", events.seen);
    let found = home.engine().search("cheese", 10).await.unwrap();
    assert!(found.is_empty(), "it was never said: {found:?}");
    home.close().await;
}
