//! Forks on the real Codex: what the fork knows, what the original keeps, and what happens where Codex cannot copy the thread.

use talaria_core::api::{
    Compact, Fork, ForkOrigin, ForkPoint, Problem, ProblemCode, SessionInfo, SessionStarted,
};
use talaria_core::event::Event;
use talaria_core::ids::SessionId;
use talaria_core::outcome::Outcome;
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::home::Home;
use crate::revival::remove_rollouts;
use crate::stage::both_versions;

both_versions!(
    a_fork_knows_the_turns_it_was_made_of_and_no_later_one,
    a_fork_of_an_earlier_turn_does_not_know_the_later_ones,
    a_fork_from_before_a_compaction_has_what_was_replaced;
    newest:
    a_fork_whose_original_is_gone_continues_from_a_digest_and_says_so,
);

pub(crate) async fn fork(home: &Home, id: &SessionId, point: ForkPoint) -> Result<SessionInfo, Problem> {
    let id = id.clone();
    home.on(|engine| async move { engine.fork(id.as_str(), Fork { point }).await }).await
}

/// Sends a prompt to a conversation and returns what the model said before, as it was sent to it.
pub(crate) async fn knows(home: &Home, id: &SessionId, prompt: &str) -> Vec<String> {
    home.model.push(Reply::say(format!("answer to {prompt}")));
    let (id, turn) = (id.clone(), home.turn(prompt));
    let next = home.on(|engine| async move { engine.start_turn(id.as_str(), turn).await }).await.unwrap();
    let mut events = home.events(&next, next.after).await;
    let report = events.outcome().await;
    assert_eq!(report.outcome, Outcome::Completed, "{:#?}", events.seen);
    let request = home.model.requests().pop().unwrap();
    assert_eq!(request.prompt(), prompt);
    assert!(report.usage.total > 0, "{report:?}");
    request.assistant_texts().into_iter().map(str::to_owned).collect()
}

/// A conversation with these answers.
pub(crate) async fn talked(codex: &Codex, answers: &[&str]) -> (Home, SessionStarted) {
    let mut home = Home::real(codex).await;
    home.open().await;
    home.model.push(Reply::say(answers[0]));
    let (started, report) = home.run("prompt 1").await;
    assert_eq!(report.outcome, Outcome::Completed);
    for (number, answer) in (2..).zip(&answers[1..]) {
        home.model.push(Reply::say(*answer));
        let (id, turn) = (started.id.clone(), home.turn(&format!("prompt {number}")));
        let next = home.on(|engine| async move { engine.start_turn(id.as_str(), turn).await }).await.unwrap();
        assert_eq!(home.events(&next, next.after).await.outcome().await.outcome, Outcome::Completed);
    }
    (home, started)
}

async fn a_fork_knows_the_turns_it_was_made_of_and_no_later_one(codex: Codex) {
    let (mut home, started) = talked(&codex, &["heron", "stork"]).await;
    let forked = fork(&home, &started.id, ForkPoint::Last).await.unwrap();
    assert_eq!((forked.title.as_str(), forked.running), ("prompt 1", false));
    assert_eq!(knows(&home, &started.id, "in the original").await, ["heron", "stork"]);
    assert_eq!(knows(&home, &forked.id, "in the fork").await, ["heron", "stork"]);
    let detail = home.engine().session(forked.id.as_str()).await.unwrap();
    assert_eq!(detail.forked_from, Some(ForkOrigin { session: started.id.clone(), turn: 2 }));
    let prompts: Vec<&str> = detail.turns.iter().map(|turn| turn.prompt.as_str()).collect();
    assert_eq!(prompts, ["prompt 1", "prompt 2", "in the fork"]);
    let spent: Vec<u64> =
        detail.turns.iter().filter_map(|turn| turn.usage).map(|usage| usage.total).collect();
    assert_eq!(spent, [spent[0]; 3], "each turn cost one request: what came before is not counted again");
    assert_ne!(detail.thread, home.detail(&started).await.thread);

    home.stop(false).await;
    home.open().await;
    assert_eq!(knows(&home, &forked.id, "again").await, ["heron", "stork", "answer to in the fork"]);
    assert_eq!(knows(&home, &started.id, "again").await, ["heron", "stork", "answer to in the original"]);
    home.close().await;
}

async fn a_fork_of_an_earlier_turn_does_not_know_the_later_ones(codex: Codex) {
    let (mut home, started) = talked(&codex, &["heron", "stork", "crane"]).await;
    // Codex has the thread on its disk alone.
    home.stop(false).await;
    home.open().await;
    let forked = fork(&home, &started.id, ForkPoint::Turn { turn: 1 }).await.unwrap();
    assert_eq!(knows(&home, &forked.id, "and now?").await, ["heron"]);
    assert!(!home.model.requests().pop().unwrap().body.to_string().contains("stork"));
    assert_eq!(knows(&home, &started.id, "and here?").await, ["heron", "stork", "crane"]);
    for turn in [0, 9] {
        let refused = fork(&home, &started.id, ForkPoint::Turn { turn }).await.unwrap_err();
        assert_eq!(refused.code, ProblemCode::Conflict, "{refused:?}");
    }
    home.close().await;
}

async fn a_fork_from_before_a_compaction_has_what_was_replaced(codex: Codex) {
    let (home, started) = talked(&codex, &["heron", "stork"]).await;
    let refused = fork(&home, &started.id, ForkPoint::BeforeCompaction).await.unwrap_err();
    assert_eq!(refused.code, ProblemCode::Conflict, "{refused:?}");
    home.model.push(Reply::say("They spoke of birds."));
    let (id, compact) = (started.id.clone(), Compact { caller: home.caller.clone() });
    let next = home.on(|engine| async move { engine.compact(id.as_str(), compact).await }).await.unwrap();
    assert_eq!(home.events(&next, next.after).await.outcome().await.outcome, Outcome::Completed);
    assert!(knows(&home, &started.id, "what was it?").await.is_empty(), "it was shortened");
    let forked = fork(&home, &started.id, ForkPoint::BeforeCompaction).await.unwrap();
    let known = knows(&home, &forked.id, "what was it?").await;
    let sent = home.model.requests().pop().unwrap().body.to_string();
    assert!(!sent.contains("They spoke of birds."), "{sent}");
    match codex.version {
        // It cannot restore what was replaced: the fork has all of it in a digest.
        "0.130.0" => {
            assert!(
                sent.contains("earlier_conversation") && sent.contains("heron") && sent.contains("stork")
            );
        }
        _ => assert_eq!(known, ["heron", "stork"]),
    }
    home.close().await;
}

async fn a_fork_whose_original_is_gone_continues_from_a_digest_and_says_so(codex: Codex) {
    let (mut home, started) = talked(&codex, &["heron", "stork"]).await;
    let forked = fork(&home, &started.id, ForkPoint::Turn { turn: 1 }).await.unwrap();
    home.stop(false).await;
    assert_eq!(remove_rollouts(&home.codex_home.path().join("sessions")), 1);
    home.open().await;
    assert!(knows(&home, &forked.id, "which?").await.is_empty());
    let sent = home.model.requests().pop().unwrap().body.to_string();
    assert!(sent.contains("earlier_conversation") && sent.contains("heron"), "{sent}");
    assert!(!sent.contains("stork"), "{sent}");
    let lines = home.engine().events(forked.id.as_str(), 0, 1000).await.unwrap();
    let is_said = lines.iter().any(|line| match serde_json::from_str(&line.json) {
        Ok(Event::Warning { message }) => message.contains("a digest of what was said before"),
        _ => false,
    });
    assert!(is_said, "people read that the model has a digest only");
    home.close().await;
}
