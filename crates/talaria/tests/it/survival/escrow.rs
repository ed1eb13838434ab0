//! An answer that was stored and never reached Codex is kept for the identical question in the next turn, is used once, and
//! answers nothing else.

use talaria_core::api::{EngineStatus, RequestInfo};
use talaria_testkit::Codex;

use super::database;
use super::fault::{Fault, Nth, Side, Strike};
use super::lane::{LOOK, Lane, PATIENCE, program};
use super::play::{People, Played, newer_program, play};
use super::real;
use crate::scene::both_versions;

both_versions!(
    a_kept_answer_serves_the_identical_question_once,
    a_kept_answer_does_not_serve_a_different_question,
);

/// An answer is stored; then Codex and the engine are killed. Returns the session.
async fn lose_an_answer(lane: &mut Lane) -> (String, Played) {
    let folder = tempfile::tempdir().unwrap();
    let fault = Fault {
        write: "answer-stored",
        side: Side::After,
        strike: Strike::Both,
        nth: Nth::First,
        beside: 0,
        skip: 0,
    };
    let played = play(lane, fault, 0, &newer_program(folder.path())).await;
    assert_eq!(played.trouble, None, "{}", lane.last_words());
    let turns = database::turns(&lane.database(), &played.prompts[0]).await;
    assert_eq!(turns[0].outcome.as_deref(), Some("lost"));
    assert_eq!(states(lane, &played.prompts[0]).await, ["escrowed"]);
    (turns[0].session.clone(), played)
}

/// States of the requests of turns with this prompt, oldest first.
async fn states(lane: &Lane, prompt: &str) -> Vec<String> {
    database::requests(&lane.database(), prompt).await.into_iter().map(|row| row.state).collect()
}

/// Starts a turn that gets no answer, and waits until it asks or has ended; returns what it asks.
async fn asked(lane: &Lane, session: &str, prompt: &str) -> Option<RequestInfo> {
    let client = lane.client().await.unwrap();
    client.start_turn(session, &lane.turn(prompt)).await.unwrap();
    let waiting = async {
        loop {
            let EngineStatus { turns, mut requests, .. } = client.status().await.unwrap();
            if turns.is_empty() || !requests.is_empty() {
                return requests.pop();
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap()
}

async fn close(lane: Lane) {
    let (is_well, said) = lane.run(program(), &["stop"]).await;
    assert!(is_well, "{said}");
    assert_eq!(lane.marker.wait_gone(PATIENCE).await, Ok(()));
}

/// How often the command ran that was asked about.
fn ran(lane: &Lane, prompt: &str) -> usize {
    std::fs::read_to_string(lane.work().join(prompt)).unwrap_or_default().lines().count()
}

async fn a_kept_answer_serves_the_identical_question_once(codex: Codex) {
    let mut lane = real(&codex).await;
    let (session, played) = lose_an_answer(&mut lane).await;
    let prompt = played.prompts[0].as_str();
    assert_eq!(ran(&lane, prompt), 0);
    assert!(asked(&lane, &session, prompt).await.is_none(), "nobody was asked again");
    assert_eq!(ran(&lane, prompt), 1);
    assert_eq!(states(&lane, prompt).await, ["delivered", "delivered"]);
    let told = lane.client().await.unwrap().events(&session, 0, 1000).await.unwrap();
    let told = format!("{told:?}");
    assert!(told.contains("and kept for this turn"), "it is told where the answer came from: {told}");
    assert!(asked(&lane, &session, prompt).await.is_some(), "it was used up");
    assert_eq!(ran(&lane, prompt), 1);
    let mut people = People::new(lane.home().join("run/engine.sock"));
    people.settle().await.unwrap();
    assert_eq!(ran(&lane, prompt), 2);
    close(lane).await;
}

async fn a_kept_answer_does_not_serve_a_different_question(codex: Codex) {
    let mut lane = real(&codex).await;
    let (session, played) = lose_an_answer(&mut lane).await;
    assert!(asked(&lane, &session, "ask-something-else").await.is_some(), "it is asked afresh");
    assert_eq!((ran(&lane, &played.prompts[0]), ran(&lane, "ask-something-else")), (0, 0));
    let mut people = People::new(lane.home().join("run/engine.sock"));
    people.settle().await.unwrap();
    assert_eq!((ran(&lane, &played.prompts[0]), ran(&lane, "ask-something-else")), (0, 1));
    // It served no turn, and serves no later one. That is written down after the outcome, before the next turn begins.
    let expired = async {
        while states(&lane, &played.prompts[0]).await != ["expired"] {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(PATIENCE, expired).await.unwrap();
    close(lane).await;
}
