//! Fate of a review when the engine, Codex or both are killed at each of its steps: one review, one effect, one report. The same on
//! the built-in loop in each wire family, where each request of a review has steps of its own.
//!
//! A review that lost its Codex may be shown as not done; then nothing was remembered or proposed. Anything else is done once.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use futures_util::future::BoxFuture;
use talaria_core::api::SessionStarted;
use talaria_core::event::Event;
use talaria_core::review::ReviewReport;
use talaria_scripted::{Reply, ScriptedModel};
use talaria_testkit::{Codex, CodexHome};

use super::audit::{Tally, Violation, Wrong};
use super::database;
use super::fault::{ON_REAL, Strike};
use super::lane::{LOOK, Lane, PATIENCE};
use super::play::{People, newer_program, strike};
use super::{PointStrike, deal, part_of, play_all, report, run_named};

/// The steps of a review, each with both sides. Between the first two of `review-applied` and `review-proposed` the memory
/// changes.
const POINTS: [&str; 12] = [
    "before:review-due",
    "after:review-due",
    "before:review-running",
    "after:review-running",
    "before:review-answered",
    "after:review-answered",
    "before:review-applied",
    "before:review-proposed",
    "after:review-proposed",
    "after:review-applied",
    "before:review-done",
    "after:review-done",
];

/// The points around the question, which each version of Codex is asked in another way.
const ASKING: [&str; 4] =
    ["before:review-running", "after:review-running", "before:review-answered", "after:review-answered"];

/// The number of homes for each version.
const LANES: usize = 2;

/// The steps of a request that asks for a review on the built-in loop.
const REQUEST_POINTS: [&str; 4] =
    ["before:review-request", "after:review-request", "before:review-attempt", "after:review-attempt"];

/// What happens on the built-in loop, which has no process of its own.
const ON_LOOP: [Strike; 2] = [Strike::Engine, Strike::EngineTwice];

/// The skill that is proposed about a fact: `fact 7 of …` is about `skill-of-fact-7`.
fn skill_of(fact: &str) -> String {
    format!("skill-of-fact-{}", fact.split(' ').nth(1).unwrap_or_default())
}

/// A model that calls a tool, answers, and proposes to remember what the prompt is about, and a skill.
async fn model() -> ScriptedModel {
    let model = ScriptedModel::start().await.unwrap();
    model.route(|request| {
        let texts = request.user_texts();
        let fact = texts.iter().rev().find(|text| text.starts_with("fact ")).copied().unwrap_or_default();
        let name = skill_of(fact);
        let text = format!("---\nname: {name}\ndescription: About {fact}\n---\nDo it.\n");
        let proposal = serde_json::json!({
            "memory": [{ "op": "add", "scope": "notes", "text": fact }],
            "skills": [{ "op": "create", "name": name, "text": text }],
        });
        Some(match (request.prompt(), request.is_after_tool()) {
            (prompt, false) if prompt.starts_with("fact ") => {
                Reply::new().function("talaria_recall", serde_json::json!({ "query": "cluster" }))
            }
            (prompt, true) if prompt.starts_with("fact ") => Reply::say("done"),
            _ => Reply::say(proposal.to_string()),
        })
    });
    model
}

/// State of a session's review after its end.
struct Seen {
    rows: Vec<(String, i64)>,
    reports: Vec<ReviewReport>,
    saved: usize,
    proposed: usize,
}

async fn ended(lane: &Lane, started: &SessionStarted, fact: &str) -> Result<Seen, String> {
    let look = async {
        loop {
            let rows = database::reviews(&lane.database(), started.id.as_str()).await;
            if rows.iter().any(|(state, _)| state.contains("done")) {
                return rows;
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    let rows = tokio::time::timeout(PATIENCE, look).await;
    let rows = match rows {
        Ok(rows) => rows,
        Err(_) => {
            return Err(format!("{:?}", database::reviews(&lane.database(), started.id.as_str()).await));
        }
    };
    let client = lane.client().await.ok_or("there is no engine")?;
    let events = client.events(started.id.as_str(), 0, 5000).await.map_err(|error| error.to_string())?;
    let report = |event: Event| match event {
        Event::Reviewed(report) => Some(*report),
        _ => None,
    };
    let reports = events.into_iter().filter_map(|numbered| report(numbered.event)).collect();
    let saved = database::memories(&lane.database(), fact).await;
    let proposed = database::skill_proposals(&lane.database(), &skill_of(fact)).await;
    Ok(Seen { rows, reports, saved, proposed })
}

/// Plays one fault, and returns what must not have happened.
async fn play(
    lane: &mut Lane,
    (point, blow): PointStrike,
    number: usize,
    newer: &Path,
    provider: Option<&str>,
) -> Result<Option<Violation>, String> {
    if lane.client().await.is_none() {
        lane.start_engine().await?;
    }
    let client = lane.client().await.ok_or("there is no engine")?;
    let fact = format!("fact {number} of {}", point.replace(':', " "));
    let mut people = People::new(lane.home().join("run/engine.sock"));
    let mut trap = lane.points.trap(point, 0);
    let mut session = lane.session(&fact);
    session.turn.provider = provider.map(str::to_owned);
    session.model = provider.map(|_| "tiny".to_owned());
    let started = client.start_session(&session).await.map_err(|error| error.to_string())?;
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
    let false_review = |what: String| Some(Violation { wrong: Wrong::FalseReview, what });
    // A turn that lost its Codex before its outcome was stored has no answer, and no review.
    let is_lost = point == "before:review-due" && blow.ends_codex();
    let turns = database::turns(&lane.database(), &fact).await;
    if is_lost && turns.iter().any(|turn| turn.outcome.as_deref() == Some("lost")) {
        let rows = database::reviews(&lane.database(), started.id.as_str()).await;
        return Ok((!rows.is_empty()).then(|| false_review(format!("{rows:?}"))).flatten());
    }
    let Seen { rows, reports, saved, proposed } = match ended(lane, &started, &fact).await {
        Ok(seen) => seen,
        Err(what) => return Ok(false_review(format!("it never ended: {what}"))),
    };
    let what = format!("{rows:?}, {reports:?}, saved {saved} times, proposed {proposed} times");
    let is_true = match (&rows[..], &reports[..]) {
        ([(state, _)], [report]) if state == "done" => {
            let revision = report.changes.first().and_then(|change| change.revision);
            let is_proposed = matches!(&report.skills[..], [skill] if skill.name == skill_of(&fact));
            !report.not_done && saved == 1 && revision.is_some() && proposed == 1 && is_proposed
        }
        ([(state, _)], [report]) => {
            let is_nothing = report.not_done && saved == 0 && proposed == 0;
            state == "not_done" && is_nothing && blow.ends_codex()
        }
        _ => false,
    };
    let open = database::open_attempts(&lane.database(), started.id.as_str()).await;
    let is_true = is_true && open == 0;
    Ok((!is_true).then(|| false_review(format!("{what}, {open} requests without an end"))).flatten())
}

/// Plays faults one after another on one home.
async fn run_lane(
    lane: Lane,
    on: String,
    newer: &Path,
    provider: Option<&str>,
    faults: Vec<PointStrike>,
) -> Tally {
    let config = lane.home().join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}[learning]\ncalls = 1\n")).unwrap();
    let name = |(point, blow): PointStrike| (format!("review/{point}/{}", blow.word()), (point, blow));
    let faults = faults.into_iter().map(name).collect();
    run_named(lane, on, provider.is_none(), faults, |lane, fault, number| {
        let (newer, provider) = (newer.to_owned(), provider.map(str::to_owned));
        Box::pin(async move {
            let found = play(lane, fault, number, &newer, provider.as_deref()).await?;
            Ok(found.into_iter().collect())
        })
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_happens_once_whatever_is_killed_at_each_of_its_steps() {
    let folder = tempfile::tempdir().unwrap();
    let newer = newer_program(folder.path());
    let mut lanes: Vec<BoxFuture<'_, Tally>> = Vec::new();
    for (turn, codex) in Codex::both().into_iter().enumerate() {
        for faults in deal(part_of(&POINTS, &ON_REAL, &ASKING, (turn, 2)), LANES) {
            let model = model().await;
            let home = CodexHome::new(&model);
            let lane = Lane::new(model, home, &codex.native);
            lanes.push(Box::pin(run_lane(lane, codex.version.to_owned(), &newer, None, faults)));
        }
    }
    report("reviews, and who is killed", &play_all(lanes).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_on_the_loop_happens_once_whatever_is_killed_at_each_of_its_steps() {
    let folder = tempfile::tempdir().unwrap();
    let newer = newer_program(folder.path());
    let codex = Codex::v0_166();
    let mut lanes: Vec<BoxFuture<'_, Tally>> = Vec::new();
    let families = [("own-responses", "responses"), ("own-chat", "chat"), ("own-messages", "messages")];
    for (turn, (provider, family)) in families.into_iter().enumerate() {
        let model = model().await;
        let base = model.base_url();
        let home = CodexHome::new(&model);
        let lane = Lane::new(model, home, &codex.native);
        // Every engine finds the key, whichever command starts it.
        let key = lane.codex_home.root().join("key");
        fs::write(&key, "sk-test-0123456789abcdefghij\n").unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        let config = lane.home().join("config.toml");
        let text = fs::read_to_string(&config).unwrap();
        let table = format!(
            "{text}[providers.{provider}]\nbase_url = \"{base}\"\napi = \"{family}\"\nkey_file = {key:?}\n\
             [providers.{provider}.models.tiny]\ncontext = 200000\n"
        );
        fs::write(&config, table).unwrap();
        let mut faults = part_of(&POINTS, &ON_LOOP, &[], (turn, 3));
        faults.extend(part_of(&REQUEST_POINTS, &ON_LOOP, &REQUEST_POINTS, (turn, 3)));
        lanes.push(Box::pin(run_lane(lane, family.to_owned(), &newer, Some(provider), faults)));
    }
    report("reviews on the built-in loop, and who is killed", &play_all(lanes).await);
}
