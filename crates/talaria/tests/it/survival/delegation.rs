//! Results of delegated tasks reach their conversation once, and each end is reported once, when the engine, Codex or both are
//! killed at each step of their way, also after a compaction.
//!
//! The model of the conversation counts: after everything has settled, its last request must hold each result once.

use std::path::Path;

use futures_util::future::BoxFuture;
use serde_json::json;
use talaria_core::api::{Compact, SessionStarted};
use talaria_core::event::Event;
use talaria_scripted::{ModelRequest, Reply, ScriptedModel};
use talaria_testkit::{Codex, CodexHome};

use super::audit::{Tally, Violation, Wrong};
use super::database;
use super::fault::ON_REAL;
use super::lane::{LOOK, Lane, PATIENCE};
use super::play::{People, newer_program, strike};
use super::{PointStrike, deal, part_of, play_all, report, run_named};

/// The steps of a result, each with both sides.
const POINTS: [&str; 6] = [
    "before:end-announced",
    "after:end-announced",
    "before:result-carried",
    "after:result-carried",
    "before:result-added",
    "after:result-added",
];

/// The number of homes for each version.
const LANES: usize = 2;

/// A model that delegates where the prompt says so, collects where it says that, and counts where it is the task.
async fn model() -> ScriptedModel {
    let model = ScriptedModel::start().await.unwrap();
    model.route(|request| {
        let words: Vec<&str> = request.prompt().split(' ').collect();
        let delegate = |arguments| Reply::new().function("talaria_delegate", arguments);
        Some(match (&words[..], request.tool_outputs().len()) {
            (["count", number], _) => Reply::say(format!("Counted {number}.")),
            (["collect" | "leave", number], 0) => {
                let goals = json!([{ "goal": format!("count {number}") }]);
                delegate(json!({ "op": "start", "goals": goals }))
            }
            (["collect", _], 1) => delegate(json!({ "op": "wait", "seconds": 60 })),
            _ => Reply::say("done"),
        })
    });
    model
}

/// How often a request holds this text, in what the user and the tools said.
fn count(request: &ModelRequest, text: &str) -> usize {
    let outputs = request.tool_outputs();
    let said = request.user_texts().into_iter().chain(outputs.iter().map(String::as_str));
    said.map(|said| said.matches(text).count()).sum()
}

/// Waits until a turn of the conversation with this prompt has an outcome.
async fn ended(lane: &Lane, started: &SessionStarted, prompt: &str) -> Result<(), String> {
    let look = async {
        loop {
            let turns = database::turns(&lane.database(), prompt).await;
            if turns.iter().any(|turn| turn.session == started.id.as_str() && turn.outcome.is_some()) {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.map_err(|_| format!("{prompt:?} never ended"))
}

/// Waits until the end of the task is in the conversation, and returns how often.
async fn announced(lane: &Lane, started: &SessionStarted) -> Result<usize, String> {
    let look = async {
        loop {
            if let Some(client) = lane.client().await {
                let events = client.events(started.id.as_str(), 0, 5000).await.unwrap_or_default();
                let is_end = |event: &Event| matches!(event, Event::Warning { message } if message.starts_with("delegated task "));
                let count = events.iter().filter(|numbered| is_end(&numbered.event)).count();
                if count > 0 {
                    return count;
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.map_err(|_| "the end was never reported".to_owned())
}

async fn say(lane: &mut Lane, started: &SessionStarted, prompt: &str) -> Result<(), String> {
    if lane.client().await.is_none() {
        lane.start_engine().await?;
    }
    let client = lane.client().await.ok_or("there is no engine")?;
    let turn = lane.turn(prompt);
    client.start_turn(started.id.as_str(), &turn).await.map_err(|error| error.to_string())?;
    Ok(())
}

/// Plays one fault, and returns what must not have happened.
async fn play(
    lane: &mut Lane,
    (point, blow): PointStrike,
    number: usize,
    newer: &Path,
) -> Result<Option<Violation>, String> {
    if lane.client().await.is_none() {
        lane.start_engine().await?;
    }
    let client = lane.client().await.ok_or("there is no engine")?;
    let word = if point.ends_with("result-carried") { "collect" } else { "leave" };
    let first = format!("{word} {number}");
    let is_later = point.ends_with("result-added");
    let mut people = People::new(lane.home().join("run/engine.sock"));
    let mut trap = (!is_later).then(|| lane.points.trap(point, 0));
    let started = client.start_session(&lane.session(&first)).await.map_err(|error| error.to_string())?;
    if is_later {
        ended(lane, &started, &first).await?;
        announced(lane, &started).await?;
        let compact = Compact { caller: lane.turn("").caller };
        client.compact(started.id.as_str(), &compact).await.map_err(|error| error.to_string())?;
        ended(lane, &started, "/compact").await?;
        trap = Some(lane.points.trap(point, 0));
        say(lane, &started, &format!("and {number}")).await?;
    }
    let Some(mut trap) = trap else { return Err("no trap".to_owned()) };
    let held = tokio::select! {
        held = trap.reached() => held.ok_or("the trap was cleared")?,
        () = tokio::time::sleep(PATIENCE) => return Err(format!("{point} was not reached")),
    };
    let codex = lane.codex_pids().await;
    strike(lane, blow, held, &mut people, &codex, newer).await?;
    people.settle().await?;
    lane.points.clear();
    if lane.client().await.is_none() {
        lane.start_engine().await?;
    }
    ended(lane, &started, &first).await?;
    let ends = announced(lane, &started).await?;
    if is_later {
        ended(lane, &started, &format!("and {number}")).await?;
    }
    for word in ["then", "last"] {
        let prompt = format!("{word} {number}");
        say(lane, &started, &prompt).await?;
        ended(lane, &started, &prompt).await?;
    }
    let last = format!("last {number}");
    let requests = lane.model.requests();
    let request = requests.iter().rev().find(|request| request.user_texts().contains(&last.as_str()));
    let Some(request) = request else { return Err("the last turn never reached the model".to_owned()) };
    let results = count(request, &format!("own words:\nCounted {number}."));
    // A task that Codex's end interrupted has no answer of its own; its result is still owed once.
    let heads = count(request, "Result of codex-");
    let is_true = ends == 1 && heads == 1 && (results == 1 || blow.ends_codex());
    let texts = request.user_texts();
    let what = format!("announced {ends} times, {heads} results, {results} answers: {texts:#?}");
    Ok((!is_true).then_some(Violation { wrong: Wrong::FalseCall, what }))
}

/// Plays faults one after another on one home.
async fn run_lane(lane: Lane, on: String, newer: &Path, faults: Vec<PointStrike>) -> Tally {
    let name = |(point, blow): PointStrike| (format!("delegation/{point}/{}", blow.word()), (point, blow));
    let faults = faults.into_iter().map(name).collect();
    run_named(lane, on, true, faults, |lane, fault, number| {
        let newer = newer.to_owned();
        Box::pin(async move { Ok(play(lane, fault, number, &newer).await?.into_iter().collect()) })
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delegated_result_arrives_once_after_any_kill_on_its_way() {
    let folder = tempfile::tempdir().unwrap();
    let newer = newer_program(folder.path());
    let mut lanes: Vec<BoxFuture<'_, Tally>> = Vec::new();
    for (turn, codex) in Codex::both().into_iter().enumerate() {
        // Delivery does not depend on the version.
        for faults in deal(part_of(&POINTS, &ON_REAL, &[], (turn, 2)), LANES) {
            let model = model().await;
            let home = CodexHome::new(&model);
            let lane = Lane::new(model, home, &codex.native);
            lanes.push(Box::pin(run_lane(lane, codex.version.to_owned(), &newer, faults)));
        }
    }
    report("results of delegated tasks, and who is killed", &play_all(lanes).await);
}
