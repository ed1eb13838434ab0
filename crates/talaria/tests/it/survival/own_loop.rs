//! Turns of the built-in loop while engine, keeper or both are killed: at every durable step, while a request is answered, and
//! while a command runs. `faults` lists them, `model` plays the model, `audit` counts what must not have happened.
//!
//! No Codex is needed: commands run without a sandbox here, below their real keepers. `TALARIA_FAULT`, `TALARIA_FAULT_ROUNDS` and
//! `TALARIA_FAULT_SEED` mean what they mean for the other faults.

mod audit;
mod faults;
mod model;

use std::path::Path;

use futures_util::future::BoxFuture;
use talaria_core::api::NewSession;
use talaria_core::event::Event;
use talaria_core::policy::ApprovalPolicy;
use talaria_scripted::ScriptedModel;
use talaria_testkit::{CodexHome, mcp_server};

use super::audit::{Tally, Violation, Wrong};
use super::lane::{LOOK, Lane, PATIENCE, program};
use super::play::{People, newer_program, strike};
use super::{play_all, report};
use crate::own_loop::searching::searxng;
pub(super) use faults::FAMILIES;
use faults::{LoopFault, Moment};
use model::Stage;

/// Number of homes over which the faults are distributed.
const LANES: usize = 5;
/// The model of every provider.
const MODEL: &str = "tiny";

/// The model that takes over.
const SPARE: &str = "spare";

/// A home without a Codex, whose providers are the scripted model in each family.
pub(super) fn lane_of(model: ScriptedModel) -> Lane {
    let base = model.base_url();
    let home = CodexHome::new(&model);
    let lane = Lane::new(model, home, Path::new("/nonexistent/codex"));
    let mut config = String::new();
    for api in FAMILIES {
        config.push_str(&format!(
            "[providers.own-{api}]\nbase_url = \"{base}\"\napi = \"{api}\"\nfallback = [\"own-{api}/{SPARE}\"]\n\
             [providers.own-{api}.models.{MODEL}]\ncontext = 200000\n"
        ));
    }
    std::fs::write(lane.home().join("config.toml"), config).unwrap();
    lane
}

/// One with a search of the web and an MCP server.
async fn lane() -> (Lane, Stage) {
    let (model, stage) = model::start().await;
    let lane = lane_of(model);
    let (search, _) = searxng().await;
    lane.configure_more(&format!(
        "[web]\nsearxng_url = \"{search}\"\nnetwork = \"always\"\n[mcp_servers.birds]\ncommand = {:?}\n",
        mcp_server::program()
    ));
    (lane, stage)
}

/// A conversation on the loop in which commands are asked about.
pub(super) fn session_of(lane: &Lane, family: &str, prompt: &str) -> NewSession {
    let mut session = lane.session(prompt);
    session.model = Some(MODEL.to_owned());
    session.turn.provider = Some(format!("own-{family}"));
    session.turn.caller.codex = None;
    session.turn.caller.codex_home = None;
    session
}

/// A conversation in which the model plays the case of the fault.
fn session(lane: &Lane, fault: &LoopFault, prompt: &str) -> NewSession {
    let approval = if fault.case.asks { ApprovalPolicy::Untrusted } else { ApprovalPolicy::OnRequest };
    NewSession { approval: Some(approval), ..session_of(lane, fault.family, prompt) }
}

/// Plays one fault, and returns what must not have happened.
async fn play(
    lane: &mut Lane,
    stage: &Stage,
    fault: LoopFault,
    number: usize,
    newer: &Path,
) -> Result<Vec<Violation>, String> {
    if lane.client().await.is_none() {
        lane.start_engine().await?;
    }
    let prompt = format!("loop {} {number}", fault.case.name);
    let effect = lane.work().join(model::effect_file(number));
    std::fs::write(lane.work().join(model::edited_file(number)), "one\n").unwrap();
    let gate = stage.next_gate();
    let mut people = People::new(lane.home().join("run/engine.sock"));
    let mut trap = match fault.moment {
        Moment::Point(point, skip) => Some(lane.points.trap(point, skip)),
        _ => None,
    };
    people.start_new(&prompt, None, session(lane, &fault, &prompt));
    let come = async {
        match (&mut trap, fault.moment) {
            (Some(trap), _) => trap.reached().await.map(Some).ok_or("the trap was cleared".to_owned()),
            (None, Moment::Asked) => {
                gate.reached().await;
                Ok(None)
            }
            (None, Moment::Speaking) => {
                gate.reached().await;
                wait_shown(lane).await;
                Ok(None)
            }
            (None, _) => {
                while !effect.exists() {
                    tokio::time::sleep(LOOK).await;
                }
                Ok(None)
            }
        }
    };
    let held = tokio::select! {
        held = come => held?,
        settled = people.settle() => {
            settled?;
            return Err(format!("{} was not reached", fault.moment));
        }
        () = tokio::time::sleep(PATIENCE) => return Err(format!("{} was not reached", fault.moment)),
    };
    let held = match fault.moment {
        Moment::Settling(point) => {
            lane.kill_engine().await;
            let mut trap = lane.points.trap(point, 0);
            lane.start_engine().await?;
            std::fs::write(lane.work().join(model::go_file(number)), "").unwrap();
            let reached = tokio::time::timeout(PATIENCE, trap.reached()).await;
            reached.map_err(|_| format!("{} was not reached", fault.moment))?
        }
        _ => held,
    };
    let keepers = keepers(lane);
    strike(lane, fault.blow, held, &mut people, &keepers, newer).await?;
    gate.open();
    std::fs::write(lane.work().join(model::go_file(number)), "").unwrap();
    people.settle().await?;
    lane.points.clear();
    Ok(audit::examine(lane, &fault, &prompt, number, &people).await)
}

/// Waits until a piece of the answer is stored.
async fn wait_shown(lane: &Lane) {
    loop {
        if let Some(client) = lane.client().await
            && let Ok(status) = client.status().await
            && let Some(turn) = status.turns.first()
            && let Ok(events) = client.events(turn.session.as_str(), 0, 5000).await
            && events.iter().any(|numbered| matches!(numbered.event, Event::TextDelta { .. }))
        {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// The keepers of commands that this lane started.
fn keepers(lane: &Lane) -> Vec<i32> {
    let all = lane.marker.survivors().into_iter();
    let keepers = all.filter(|process| process.command.contains("keep-command"));
    keepers.map(|process| i32::try_from(process.pid).unwrap()).collect()
}

/// Plays faults one after another on one home.
async fn run_lane(faults: Vec<(usize, LoopFault)>, newer: &Path) -> Tally {
    let (mut lane, stage) = lane().await;
    let mut tally = Tally::default();
    for (number, fault) in faults {
        let began = std::time::Instant::now();
        let violations = play(&mut lane, &stage, fault, number, newer).await;
        let trouble = violations.is_err();
        lane.points.clear();
        tally.faults += 1;
        let violations =
            violations.unwrap_or_else(|what| vec![Violation { wrong: Wrong::Unaccounted, what }]);
        for violation in violations {
            let passed = lane.points.passed().join(" ");
            tally.violations.push((format!("{fault}\n{}\n{passed}", lane.last_words()), violation));
        }
        tally.lines.push(format!("{fault} ({} ms)", began.elapsed().as_millis()));
        lane.points.passed();
        if trouble {
            // Later faults would only repeat the same.
            lane.kill_engine().await;
        }
    }
    let mut leak = |what: String| {
        tally.violations.push(("the end".to_owned(), Violation { wrong: Wrong::Leaked, what }));
    };
    let (is_well, said) = lane.run(program(), &["stop"]).await;
    if !is_well {
        leak(format!("`talaria stop` says: {said}"));
    }
    if let Err(left) = lane.marker.wait_gone(std::time::Duration::from_secs(5)).await {
        left.into_iter().for_each(|process| leak(format!("{process:?}")));
    }
    tally
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_of_the_loop_continues_after_any_kill_and_no_effect_is_doubled() {
    let folder = tempfile::tempdir().unwrap();
    let newer = newer_program(folder.path());
    let chosen = faults::chosen();
    let count = chosen.faults.len();
    let mut parts: Vec<Vec<(usize, LoopFault)>> = vec![Vec::new(); LANES];
    for (number, fault) in chosen.faults.into_iter().enumerate() {
        parts[number % LANES].push((number, fault));
    }
    parts.retain(|part| !part.is_empty());
    let lanes: Vec<BoxFuture<'_, Tally>> =
        parts.into_iter().map(|part| Box::pin(run_lane(part, &newer)) as BoxFuture<'_, Tally>).collect();
    let tally = play_all(lanes).await;
    report(&chosen.title, &tally);
    assert_eq!(tally.faults, count);
}

#[test]
fn an_ordinary_run_plays_more_than_two_hundred_crashes() {
    let count = faults::ordinary().len();
    assert!(count >= 200, "{count}");
}
