//! The first start of a home, killed: at each of its points, and at any moment of it. The next start repairs what is left
//! by itself, and `talaria doctor` finds nothing wrong after it.

use std::time::Duration;

use futures_util::StreamExt as _;
use rustix::process::Signal;

use super::lane::{Lane, program};
use super::{AT_ONCE, stand_in};

/// Points of an engine before it answers, in order.
const POINTS: [&str; 5] = ["open:lock", "open:store", "open:key", "open:identity", "open:hosts"];
/// How many first starts are killed at some moment, and within which time.
const MOMENTS: u32 = 30;
const WITHIN: Duration = Duration::from_millis(45);

/// Starts the home that was left, and looks at it; says what is wrong.
async fn examine(lane: &mut Lane) -> Result<(), String> {
    lane.start_engine().await?;
    let (is_well, said) = lane.run(program(), &["sessions", "list"]).await;
    if !is_well {
        return Err(said);
    }
    let (is_well, said) = lane.run(program(), &["stop"]).await;
    if !is_well {
        return Err(said);
    }
    // There is no Codex to be looked at; the rows that matter come before.
    let (_, said) = lane.run(program(), &["doctor", "--json"]).await;
    let row = said.lines().find(|line| line.contains("\"check\":\"store\"")).unwrap_or_default();
    if row.contains("\"status\":\"ok\"") { Ok(()) } else { Err(format!("the store is not sound: {said}")) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_start_that_is_killed_at_a_point_is_repaired_by_the_next() {
    let mut wrong = Vec::new();
    for (number, point) in POINTS.into_iter().enumerate() {
        let mut lane = stand_in().await;
        let mut trap = lane.points.trap(point, 0);
        lane.spawn_engine();
        let held = trap.reached().await.unwrap();
        // A signal handler is not installed yet, so SIGTERM kills it, too.
        let signal = if number % 2 == 0 { Signal::KILL } else { Signal::TERM };
        lane.end_engine_with(signal).await;
        drop(held);
        if let Err(what) = examine(&mut lane).await {
            wrong.push(format!("{point}: {what}\n{}", lane.last_words()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Kills a first start at some moment; returns what is wrong after the next one.
async fn kill_at(moment: Duration) -> Option<String> {
    let mut lane = stand_in().await;
    lane.spawn_engine();
    tokio::time::sleep(moment).await;
    lane.end_engine_with(Signal::KILL).await;
    let what = examine(&mut lane).await.err()?;
    Some(format!("after {moment:?}: {what}\n{}", lane.last_words()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_start_that_is_killed_at_any_moment_is_repaired_by_the_next() {
    // Spread evenly over the start; when it does what differs from machine to machine and from run to run.
    let moments = (0..MOMENTS).map(|number| kill_at(WITHIN * number / MOMENTS));
    let killed = futures_util::stream::iter(moments).buffer_unordered(AT_ONCE);
    let wrong: Vec<String> = killed.filter_map(async |wrong| wrong).collect().await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
