//! Steering and queued input while a process is killed, on Codex and on the built-in loop: the model reads it, it runs after a completed turn, or it is
//! returned to its sender. Acknowledged input is never lost, and no queued input runs alone.

use std::path::Path;

use futures_util::future::BoxFuture;
use serde_json::json;
use talaria_core::api::{NewSession, Say, SessionStarted, When};
use talaria_core::event::Event;
use talaria_scripted::{Reply, ScriptedModel};
use talaria_server::client::{Client, ClientError};
use talaria_testkit::{Codex, CodexHome};
use tokio::task::JoinHandle;

use super::audit::{Tally, Violation, Wrong, evidence};
use super::database;
use super::fault::Strike;
use super::lane::{LOOK, Lane, PATIENCE};
use super::own_loop;
use super::play::{People, newer_program, strike};
use super::{play_all, report, run_named};

/// The point of the fault; input before the outcome has been acknowledged by then.
const POINTS: [&str; 5] =
    ["before:steering", "after:steering", "after:queued", "before:outcome", "after:outcome"];
const STRIKES: [Strike; 3] = [Strike::Engine, Strike::Codex, Strike::Both];
/// On the built-in loop, where nothing but the engine can be killed here.
const LOOP_STRIKES: [Strike; 2] = [Strike::Engine, Strike::EngineTwice];

/// The point of a fault, what strikes there, and how the turn ends that is spoken to.
#[derive(Clone, Copy, Debug)]
struct WordFault {
    point: &'static str,
    blow: Strike,
    course: Course,
}

/// How the turn ends that is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    Completes,
    Fails,
}

/// A model that asks for a command, and fails afterwards where the prompt says so.
async fn model() -> ScriptedModel {
    let model = ScriptedModel::start().await.unwrap();
    model.route(|request| {
        let texts = request.user_texts();
        let said = |beginning: &str| texts.iter().rev().find(|text| text.starts_with(beginning)).copied();
        let is_new = request.prompt().starts_with("ask-") && !request.is_after_tool();
        Some(match said("ask-") {
            Some(prompt) if is_new && request.tool_names().contains(&"run") => {
                Reply::new().function("run", json!({ "command": format!("echo ran >> {prompt}") }))
            }
            Some(prompt) if is_new => Reply::new().command(format!("echo ran >> {prompt}")),
            // Queued input is the prompt of a separate turn.
            Some(prompt) if prompt.contains("-fails-") && !request.prompt().starts_with("later-") => {
                Reply::failed("invalid_prompt", "no")
            }
            _ => Reply::say("done"),
        })
    });
    model
}

/// Something that was said, and whether the engine said that it has it.
struct Said {
    text: String,
    when: When,
    told: Result<(), ClientError>,
}

/// Says something to the running turn and something for the next one.
fn say(lane: &Lane, started: &SessionStarted, number: usize) -> JoinHandle<Vec<Said>> {
    let (socket, session) = (lane.home().join("run/engine.sock"), started.id.clone());
    tokio::spawn(async move {
        let mut all = Vec::new();
        for (when, word) in [(When::Now, "now"), (When::Next, "later")] {
            let text = format!("{word}-{number}-words");
            let say = Say { text: text.clone(), images: Vec::new(), when };
            let told = async { Client::connect(&socket).await?.say(session.as_str(), &say).await };
            all.push(Said { text, when, told: told.await.map(drop) });
        }
        all
    })
}

/// Plays one fault, and returns what must not have happened.
async fn play(
    lane: &mut Lane,
    fault: WordFault,
    session: impl FnOnce(&Lane, &str) -> NewSession,
    number: usize,
    newer: &Path,
) -> Result<Vec<Violation>, String> {
    if lane.client().await.is_none() {
        lane.start_engine().await?;
    }
    let client = lane.client().await.ok_or("there is no engine")?;
    let WordFault { point, blow, course } = fault;
    let kind = if course == Course::Fails { "fails" } else { "completes" };
    let prompt = format!("ask-{kind}-{number}");
    let started = client.start_session(&session(lane, &prompt)).await.map_err(|error| error.to_string())?;
    let asked = async {
        while client.status().await.is_ok_and(|status| status.requests.is_empty()) {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(PATIENCE, asked).await.map_err(|_| "nothing was asked")?;
    let mut people = People::new(lane.home().join("run/engine.sock"));
    let mut trap = lane.points.trap(point, 0);
    let mut saying = say(lane, &started, number);
    let mut said = None;
    if point.ends_with("outcome") {
        said = Some((&mut saying).await.map_err(|error| error.to_string())?);
    }
    let held = tokio::select! {
        held = trap.reached() => held.ok_or("the trap was cleared")?,
        () = people.keep_answering(), if said.is_some() => return Err("nobody answers for ever".to_owned()),
        () = tokio::time::sleep(PATIENCE) => return Err(format!("{point} was not reached")),
    };
    let codex = lane.codex_pids().await;
    strike(lane, blow, held, &mut people, &codex, newer).await?;
    let said = match said {
        Some(said) => said,
        None => saying.await.map_err(|error| error.to_string())?,
    };
    people.settle().await?;
    lane.points.clear();
    Ok(examine(lane, &started, &prompt, &said).await)
}

/// Compares what is stored with what the model was sent.
async fn examine(lane: &Lane, started: &SessionStarted, prompt: &str, said: &[Said]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut add = |wrong, what: String| found.push(Violation { wrong, what });
    let turns = database::turns(&lane.database(), prompt).await;
    let outcome = turns.first().and_then(|turn| turn.outcome.clone()).unwrap_or_default();
    if turns.len() != 1 || outcome.is_empty() {
        add(Wrong::Unaccounted, format!("{turns:?}"));
    }
    if evidence(lane, prompt).recorded > 1 {
        add(Wrong::Duplicated, "the prompt was sent twice".to_owned());
    }
    let Some(client) = lane.client().await else {
        add(Wrong::Unaccounted, "there is no engine".to_owned());
        return found;
    };
    let events = client.events(started.id.as_str(), 0, 5000).await.unwrap_or_default();
    let returned: Vec<&str> = events
        .iter()
        .filter_map(|numbered| match &numbered.event {
            Event::Unqueued { inputs, .. } => Some(inputs),
            _ => None,
        })
        .flatten()
        .map(|input| input.text.as_str())
        .collect();
    for Said { text, when, told } in said {
        let rows = database::turns(&lane.database(), text).await;
        let known = evidence(lane, text);
        let is_read = lane.model.requests().iter().any(|request| request.body.to_string().contains(text));
        let is_returned = returned.contains(&text.as_str());
        let state = format!(
            "{text}: told {told:?}, the turn {outcome}, read {is_read}, returned {is_returned}, {rows:?}"
        );
        // A separate turn that ended shows its fate.
        let is_told = rows.iter().any(|turn| turn.outcome.is_some());
        if told.is_ok() && !is_read && !is_returned && !is_told {
            add(Wrong::WordsLost, state.clone());
        }
        if outcome != "completed" && (!rows.is_empty() || (*when == When::Next && is_read)) {
            add(Wrong::RunAlone, state.clone());
        }
        if rows.len() > 1 || known.recorded > 1 {
            add(Wrong::Duplicated, state);
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn input_to_a_turn_of_the_loop_is_read_run_or_returned_after_any_kill() {
    let folder = tempfile::tempdir().unwrap();
    let newer = newer_program(folder.path());
    let points = POINTS.into_iter().flat_map(|point| LOOP_STRIKES.map(|blow| (point, blow)));
    let courses = [Course::Completes, Course::Fails];
    let all = points.flat_map(|(point, blow)| courses.map(|course| WordFault { point, blow, course }));
    let named = |(family, fault): (&'static str, WordFault)| {
        let WordFault { point, blow, course } = fault;
        (format!("words/loop/{family}/{point}/{}/{course:?}", blow.word()), (family, fault))
    };
    let faults = own_loop::FAMILIES.into_iter().cycle().zip(all).map(named).collect();
    let (lane, newer) = (own_loop::lane_of(model().await), newer.as_path());
    let played = run_named(lane, "the loop".to_owned(), false, faults, |lane, (family, fault), number| {
        let newer = newer.to_owned();
        Box::pin(async move {
            let session = |lane: &Lane, prompt: &str| own_loop::session_of(lane, family, prompt);
            play(lane, fault, session, number, &newer).await
        })
    });
    report("words to turns of the loop, and who is killed", &played.await);
}

#[tokio::test(flavor = "multi_thread")]
async fn steered_and_queued_input_is_read_run_or_returned_after_any_kill() {
    let folder = tempfile::tempdir().unwrap();
    let newer = newer_program(folder.path());
    let mut lanes: Vec<BoxFuture<'_, Tally>> = Vec::new();
    for (shift, codex) in Codex::both().into_iter().enumerate() {
        let model = model().await;
        let home = CodexHome::new(&model);
        let lane = Lane::new(model, home, &codex.native);
        let all = POINTS.into_iter().flat_map(|point| STRIKES.map(|blow| (point, blow)));
        let faults = all.enumerate().map(|(number, (point, blow))| {
            // One version plays a case with a turn that completes, the other with one that fails.
            let course = if (number + shift) % 2 == 0 { Course::Completes } else { Course::Fails };
            (format!("words/{point}/{}/{course:?}", blow.word()), WordFault { point, blow, course })
        });
        let newer = newer.as_path();
        let played =
            run_named(lane, codex.version.to_owned(), true, faults.collect(), |lane, fault, number| {
                let newer = newer.to_owned();
                Box::pin(async move { play(lane, fault, Lane::session, number, &newer).await })
            });
        lanes.push(Box::pin(played));
    }
    report("words, and who is killed", &play_all(lanes).await);
}
