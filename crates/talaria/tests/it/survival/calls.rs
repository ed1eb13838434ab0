//! Fate of a call of a tool when a process is killed before, during and after it: one row, one result, and nothing
//! is reported of it that did not happen.
//!
//! Each line of `CALLS` is played at every point of the call ledger. A call that changes something has a stricter rule than
//! one that reads: it may not begin twice.

use std::collections::HashSet;
use std::path::Path;

use futures_util::future::BoxFuture;
use talaria_core::api::SessionStarted;
use talaria_core::event::Event;
use talaria_core::item::{ItemBody, Status};
use talaria_scripted::{Reply, ScriptedModel};
use talaria_testkit::{Codex, CodexHome};

use super::audit::{Tally, Violation, Wrong, evidence, results_in_files};
use super::database::{self, CallRow};
use super::fault::{ON_REAL, Strike};
use super::lane::{LOOK, Lane, PATIENCE};
use super::play::{People, newer_program, strike, wait_noticed};
use super::{deal, play_all, report, run_named};
use crate::own_loop::reading_web::{Page, PageServer, says};

/// The steps of the ledger, each with both sides. Between `after:tool-running` and `before:tool-done` is the effect.
const POINTS: [&str; 8] = [
    "before:tool-offered",
    "after:tool-offered",
    "before:tool-running",
    "after:tool-running",
    "before:tool-done",
    "after:tool-done",
    "before:tool-sent",
    "after:tool-sent",
];
/// The step at which the decision of `hooks.tool_call` is recorded.
const HOOK_POINTS: [&str; 2] = ["before:hook-decided", "after:hook-decided"];
/// Further strikes for an engine that uses the stand-in. Clocks and versions do not matter to the ledger.
const ON_STAND_IN: [Strike; 10] = [
    Strike::EngineTwice,
    Strike::EngineThenCodex,
    Strike::Cut,
    Strike::Restart,
    Strike::DiskFull,
    Strike::DiskFullEngine,
    Strike::Busy,
    Strike::Reader,
    Strike::Copy,
    Strike::StopAfter,
];
/// Numbers of homes over which the faults are distributed: on each version of Codex, and on the stand-in.
const REAL: usize = 2;
const STAND_INS: usize = 4;

/// A call under a name of its own: the tool, its arguments, the beginning of its result, and whether it only reads.
#[derive(Clone, Copy)]
struct Called {
    name: &'static str,
    tool: &'static str,
    arguments: &'static str,
    result: &'static str,
    only_reads: bool,
    /// How often it took effect, for a call that does more than read.
    effects: Option<CountEffects>,
}

/// Counts in the database what the call with a number changed.
type CountEffects = for<'a> fn(&'a Path, &'a str, usize) -> BoxFuture<'a, usize>;

/// `NUMBER` in the arguments is another one for each fault, `PAGE` the address of a page that may be read.
const CALLS: [Called; 7] = [
    Called {
        name: "talaria_recall",
        tool: "talaria_recall",
        arguments: r#"{"query":"cluster"}"#,
        result: "Passages with \"cluster\"",
        only_reads: true,
        effects: None,
    },
    Called {
        name: "talaria_memory",
        tool: "talaria_memory",
        arguments: r#"{"operations":[{"op":"add","scope":"notes","text":"fact NUMBER"}]}"#,
        result: "Memory (complete): 1 change, done.",
        only_reads: false,
        effects: Some(|path, _, number| {
            Box::pin(async move { database::memories(path, &format!("fact {number}")).await })
        }),
    },
    Called {
        name: "talaria_skill",
        tool: "talaria_skill",
        arguments: r#"{"op":"propose","name":"skill-NUMBER","text":"---\nname: skill-NUMBER\ndescription: d\n---\n"}"#,
        result: "Proposal skp-",
        only_reads: false,
        effects: Some(|path, _, number| {
            Box::pin(async move { database::skill_proposals(path, &format!("skill-{number}")).await })
        }),
    },
    Called {
        name: "talaria_delegate",
        tool: "talaria_delegate",
        arguments: r#"{"op":"start","goals":[{"goal":"fact NUMBER"}]}"#,
        result: "Delegated tasks (complete): 1 of 1 started.",
        only_reads: false,
        effects: Some(|path, session, _| Box::pin(database::delegated(path, session))),
    },
    Called {
        name: "talaria_web",
        tool: "talaria_web",
        arguments: r#"{"url":"PAGE"}"#,
        result: "Web page http://127.0.0.1:",
        only_reads: true,
        effects: None,
    },
    Called {
        name: "talaria_memory-read",
        tool: "talaria_memory",
        arguments: r#"{"operations":[{"op":"read","find":"NUMBER"}]}"#,
        result: "Entries: ",
        only_reads: true,
        effects: None,
    },
    Called {
        name: "talaria_delegate-wait",
        tool: "talaria_delegate",
        arguments: r#"{"op":"wait","seconds":60}"#,
        result: "Delegated tasks (complete): nothing is owed",
        only_reads: true,
        effects: None,
    },
];
/// The call that is played with every fault.
const WHOLE: &str = "talaria_memory";
/// The page that `talaria_web` reads.
const PATH: &str = "/plan";

/// One fault.
#[derive(Clone, Copy)]
struct CallFault {
    called: Called,
    point: &'static str,
    blow: Strike,
    /// The sum of the numbers of call, point and strike.
    diagonal: usize,
}

impl CallFault {
    fn name(&self) -> String {
        format!("calls/{}/{}/{}", self.called.name, self.point, self.blow.word())
    }
}

/// These calls at these points with each of these strikes.
fn faults(calls: &[Called], points: &[&'static str], strikes: &[Strike]) -> Vec<CallFault> {
    let mut faults = Vec::new();
    for (row, &called) in calls.iter().enumerate() {
        for (column, &point) in points.iter().enumerate() {
            let fault = |(number, &blow)| CallFault { called, point, blow, diagonal: row + column + number };
            faults.extend(strikes.iter().enumerate().map(fault));
        }
    }
    faults
}

/// Of how many faults of a call one is played on a home; the ledger does the same for every tool. The call of `WHOLE` is played
/// with every fault.
#[derive(Clone, Copy)]
struct Share {
    of_changes: usize,
    of_reads: usize,
    /// Which one: no other home plays the same faults.
    turn: usize,
}

/// Leaves out what is not in the share, along diagonals, so that every call meets every point and every strike, and every point
/// every strike. `TALARIA_FAULT` and `TALARIA_FAULT_ROUNDS` leave out none.
fn thin_out(mut faults: Vec<CallFault>, share: Share) -> Vec<CallFault> {
    if ["TALARIA_FAULT", "TALARIA_FAULT_ROUNDS"].iter().all(|name| std::env::var_os(name).is_none()) {
        faults.retain(|fault| {
            let of = if fault.called.only_reads { share.of_reads } else { share.of_changes };
            fault.called.name == WHOLE || fault.diagonal % of == share.turn
        });
    }
    faults
}

/// What one of the two versions of Codex is played with.
fn on_version(turn: usize) -> Vec<CallFault> {
    thin_out(faults(&CALLS, &POINTS, &ON_REAL), Share { of_changes: 2, of_reads: 3, turn })
}

fn on_stand_in() -> Vec<CallFault> {
    let share = Share { of_changes: 5, of_reads: ON_STAND_IN.len(), turn: 0 };
    thin_out(faults(&CALLS, &POINTS, &ON_STAND_IN), share)
}

#[test]
fn an_ordinary_run_plays_every_call_at_every_point_and_with_every_strike() {
    let on_real: Vec<CallFault> = [0, 1].into_iter().flat_map(on_version).collect();
    for called in CALLS {
        for (faults, strikes) in [(&on_real, ON_REAL.len()), (&on_stand_in(), ON_STAND_IN.len())] {
            let played = || faults.iter().filter(|fault| fault.called.name == called.name);
            let points: HashSet<_> = played().map(|fault| fault.point).collect();
            assert_eq!(points.len(), POINTS.len(), "{}", called.name);
            let met: HashSet<_> = played().map(|fault| fault.blow.word()).collect();
            // A call that only reads meets one strike at a point of the stand-in, so at most as many as it has points.
            let least = if called.only_reads { strikes.min(POINTS.len()) } else { strikes };
            assert!(met.len() >= least, "{}: {met:?}", called.name);
        }
    }
}

/// A model that calls the tool that the prompt names, and answers.
async fn model() -> ScriptedModel {
    let model = ScriptedModel::start().await.unwrap();
    model.route(|request| {
        let words: Vec<&str> = request.prompt().splitn(3, ' ').collect();
        Some(match (&words[..], request.is_after_tool()) {
            ([tool, _, arguments], false) if let Some(tool) = tool.strip_prefix("call-") => {
                Reply::new().function(tool, serde_json::from_str(arguments).unwrap())
            }
            _ => Reply::say("done"),
        })
    });
    model
}

/// Plays one fault, and returns what must not have happened.
async fn play(
    lane: &mut Lane,
    fault: CallFault,
    number: usize,
    page: &str,
    newer: &Path,
) -> Result<Vec<Violation>, String> {
    let CallFault { called, point, blow, .. } = fault;
    if lane.client().await.is_none() {
        lane.start_engine().await?;
    }
    let client = lane.client().await.ok_or("there is no engine")?;
    let arguments = called.arguments.replace("NUMBER", &number.to_string()).replace("PAGE", page);
    let prompt = format!("call-{} {number} {arguments}", called.tool);
    let mut people = People::new(lane.home().join("run/engine.sock"));
    let mut trap = lane.points.trap(point, 0);
    let started = client.start_session(&lane.session(&prompt)).await.map_err(|error| error.to_string())?;
    let held = tokio::select! {
        held = trap.reached() => held.ok_or("the trap was cleared")?,
        () = tokio::time::sleep(PATIENCE) => return Err(format!("{point} was not reached")),
    };
    let codex = lane.codex_pids().await;
    strike(lane, blow, held, &mut people, &codex, newer).await?;
    people.settle().await?;
    if blow == Strike::Cut {
        wait_noticed(lane, &codex).await?;
    }
    lane.points.clear();
    Ok(match settled_rows(lane, &started).await {
        Ok(rows) => {
            let mut found = examine(lane, &started, &prompt, fault, &rows).await;
            if let Some(effects) = called.effects {
                let saved = effects(&lane.database(), started.id.as_str(), number).await;
                found.extend(examine_effect(&started, saved, &rows));
            }
            found
        }
        Err(what) => vec![Violation { wrong: Wrong::FalseCall, what }],
    })
}

/// Compares the ledger with the effects of the call.
fn examine_effect(started: &SessionStarted, saved: usize, rows: &[CallRow]) -> Option<Violation> {
    let state = rows.first().map_or("not there", |row| row.state.as_str());
    let is_true = match (state, saved) {
        ("done", 1) | ("unknown", 0 | 1) => true,
        // It never began.
        ("offered" | "not there", 0) => true,
        _ => false,
    };
    let what = format!("{}: the ledger says {state}, and it took effect {saved} times", started.id);
    (!is_true).then_some(Violation { wrong: Wrong::FalseCall, what })
}

/// The calls of a session, once none of them runs: a call may outlive its turn.
async fn settled_rows(lane: &Lane, started: &SessionStarted) -> Result<Vec<CallRow>, String> {
    let look = async {
        loop {
            let rows = database::calls(&lane.database(), started.id.as_str()).await;
            if rows.iter().all(|row| row.state != "running") {
                return rows;
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.map_err(|_| "a call runs for ever".to_owned())
}

/// Compares the ledger with what the model was sent, and against what people see.
async fn examine(
    lane: &Lane,
    started: &SessionStarted,
    prompt: &str,
    CallFault { called: Called { tool, result, only_reads, .. }, point, blow, .. }: CallFault,
    rows: &[CallRow],
) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut add = |wrong, what: String| found.push(Violation { wrong, what });
    let turns = database::turns(&lane.database(), prompt).await;
    let outcome = turns.first().and_then(|turn| turn.outcome.clone()).unwrap_or_default();
    let known = evidence(lane, prompt);
    // With the result sent, Codex finishes the turn while the engine is held, and 0.130 reports that before it writes its file.
    let may_be_unwritten = point == "after:tool-sent" && blow.ends_codex();
    match outcome.as_str() {
        "completed" if known.completed || may_be_unwritten => {}
        "lost" if (blow.ends_codex() || blow == Strike::Cut) && !known.completed => {}
        _ => add(Wrong::FalseOutcome, format!("{turns:?}; {known:?}")),
    }
    if known.recorded > 1 || known.reached_model > 1 {
        add(Wrong::Duplicated, format!("the prompt was sent twice: {known:?}"));
    }
    let requests = lane.model.requests();
    let told: Vec<String> = requests
        .iter()
        .filter(|request| request.prompt() == prompt)
        .flat_map(talaria_scripted::ModelRequest::tool_outputs)
        .chain(results_in_files(lane, prompt))
        .collect();
    let Some(client) = lane.client().await else {
        add(Wrong::Unaccounted, "there is no engine".to_owned());
        return found;
    };
    let events = client.events(started.id.as_str(), 0, 5000).await.unwrap_or_default();
    let steps: Vec<Status> = events
        .iter()
        .filter_map(|numbered| match &numbered.event {
            Event::ItemCompleted { item } => match &item.body {
                ItemBody::ClientTool { tool: called, status, .. } if called == tool => Some(*status),
                _ => None,
            },
            _ => None,
        })
        .collect();
    let state = format!("turn {outcome}, ledger {rows:?}, model told {told:?}, people see {steps:?}");
    let mut wrong = |what: &str| add(Wrong::FalseCall, format!("{what}: {state}"));
    match rows {
        [row] => {
            if row.runs > 1 && !(only_reads && blow.ends_engine()) {
                wrong("it began twice");
            }
            if row.is_result_kept {
                wrong("its result is kept though the turn is over");
            }
            let is_told = told.iter().any(|text| text.starts_with(result));
            let is_told_unknown = told.iter().any(|text| text.starts_with("Outcome unknown"));
            if is_told && row.state != "done" {
                wrong("the model has a result of a call that is not done");
            }
            if steps.contains(&Status::Completed) && row.state != "done" {
                wrong("people see as done what is not");
            }
            if steps.contains(&Status::Failed) {
                wrong("people see a failure, and nothing failed");
            }
            // A step that ended while no engine listened may be missing.
            let may_be_missing = blow.cuts_codex_off();
            let is_answered = is_told || is_told_unknown && !only_reads;
            if outcome == "completed" && (!is_answered || steps.is_empty() && !may_be_missing) {
                wrong("the call of a completed turn has no result");
            }
            if steps.len() > 1 {
                wrong("people see the call twice");
            }
            let is_unknown = row.state == "unknown" || is_told_unknown;
            if is_unknown && !blow.ends_engine() {
                wrong("unknown, though its engine lived");
            }
        }
        // Nothing was recorded and nothing ran: the engine never received the call.
        [] if told.is_empty() && steps.is_empty() && outcome != "completed" => {}
        [] => wrong("a call that is not in the ledger"),
        _ => wrong("one call has several rows"),
    }
    found
}

/// Plays faults one after another on one home, which may read a page of its own.
async fn run_lane(lane: Lane, faults: Vec<CallFault>, on: String, newer: &Path) -> Tally {
    let says_plan = says("200 OK\r\ncontent-type: text/html", b"<title>Plan</title><p>The pelican plan.</p>");
    let pages = PageServer::start(vec![(PATH, Page::Bytes(says_plan))]).await;
    lane.allow_pages(pages.port());
    let (page, is_real) = (pages.at(PATH), on != STAND_IN);
    let faults = faults.into_iter().map(|fault| (fault.name(), fault)).collect();
    run_named(lane, on, is_real, faults, |lane, fault, number| {
        let (page, newer) = (page.clone(), newer.to_owned());
        Box::pin(async move { play(lane, fault, number, &page, &newer).await })
    })
    .await
}

const STAND_IN: &str = "the stand-in";

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_a_tool_takes_effect_once_and_is_reported_truly_after_any_kill() {
    let folder = tempfile::tempdir().unwrap();
    let newer = newer_program(folder.path());
    let mut lanes: Vec<BoxFuture<'_, Tally>> = Vec::new();
    for (turn, codex) in Codex::both().into_iter().enumerate() {
        for faults in deal(on_version(turn), REAL) {
            let model = model().await;
            let home = CodexHome::new(&model);
            let lane = Lane::new(model, home, &codex.native);
            lanes.push(Box::pin(run_lane(lane, faults, codex.version.to_owned(), &newer)));
        }
    }
    for faults in deal(on_stand_in(), STAND_INS) {
        let model = model().await;
        let home = CodexHome::new(&model);
        let codex = talaria_testkit::stand_in::install(&home.root().join("stand-in"));
        let lane = Lane::new(model, home, &codex);
        lanes.push(Box::pin(run_lane(lane, faults, STAND_IN.to_owned(), &newer)));
    }
    report("calls of tools, and who is killed", &play_all(lanes).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_a_hook_allowed_takes_effect_once_after_any_kill() {
    let folder = tempfile::tempdir().unwrap();
    let newer = newer_program(folder.path());
    let mut lanes: Vec<BoxFuture<'_, Tally>> = Vec::new();
    for codex in Codex::both() {
        let model = model().await;
        let home = CodexHome::new(&model);
        let lane = Lane::new(model, home, &codex.native);
        lane.allow_by_hook();
        let faults = faults(&CALLS[1..2], &HOOK_POINTS, &ON_REAL);
        lanes.push(Box::pin(run_lane(lane, faults, codex.version.to_owned(), &newer)));
    }
    report("calls that a hook decides, and who is killed", &play_all(lanes).await);
}
