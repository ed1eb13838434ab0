//! Undone turns on the real Codex: the model does not know them any more, and they stay on record as undone.

use serde_json::json;
use talaria_core::api::{NewTurn, Problem, ProblemCode, Undo, Undone};
use talaria_core::event::Event;
use talaria_core::ids::SessionId;
use talaria_core::input::InputPart;
use talaria_core::outcome::Outcome;
use talaria_core::policy::ApprovalPolicy;
use talaria_scripted::{Gate, Reply};
use talaria_testkit::Codex;

use crate::forking::{knows, talked};
use crate::home::Home;
use crate::stage::both_versions;

both_versions!(
    an_undone_turn_is_not_known_any_more_and_stays_on_record,
    several_turns_are_undone_and_the_next_engine_knows_it,
    a_turn_is_repeated_in_place_of_the_last_one;
    newest:
    nothing_is_undone_while_a_turn_runs,
    an_input_that_is_not_stored_as_it_was_is_not_repeated,
    what_was_undone_is_recalled_by_no_one,
);

async fn undo(home: &Home, id: &SessionId) -> Result<Undone, Problem> {
    let id = id.clone();
    home.on(|engine| async move { engine.undo(id.as_str(), Undo::default()).await }).await
}

async fn retry(home: &Home, id: &SessionId) -> Result<talaria_core::api::SessionStarted, Problem> {
    let turn = NewTurn { input: Vec::new(), ..home.turn("") };
    let id = id.clone();
    home.on(|engine| async move { engine.retry(id.as_str(), turn).await }).await
}

async fn an_undone_turn_is_not_known_any_more_and_stays_on_record(codex: Codex) {
    let (home, started) = talked(&codex, &["heron", "stork"]).await;
    let undone = undo(&home, &started.id).await.unwrap();
    assert_eq!((undone.turn, undone.prompt.as_str()), (2, "prompt 2"));
    assert_eq!(home.engine().search("stork", 9).await.unwrap(), []);
    assert_eq!(knows(&home, &started.id, "and now?").await, ["heron"]);
    let asked = home.model.requests().pop().unwrap().body.to_string();
    assert!(!asked.contains("stork") && !asked.contains("prompt 2"), "{asked}");
    let detail = home.detail(&started).await;
    let marks: Vec<bool> = detail.turns.iter().map(|turn| turn.undone_at.is_some()).collect();
    assert_eq!(marks, [false, true, false]);
    let said: Vec<&str> =
        detail.undone_messages.iter().filter_map(|at| detail.messages[*at].content.as_deref()).collect();
    assert_eq!(said, ["prompt 2", "stork"]);
    let spent: Vec<u64> =
        detail.turns.iter().filter_map(|turn| turn.usage).map(|usage| usage.total).collect();
    assert_eq!(spent, [spent[0]; 3], "each turn cost one request");
    let events = home.all(&started).await;
    let told = events.iter().filter(|one| matches!(one.event, Event::TurnUndone { undone: 2 }));
    assert_eq!(told.count(), 1);
    home.close().await;
}

async fn several_turns_are_undone_and_the_next_engine_knows_it(codex: Codex) {
    let (mut home, started) = talked(&codex, &["heron", "stork", "crane"]).await;
    for turn in [3, 2] {
        assert_eq!(undo(&home, &started.id).await.unwrap().turn, turn);
    }
    home.stop(false).await;
    home.open().await;
    assert_eq!(knows(&home, &started.id, "one").await, ["heron"]);
    home.stop(false).await;
    home.open().await;
    assert_eq!(knows(&home, &started.id, "two").await, ["heron", "answer to one"]);
    for turn in [5, 4, 1] {
        assert_eq!(undo(&home, &started.id).await.unwrap().turn, turn);
    }
    assert_eq!(undo(&home, &started.id).await.unwrap_err().code, ProblemCode::Conflict);
    assert!(knows(&home, &started.id, "three").await.is_empty(), "it begins anew");
    let asked = home.model.requests().pop().unwrap().body.to_string();
    assert!(!asked.contains("heron") && !asked.contains("earlier_conversation"), "{asked}");
    home.close().await;
}

async fn a_turn_is_repeated_in_place_of_the_last_one(codex: Codex) {
    let (home, started) = talked(&codex, &["heron", "stork"]).await;
    home.model.push(Reply::say("crane"));
    let next = retry(&home, &started.id).await.unwrap();
    assert_eq!((next.turn, &next.id), (3, &started.id));
    let mut events = home.events(&next, next.after).await;
    assert_eq!(events.outcome().await.outcome, Outcome::Completed, "{:#?}", events.seen);
    assert!(matches!(events.seen[0], Event::TurnUndone { undone: 2 }), "{:#?}", events.seen);
    let asked = home.model.requests().pop().unwrap();
    assert_eq!((asked.prompt(), asked.assistant_texts()), ("prompt 2", vec!["heron"]));
    assert_eq!(knows(&home, &started.id, "and then?").await, ["heron", "crane"]);
    home.close().await;
}

async fn nothing_is_undone_while_a_turn_runs(codex: Codex) {
    let (home, started) = talked(&codex, &["heron"]).await;
    let gate = Gate::new();
    home.model.push(Reply::new().gate(&gate).text("late"));
    let (id, turn) = (started.id.clone(), home.turn("wait"));
    let next = home.on(|engine| async move { engine.start_turn(id.as_str(), turn).await }).await.unwrap();
    gate.reached().await;
    assert_eq!(undo(&home, &started.id).await.unwrap_err().code, ProblemCode::Busy);
    assert_eq!(retry(&home, &started.id).await.unwrap_err().code, ProblemCode::Busy);
    gate.open();
    assert_eq!(home.events(&next, next.after).await.outcome().await.outcome, Outcome::Completed);
    assert!(home.detail(&started).await.turns.iter().all(|turn| turn.undone_at.is_none()));
    home.close().await;
}

async fn an_input_that_is_not_stored_as_it_was_is_not_repeated(codex: Codex) {
    let (home, started) = talked(&codex, &["heron"]).await;
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    knows(&home, &started.id, &format!("log in with {secret}")).await;
    let refused = retry(&home, &started.id).await.unwrap_err();
    assert_eq!(refused.code, ProblemCode::Conflict);
    assert!(refused.message.contains("is not stored as it was"), "{refused:?}");
    let input = vec![InputPart::text("other words")];
    let (id, turn) = (started.id.clone(), NewTurn { input, ..home.turn("") });
    let other = home.on(|engine| async move { engine.retry(id.as_str(), turn).await }).await;
    assert_eq!(other.unwrap_err().code, ProblemCode::BadRequest);
    assert!(
        home.detail(&started).await.turns.iter().all(|turn| turn.undone_at.is_none()),
        "nothing was undone"
    );
    home.close().await;
}

async fn what_was_undone_is_recalled_by_no_one(codex: Codex) {
    let (home, started) = talked(&codex, &["a grey heron", "a black stork"]).await;
    undo(&home, &started.id).await.unwrap();
    let recalls = |query: &str| Reply::new().function("talaria_recall", json!({ "query": query }));
    home.model.play([recalls("heron"), recalls("stork"), Reply::say("done")]);
    let other = home.start(ApprovalPolicy::Never, "look for birds").await;
    assert_eq!(home.events(&other, 0).await.outcome().await.outcome, Outcome::Completed);
    let [.., first, second] = home.model.requests().try_into().map(|all: [_; 5]| all).unwrap();
    let said = |request: &talaria_scripted::ModelRequest| request.body.to_string();
    assert!(said(&first).contains("a grey"), "{}", said(&first));
    assert!(!said(&second).contains("a black"), "{}", said(&second));
    home.close().await;
}
