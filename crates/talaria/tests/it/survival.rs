//! Turns, questions and answers survive the kill of any process at any time. Faults are injected at every durable
//! write of a turn, and the result is audited against the records of Codex and its model.
//!
//! `fault` names what is done and when, `lane` is a home on which it is done, `play` does it, `audit` counts what must not
//! happen; `words` does the same to what is said to a turn that runs, or waits for it, `calls` to calls of
//! Talaria's own tools, `delegation` to results of delegated tasks, `review` to reviews of finished turns, `rewinding` to forks and undone turns, `own_loop` to turns of the
//! built-in loop. `TALARIA_FAULT=<text>` plays only the faults whose name contains the
//! text, and reports each.

mod audit;
mod calls;
pub(crate) mod database;
mod delegation;
mod escrow;
mod fault;
mod first_start;
pub(crate) mod lane;
mod own_loop;
mod play;
mod review;
mod rewinding;
mod words;

use std::collections::HashSet;
use std::io::Write as _;
use std::path::Path;

use talaria_scripted::{Reply, ScriptedModel};
use talaria_testkit::{Codex, CodexHome};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;

use audit::{Tally, Violation, Wrong, examine};
use fault::{Fault, Nth, ON_REAL, ON_STAND_IN, Side, Strike, at_every_point, at_every_write, by_chance};
use lane::{Lane, program};
use play::{Played, newer_program, play};

/// Number of homes over which the faults on the stand-in are distributed.
const STAND_INS: usize = 6;
/// Default number of random faults.
const ROUNDS: u64 = 40;
/// How many of them are played on one home.
const PER_LANE: usize = 40;
/// How often a fault is played at most, if its turn does not come to the point.
const ATTEMPTS: usize = 3;
/// How many homes are played on at once.
const AT_ONCE: usize = 5;

/// A model that asks for a command where the prompt says so, and answers.
async fn model() -> ScriptedModel {
    let model = ScriptedModel::start().await.unwrap();
    model.route(|request| {
        let prompt = request.prompt();
        Some(if prompt.starts_with("ask-") && !request.is_after_tool() {
            Reply::new().command(format!("echo ran >> {prompt}"))
        } else {
            Reply::say(format!("done: {prompt}"))
        })
    });
    model
}

/// The faults that were asked for.
fn chosen(faults: Vec<Fault>) -> Vec<Fault> {
    let wanted = std::env::var("TALARIA_FAULT").unwrap_or_default();
    faults.into_iter().filter(|fault| fault.to_string().contains(&wanted)).collect()
}

/// Looks at what a fault has left, and counts it.
async fn audit(tally: &mut Tally, lane: &mut Lane, played: &Played, is_real: bool) {
    let fault = played.fault;
    let violations = examine(lane, played).await;
    tally.faults += usize::from(played.is_struck);
    tally.on_real += usize::from(played.is_struck && is_real);
    let turns = database::turns(&lane.database(), &played.prompts[0]).await;
    let outcome = match turns.first() {
        Some(turn) => {
            let words = [turn.outcome.as_deref(), turn.code.as_deref()];
            words.iter().flatten().copied().collect::<Vec<_>>().join(" ")
        }
        None => "not promised".to_owned(),
    };
    tally.lines.push(format!("{fault}: {outcome} ({} ms) {:?}", played.took.as_millis(), played.passed));
    *tally.outcomes.entry(outcome).or_default() += 1;
    for violation in violations {
        let place = format!("{fault}\n{}", lane.last_words());
        tally.violations.push((place, violation));
    }
    if played.trouble.is_some() {
        // Later failures would only repeat the same.
        lane.kill_engine().await;
    }
}

/// Plays faults one after another on one home.
async fn run_lane(mut lane: Lane, faults: Vec<Fault>, newer: &Path, is_real: bool) -> Tally {
    let mut tally = Tally::default();
    for (number, fault) in faults.into_iter().enumerate() {
        // A turn may end before it reaches the point, because of the previous fault: then it is repeated.
        for attempt in 0..ATTEMPTS {
            let played = play(&mut lane, fault, number + attempt * 1000, newer).await;
            audit(&mut tally, &mut lane, &played, is_real).await;
            if played.is_struck {
                break;
            }
        }
    }
    let (is_well, said) = lane.run(program(), &["stop"]).await;
    if !is_well {
        let what = format!("`talaria stop` says: {said}");
        tally.violations.push(("the end".to_owned(), Violation { wrong: Wrong::Leaked, what }));
    }
    if let Err(left) = lane.marker.wait_gone(std::time::Duration::from_secs(5)).await {
        for process in left {
            lane::signal(i32::try_from(process.pid).unwrap(), rustix::process::Signal::KILL);
            let what = format!("{process:?}");
            tally.violations.push(("the end".to_owned(), Violation { wrong: Wrong::Leaked, what }));
        }
    }
    tally
}

/// Plays faults with names one after another on one home; `play` returns what must not have happened.
async fn run_named<F>(
    mut lane: Lane,
    on: String,
    is_real: bool,
    faults: Vec<(String, F)>,
    mut play: impl for<'a> FnMut(&'a mut Lane, F, usize) -> BoxFuture<'a, Result<Vec<Violation>, String>>,
) -> Tally {
    let wanted = std::env::var("TALARIA_FAULT").unwrap_or_default();
    let mut tally = Tally::default();
    for (number, (name, fault)) in faults.into_iter().enumerate() {
        let name = format!("{name} on {on}");
        if !name.contains(&wanted) {
            continue;
        }
        let began = std::time::Instant::now();
        let violations = play(&mut lane, fault, number).await;
        lane.points.clear();
        tally.faults += 1;
        tally.on_real += usize::from(is_real);
        let violations =
            violations.unwrap_or_else(|what| vec![Violation { wrong: Wrong::Unaccounted, what }]);
        for violation in violations {
            tally.violations.push((format!("{name}\n{}", lane.last_words()), violation));
        }
        tally.lines.push(format!("{name} ({} ms)", began.elapsed().as_millis()));
    }
    let (is_well, said) = lane.run(program(), &["stop"]).await;
    assert!(is_well, "{said}");
    tally
}

/// A lane on a real Codex.
async fn real(codex: &Codex) -> Lane {
    let model = model().await;
    let home = CodexHome::new(&model);
    Lane::new(model, home, &codex.native)
}

/// A lane on the stand-in.
async fn stand_in() -> Lane {
    let model = model().await;
    let home = CodexHome::new(&model);
    let codex = talaria_testkit::stand_in::install(&home.root().join("stand-in"));
    Lane::new(model, home, &codex)
}

/// Deals faults out to lanes, so that each has about as much to do.
fn deal<T>(faults: Vec<T>, lanes: usize) -> Vec<Vec<T>> {
    let mut dealt: Vec<Vec<T>> = (0..lanes).map(|_| Vec::new()).collect();
    for (index, fault) in faults.into_iter().enumerate() {
        dealt[index % lanes].push(fault);
    }
    dealt.retain(|faults| !faults.is_empty());
    dealt
}

/// A strike at a point.
type PointStrike = (&'static str, Strike);

/// Each strike at each point, dealt out along diagonals, so that every part has every point and every strike; `everywhere` are the
/// points that each part plays with all strikes.
fn part_of(
    points: &[&'static str],
    strikes: &[Strike],
    everywhere: &[&str],
    (part, parts): (usize, usize),
) -> Vec<PointStrike> {
    let mut faults = Vec::new();
    for (row, &point) in points.iter().enumerate() {
        for (column, &blow) in strikes.iter().enumerate() {
            if everywhere.contains(&point) || (row + column) % parts == part {
                faults.push((point, blow));
            }
        }
    }
    faults
}

#[test]
fn the_parts_have_every_strike_at_every_point_once() {
    let points = ["a", "b", "c", "d"];
    let parts = |everywhere: &[&str]| {
        let dealt = (0..3).flat_map(|part| part_of(&points, &ON_REAL, everywhere, (part, 3)));
        dealt.map(|(point, strike)| format!("{point} {}", strike.word())).collect::<Vec<_>>()
    };
    let all: HashSet<String> = parts(&[]).into_iter().collect();
    assert_eq!((parts(&[]).len(), all.len()), (12, 12));
    assert_eq!(parts(&["b"]).len(), 12 + 6, "each of three parts has the three of this point");
}

type Playing<'a> = Vec<BoxFuture<'a, Tally>>;

/// Plays lanes, some at once, and adds up.
async fn play_all(lanes: Playing<'_>) -> Tally {
    let mut tally = Tally::default();
    let mut running = futures_util::stream::iter(lanes).buffer_unordered(AT_ONCE);
    while let Some(part) = running.next().await {
        tally.add(part);
    }
    tally
}

#[tokio::test(flavor = "multi_thread")]
async fn every_turn_has_a_true_end_after_any_kill_at_any_point() {
    let folder = tempfile::tempdir().unwrap();
    let newer = newer_program(folder.path());
    let (mut lanes, mut count): (Playing<'_>, usize) = (Vec::new(), 0);
    for (shift, codex) in Codex::both().into_iter().enumerate() {
        for faults in deal(chosen(at_every_write(&ON_REAL, shift)), 2) {
            count += faults.len();
            lanes.push(Box::pin(run_lane(real(&codex).await, faults, &newer, true)));
        }
    }
    // The real Codex plays the others, with the same sides and turns.
    let strikes: Vec<_> = ON_STAND_IN.into_iter().filter(|strike| !ON_REAL.contains(strike)).collect();
    for faults in deal(chosen(at_every_point(&strikes)), STAND_INS) {
        count += faults.len();
        lanes.push(Box::pin(run_lane(stand_in().await, faults, &newer, false)));
    }
    let tally = play_all(lanes).await;
    report("faults at every write", &tally);
    assert_eq!(tally.faults, count, "every fault was injected");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_a_hook_decides_has_one_answer_after_any_kill() {
    let folder = tempfile::tempdir().unwrap();
    let newer = newer_program(folder.path());
    let mut lanes: Playing<'_> = Vec::new();
    for codex in Codex::both() {
        let fault = |side, strike| {
            let (write, nth, beside, skip) = ("hook-decided", Nth::First, 0, 0);
            Fault { write, side, strike, nth, beside, skip }
        };
        let sides = [Side::Before, Side::After];
        let faults = sides.into_iter().flat_map(|side| ON_REAL.map(|strike| fault(side, strike)));
        let lane = real(&codex).await;
        lane.allow_by_hook();
        lanes.push(Box::pin(run_lane(lane, chosen(faults.collect()), &newer, true)));
    }
    report("requests that a hook decides, and who is killed", &play_all(lanes).await);
}

/// `TALARIA_FAULT_ROUNDS` says how many, `TALARIA_FAULT_SEED` repeats them.
#[tokio::test(flavor = "multi_thread")]
async fn faults_by_chance_with_turns_beside_leave_every_turn_a_true_end() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let rounds = number("TALARIA_FAULT_ROUNDS");
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let seed = number("TALARIA_FAULT_SEED").unwrap_or(if rounds.is_some() { now } else { 1 });
    let rounds = usize::try_from(rounds.unwrap_or(ROUNDS)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let newer = newer_program(folder.path());
    let mut lanes: Playing<'_> = Vec::new();
    // The last one needs a Codex that can be made to close its connections.
    let strikes: Vec<_> = ON_STAND_IN.into_iter().filter(|strike| *strike != Strike::Cut).collect();
    for (shift, codex) in (1..).zip(Codex::both()) {
        let faults = chosen(by_chance(seed.wrapping_add(shift), rounds / 8, &strikes));
        for faults in deal(faults, rounds.div_ceil(PER_LANE * 8)) {
            lanes.push(Box::pin(run_lane(real(&codex).await, faults, &newer, true)));
        }
    }
    let faults = chosen(by_chance(seed, rounds - rounds / 4, &ON_STAND_IN));
    for faults in deal(faults, rounds.div_ceil(PER_LANE).max(2)) {
        lanes.push(Box::pin(run_lane(stand_in().await, faults, &newer, false)));
    }
    report(&format!("faults by chance, TALARIA_FAULT_SEED={seed}"), &play_all(lanes).await);
}

/// Prints the table, and fails if something happened that must not.
fn report(title: &str, tally: &Tally) {
    let mut text = format!("\n{title}\n{tally}");
    if std::env::var_os("TALARIA_FAULT").is_some() {
        text = format!("\n{}{text}", tally.lines.join("\n"));
    }
    // Past the harness, which shows what a test prints only when it fails.
    std::io::stderr().write_all(text.as_bytes()).unwrap();
    let told = tally
        .violations
        .iter()
        .map(|(place, Violation { wrong, what })| format!("{wrong:?} at {place}\n{what}"))
        .collect::<Vec<_>>();
    assert!(told.is_empty(), "{}", told.join("\n\n"));
}
