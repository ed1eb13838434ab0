//! Forks, undone and repeated turns whose engine is killed before or after their one write: each happened or did not, and the model
//! is asked accordingly.

use std::path::Path;

use futures_util::future::BoxFuture;
use talaria_core::api::{Fork, NewTurn, SessionDetail, SessionQuery, SessionStarted, Undo};
use talaria_core::event::Event;
use talaria_scripted::{Reply, ScriptedModel};
use talaria_testkit::{Codex, CodexHome};

use super::audit::{Tally, Violation, Wrong};
use super::fault::{ON_REAL, Strike};
use super::lane::{LOOK, Lane, PATIENCE};
use super::play::{People, newer_program, strike};
use super::{play_all, report, run_named};

/// A request to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Fork,
    Undo,
    Retry,
}

/// A request, the point at which the engine is held, and whether the change is stored by then.
type RewindPoint = (Wish, &'static str, bool);

/// A strike at a point.
type Fault = (RewindPoint, Strike);

const POINTS: [RewindPoint; 6] = [
    (Wish::Fork, "before:fork", false),
    (Wish::Fork, "after:fork", true),
    (Wish::Undo, "before:undo", false),
    (Wish::Undo, "after:undo", true),
    (Wish::Retry, "before:undo", false),
    (Wish::Retry, "after:undo", true),
];

/// A model that answers each prompt with itself.
async fn model() -> ScriptedModel {
    let model = ScriptedModel::start().await.unwrap();
    model.route(|request| Some(Reply::say(format!("said {}", request.prompt()))));
    model
}

/// Waits until nothing runs in a conversation.
async fn settled(lane: &Lane, id: &str) -> Result<SessionDetail, String> {
    let look = async {
        loop {
            if let Some(client) = lane.client().await
                && let Ok(detail) = client.session(id).await
                && detail.turns.iter().all(|turn| turn.settled_at.is_some())
            {
                return detail;
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.map_err(|_| format!("a turn of {id} never ended"))
}

/// Sends a prompt, and returns what the model was sent of its earlier answers.
async fn knows(lane: &Lane, id: &str, prompt: &str) -> Result<Vec<String>, String> {
    let client = lane.client().await.ok_or("there is no engine")?;
    let turn = lane.turn(prompt);
    client.start_turn(id, &turn).await.map_err(|error| error.to_string())?;
    settled(lane, id).await?;
    let requests = lane.model.requests();
    let asked = requests.iter().rev().find(|request| request.prompt() == prompt);
    let asked = asked.ok_or_else(|| format!("the model was not asked {prompt:?}"))?;
    Ok(asked.assistant_texts().into_iter().map(str::to_owned).collect())
}

/// Plays one fault, and returns what must not have happened.
async fn play(
    lane: &mut Lane,
    (wish, point, happened): RewindPoint,
    blow: Strike,
    number: usize,
    newer: &Path,
) -> Result<Option<Violation>, String> {
    if lane.client().await.is_none() {
        lane.start_engine().await?;
    }
    let client = lane.client().await.ok_or("there is no engine")?;
    let first = format!("one of {number}");
    let started: SessionStarted =
        client.start_session(&lane.session(&first)).await.map_err(|error| error.to_string())?;
    let id = started.id.as_str();
    settled(lane, id).await?;
    let second = format!("two of {number}");
    knows(lane, id, &second).await?;
    let mut trap = lane.points.trap(point, 0);
    let again = NewTurn { input: Vec::new(), ..lane.turn("") };
    let asker = {
        let (id, client) = (id.to_owned(), client.clone());
        tokio::spawn(async move {
            // The connection may break; what happened is looked up.
            match wish {
                Wish::Fork => drop(client.fork(&id, Fork::default()).await),
                Wish::Undo => drop(client.undo(&id, Undo::default()).await),
                Wish::Retry => drop(client.retry(&id, &again).await),
            }
        })
    };
    let held = tokio::select! {
        held = trap.reached() => held.ok_or("the trap was cleared")?,
        () = tokio::time::sleep(PATIENCE) => return Err(format!("{point} was not reached")),
    };
    let codex = lane.codex_pids().await;
    let mut people = People::new(lane.home().join("run/engine.sock"));
    strike(lane, blow, held, &mut people, &codex, newer).await?;
    people.settle().await?;
    lane.points.clear();
    let _ = asker.await;
    if lane.client().await.is_none() {
        lane.start_engine().await?;
    }
    // An engine that lives carries out what it was asked.
    let happened = happened || !blow.ends_engine();
    let detail = settled(lane, id).await?;
    let undone: Vec<i64> =
        detail.turns.iter().filter(|turn| turn.undone_at.is_some()).map(|turn| turn.turn).collect();
    let client = lane.client().await.ok_or("there is no engine")?;
    let events = client.events(id, 0, 5000).await.map_err(|error| error.to_string())?;
    let told = events.iter().filter(|one| matches!(one.event, Event::TurnUndone { .. })).count();
    let listed = client.sessions(&SessionQuery { limit: 1000, ..SessionQuery::default() }).await;
    let listed = listed.map_err(|error| error.to_string())?;
    let mut forks = Vec::new();
    for info in listed {
        let found = client.session(info.id.as_str()).await.map_err(|error| error.to_string())?;
        if found.forked_from.as_ref().is_some_and(|from| from.session.as_str() == id) {
            forks.push(found);
        }
    }
    let is_rewound = wish != Wish::Fork && happened;
    let turns = if wish == Wish::Retry && happened { 3 } else { 2 };
    let is_true = undone == if is_rewound { vec![2] } else { Vec::new() }
        && told == usize::from(is_rewound)
        && detail.turns.len() == turns
        && forks.len() == usize::from(wish == Wish::Fork && happened)
        && forks.iter().all(|fork| fork.turns.len() == 2);
    let (one, two) = (format!("said {first}"), format!("said {second}"));
    let known = knows(lane, id, &format!("three of {number}")).await?;
    let expected =
        if wish == Wish::Undo && happened { vec![one.clone()] } else { vec![one.clone(), two.clone()] };
    let mut fork_knows = Vec::new();
    for fork in &forks {
        fork_knows.push(knows(lane, fork.info.id.as_str(), &format!("fork of {number}")).await?);
    }
    let is_known = known == expected && fork_knows.iter().all(|known| *known == [one.clone(), two.clone()]);
    let what = format!(
        "undone {undone:?}, told {told} times, {} turns, {} forks, knows {known:?} and {fork_knows:?}",
        detail.turns.len(),
        forks.len()
    );
    Ok((!(is_true && is_known)).then_some(Violation { wrong: Wrong::FalseOutcome, what }))
}

/// Plays all faults one after another on one home.
async fn run_lane(lane: Lane, on: String, newer: &Path) -> Tally {
    let faults = POINTS.into_iter().flat_map(|point| ON_REAL.map(|blow| (point, blow)));
    let name = |(point, blow): Fault| {
        (format!("rewinding/{:?} {}/{}", point.0, point.1, blow.word()), (point, blow))
    };
    run_named(lane, on, true, faults.map(name).collect(), |lane, (point, blow), number| {
        let newer = newer.to_owned();
        Box::pin(async move {
            let found = play(lane, point, blow, number, &newer).await?;
            Ok(found.into_iter().collect())
        })
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_and_an_undone_turn_are_whole_or_not_at_all_after_any_kill() {
    let folder = tempfile::tempdir().unwrap();
    let newer = newer_program(folder.path());
    let mut lanes: Vec<BoxFuture<'_, Tally>> = Vec::new();
    for codex in Codex::both() {
        let model = model().await;
        let home = CodexHome::new(&model);
        let lane = Lane::new(model, home, &codex.native);
        lanes.push(Box::pin(run_lane(lane, codex.version.to_owned(), &newer)));
    }
    report("forks and undone turns, and who is killed", &play_all(lanes).await);
}
