//! Compaction, with the real Codex: a turn of its own that completes, fails, is stopped, and survives.

use serde_json::json;
use talaria_core::api::{Compact, Interrupt, Problem, ProblemCode, SessionStarted};
use talaria_core::event::{Event, Stage};
use talaria_core::item::{CompactionCause, ItemBody};
use talaria_core::outcome::Outcome;
use talaria_core::policy::ApprovalPolicy;
use talaria_core::request::Who;
use talaria_scripted::{Gate, PlanStepStatus as Step, Reply};
use talaria_testkit::app_server::directive::{on, reply, reply_error};
use talaria_testkit::app_server::{complete_turn, start_turn};
use talaria_testkit::{AppServer, Codex};

use crate::home::{Home, calling, completed_once};
use crate::stage::both_versions;

both_versions!(
    a_conversation_is_shortened_and_goes_on,
    a_compaction_that_fails_says_why_and_the_conversation_goes_on,
    a_compaction_can_be_interrupted,
    what_shortens_a_conversation_has_its_plan_before_it;
    newest:
    a_compaction_is_refused_while_a_turn_runs,
    words_for_a_compaction_wait_for_the_next_turn,
    a_compaction_goes_on_without_its_engine,
    a_compaction_whose_codex_dies_is_lost_and_not_sent_again,
);

async fn compact(home: &Home, started: &SessionStarted) -> Result<SessionStarted, Problem> {
    let (id, compact) = (started.id.clone(), Compact { caller: home.caller.clone() });
    home.on(|engine| async move { engine.compact(id.as_str(), compact).await }).await
}

/// A home with a conversation in which something was said.
async fn talked(codex: &Codex) -> (Home, SessionStarted) {
    let mut home = Home::real(codex).await;
    home.open().await;
    home.model.push(Reply::say("The word is heron."));
    let (started, report) = home.run("tell me a word").await;
    assert_eq!(report.outcome, Outcome::Completed);
    (home, started)
}

async fn go_on(home: &Home, started: &SessionStarted) {
    home.model.push(Reply::say("It was heron."));
    let (id, turn) = (started.id.clone(), home.turn("which was it?"));
    let next = home.on(|engine| async move { engine.start_turn(id.as_str(), turn).await }).await.unwrap();
    assert_eq!(home.events(&next, next.after).await.outcome().await.outcome, Outcome::Completed);
}

/// Number of compactions according to the steps.
fn shortened(events: &[Event]) -> usize {
    let is_it = |event: &&Event| matches!(event, Event::ItemCompleted { item } if matches!(item.body, ItemBody::Compaction(_)));
    events.iter().filter(is_it).count()
}

async fn a_conversation_is_shortened_and_goes_on(codex: Codex) {
    let (home, started) = talked(&codex).await;
    home.model.push(Reply::say("They spoke of a heron."));
    let next = compact(&home, &started).await.unwrap();
    assert_eq!((next.turn, &next.id), (2, &started.id));
    let mut events = home.events(&next, next.after).await;
    let report = events.outcome().await;
    assert_eq!(report.outcome, Outcome::Completed, "{:#?}", events.seen);
    assert_eq!(shortened(&events.seen), 1);
    let facts = events.seen.iter().find_map(|event| match event {
        Event::ItemCompleted { item } => match &item.body {
            ItemBody::Compaction(facts) => Some(*facts),
            _ => None,
        },
        _ => None,
    });
    let facts = facts.unwrap();
    assert_eq!((facts.by, facts.before), (Some(CompactionCause::User), Some(1050)), "{facts:?}");
    assert!(facts.after.is_some_and(|after| after > 0), "{facts:?}");
    assert!(report.usage.total > 0, "it costs what it costs: {report:?}");
    let turns = home.detail(&started).await.turns;
    assert_eq!((turns[1].prompt.as_str(), turns[1].stage), ("/compact", Stage::Settled));

    go_on(&home, &started).await;
    let asked = home.model.requests().pop().unwrap();
    assert!(
        asked.assistant_texts().is_empty(),
        "what was answered is in the digest: {:?}",
        asked.assistant_texts()
    );
    assert!(asked.body.to_string().contains("They spoke of a heron."));
    assert!(!asked.body.to_string().contains("/compact"), "nothing was said to the model");
    completed_once(&home.all(&started).await);
    home.close().await;
}

async fn what_shortens_a_conversation_has_its_plan_before_it(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let steps = [("count the herons", Step::Completed), ("feed the herons", Step::InProgress)];
    home.model.play([Reply::new().plan("birds first", steps), Reply::say("planned")]);
    let (started, _) = home.run("plan").await;
    home.model.push(Reply::say("Left to do: feed them."));
    let next = compact(&home, &started).await.unwrap();
    assert_eq!(home.events(&next, next.after).await.outcome().await.outcome, Outcome::Completed);
    let asked = home.model.requests().pop().unwrap().body.to_string();
    assert!(asked.contains("feed the herons") && asked.contains("in_progress"), "{asked}");
    go_on(&home, &started).await;
    let sent = home.model.requests().pop().unwrap().body.to_string();
    assert!(sent.contains("Left to do: feed them.") && !sent.contains("feed the herons"), "{sent}");
    let plan = |event: Event| match event {
        Event::PlanUpdated { steps, .. } => Some(steps.len()),
        _ => None,
    };
    let plans: Vec<_> = home.all(&started).await.into_iter().filter_map(|one| plan(one.event)).collect();
    assert_eq!(plans, [2], "the plan stays on record");
    home.close().await;
}

async fn a_compaction_that_fails_says_why_and_the_conversation_goes_on(codex: Codex) {
    let (home, started) = talked(&codex).await;
    home.model.push(Reply::status(400).body(json!({ "error": { "message": "no digest today" } })));
    let next = compact(&home, &started).await.unwrap();
    let mut events = home.events(&next, next.after).await;
    let Outcome::Failed { message, .. } = events.outcome().await.outcome else {
        panic!("{:#?}", events.seen)
    };
    assert!(
        message.contains("no digest today") && message.contains("nothing of it was dropped"),
        "{message}"
    );
    assert_eq!(shortened(&events.seen), 0);
    go_on(&home, &started).await;
    assert_eq!(home.model.requests().pop().unwrap().assistant_texts(), ["The word is heron."]);
    home.close().await;
}

async fn a_compaction_can_be_interrupted(codex: Codex) {
    let (home, started) = talked(&codex).await;
    let gate = Gate::new();
    home.model.push(Reply::new().gate(&gate).text("late"));
    let next = compact(&home, &started).await.unwrap();
    gate.reached().await;
    home.engine().interrupt(started.id.as_str(), Interrupt { by: Who::User }).await.unwrap();
    let mut events = home.events(&next, next.after).await;
    assert_eq!(events.outcome().await.outcome, Outcome::Interrupted { by: Who::User }, "{:#?}", events.seen);
    assert!(!events.seen.iter().any(|event| matches!(event, Event::Escalated { .. })), "{:#?}", events.seen);
    gate.open();
    go_on(&home, &started).await;
    home.close().await;
}

async fn a_compaction_is_refused_while_a_turn_runs(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let gate = Gate::new();
    home.model.push(Reply::new().text("half ").gate(&gate).text("whole"));
    let started = home.start(ApprovalPolicy::Never, "talk").await;
    gate.reached().await;
    let problem = compact(&home, &started).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::Busy);
    assert!(problem.message.contains("would stop it") && problem.hint.is_some(), "{problem:?}");
    gate.open();
    let report = home.events(&started, 0).await.outcome().await;
    assert_eq!((report.outcome, report.text.as_deref()), (Outcome::Completed, Some("half whole")));
    home.close().await;
}

async fn words_for_a_compaction_wait_for_the_next_turn(codex: Codex) {
    let (home, started) = talked(&codex).await;
    let gate = Gate::new();
    home.model.push(Reply::new().gate(&gate).text("a heron"));
    let next = compact(&home, &started).await.unwrap();
    let mut events = home.events(&next, next.after).await;
    gate.reached().await;
    home.model.push(Reply::say("heard"));
    let say = talaria_core::api::Say {
        text: "more words".to_owned(),
        images: Vec::new(),
        when: talaria_core::api::When::Now,
    };
    home.engine().say(started.id.as_str(), say).await.unwrap();
    events.is(|event| matches!(event, Event::Queued { .. })).await;
    gate.open();
    assert_eq!(events.outcome().await.outcome, Outcome::Completed);
    assert_eq!(events.outcome().await.outcome, Outcome::Completed);
    assert_eq!(home.model.requests().pop().unwrap().prompt(), "more words");
    home.close().await;
}

async fn a_compaction_goes_on_without_its_engine(codex: Codex) {
    let (mut home, started) = talked(&codex).await;
    let gate = Gate::new();
    home.model.push(Reply::new().gate(&gate).text("a heron"));
    let next = compact(&home, &started).await.unwrap();
    gate.reached().await;
    home.events(&next, next.after).await.is(|event| matches!(event, Event::TurnStarted { .. })).await;
    home.crash().await;
    home.open().await;
    gate.open();
    let mut events = home.events(&next, next.after).await;
    assert_eq!(events.outcome().await.outcome, Outcome::Completed, "{:#?}", events.seen);
    assert_eq!(home.detail(&started).await.turns[1].prompt, "/compact");
    assert_eq!(home.model.requests().len(), 2, "sent once");
    go_on(&home, &started).await;
    home.close().await;
}

async fn a_compaction_whose_codex_dies_is_lost_and_not_sent_again(codex: Codex) {
    let (home, started) = talked(&codex).await;
    home.configure("[codex]\non_loss = \"continue\"");
    let gate = Gate::new();
    home.model.push(Reply::new().gate(&gate).text("late"));
    let next = compact(&home, &started).await.unwrap();
    gate.reached().await;
    home.kill_codex(&home.hosts().await).await;
    let mut events = home.events(&next, next.after).await;
    let outcome = events.outcome().await.outcome;
    assert!(matches!(outcome, Outcome::Lost { .. }), "{:#?}", events.seen);
    gate.open();
    go_on(&home, &started).await;
    let turns = home.detail(&started).await.turns;
    assert_eq!(turns.len(), 3, "{turns:#?}");
    assert_eq!(home.model.requests().len(), 3, "it was not sent again");
    // A turn without input is not continued after a loss.
    let file = home.talaria().store_file();
    let store = talaria_store::Store::open(&file, 0, &Default::default()).await.unwrap();
    let turns = store.last_turns(&started.id, None, 10).await.unwrap();
    assert_eq!(turns.iter().map(|turn| turn.ours).collect::<Vec<_>>(), [false, true, false]);
    store.close().await;
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_codex_that_refuses_to_shorten_is_told_and_one_that_never_had_a_turn_is_not_asked() {
    let refused = reply_error(json!({ "code": -32600, "message": "not this one" }));
    let script = start_turn().into_iter().chain(complete_turn("done"));
    let handlers = [on("thread/compact/start", [refused])].into_iter().chain(script);
    let (mut home, _) = Home::scripted(AppServer::ready(handlers)).await;
    home.open().await;
    let (started, _) = home.run("go").await;
    let next = compact(&home, &started).await.unwrap();
    let report = home.events(&next, next.after).await.outcome().await;
    assert!(
        matches!(&report.outcome, Outcome::Failed { message, .. } if message.contains("not this one")),
        "{report:?}"
    );
    let (id, asked) = (started.id.clone(), Compact { caller: home.caller.clone() });
    let model = talaria_core::principal::Principal::model("x");
    let refused = home.on(|engine| async move { calling(&engine, &model).compact(id.as_str(), asked).await });
    assert_eq!(refused.await.unwrap_err().code, ProblemCode::Forbidden, "a model shortens nothing");
    home.close().await;

    let refused = reply_error(json!({ "code": -32600, "message": "no" }));
    let (mut home, program) = Home::scripted(AppServer::ready([
        on("turn/start", [refused]),
        on("thread/compact/start", [reply(json!({}))]),
    ]))
    .await;
    home.open().await;
    let (started, _) = home.run("go").await;
    let problem = compact(&home, &started).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::Conflict);
    assert!(!program.received().iter().any(|message| message["method"] == "thread/compact/start"));
    home.close().await;
}
