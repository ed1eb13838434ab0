//! From the request for a task until `turn/start` is at Codex, with an engine and a Codex that run already, against a
//! bare client that makes the same calls: the difference is Talaria's own.

use serde_json::json;

use crate::arrivals::{Arrival, Arrivals, now};
use crate::bare::Bare;
use crate::row;
use crate::samples::{Samples, millis};
use crate::scene::Scene;

const RUNS: usize = 100;
/// Calls of a task before its turn.
const CALLS: [&str; 4] = ["account/read", "config/read", "thread/start", "turn/start"];

pub(crate) async fn measure() {
    let mut scene = Scene::new();
    let client = scene.start().await;
    let task = scene.task("say");
    // The Codex of both is up before anything is measured.
    client.start_task(&task).await.unwrap();
    scene.rest(&client, 1).await;
    let mut arrivals = scene.arrivals();
    arrivals.until("turn/start").await;
    let mut bare = Bare::start(&scene, &scene.file("bare")).await;
    arrivals.until("initialized").await;

    let (mut ours, mut named, mut theirs) = <(Samples, Samples, Samples)>::default();
    for _ in 0..RUNS {
        let begun = now();
        client.start_task(&task).await.unwrap();
        named.take(now() - begun);
        let calls = arrivals.until("turn/start").await;
        assert_eq!(calls.iter().map(|call| call.what.as_str()).collect::<Vec<_>>(), CALLS);
        ours.take(calls.last().unwrap().at - begun);
        scene.rest(&client, 1).await;
        let begun = now();
        let sent = send_a_turn(&mut bare, &mut arrivals).await;
        theirs.take(sent.at - begun);
    }
    ours.tell("task start until turn/start is at Codex, engine and Codex up", "-");
    theirs.tell("  a bare client with the same four calls", "-");
    row("  above the bare client: Talaria's own", &millis(ours.median() - theirs.median()), "<= 5 ms");
    named.tell("  until the caller has the name of the task", "-");
    commits(&scene).await;
    drop(bare);
    scene.close().await;
}

/// Time of one commit on the same disk in the same run: a task is stored before it is sent.
pub(crate) async fn commits(scene: &Scene) {
    let mut conn = crate::reference::open(&scene.file("commit.db"), crate::reference::Log::Ahead).await;
    sqlx::raw_sql("create table line (text text)").execute(&mut conn).await.unwrap();
    let mut alone = Samples::default();
    for _ in 0..RUNS {
        let begun = now();
        sqlx::query("insert into line values ('a line of text')").execute(&mut conn).await.unwrap();
        alone.take(now() - begun);
    }
    alone.tell("  for comparison: one commit of one row, alone, on this disk", "-");
}

async fn send_a_turn(bare: &mut Bare, arrivals: &mut Arrivals) -> Arrival {
    bare.call(CALLS[0], json!({})).await;
    bare.call(CALLS[1], json!({ "includeLayers": false, "cwd": "/" })).await;
    let opened = bare.call(CALLS[2], json!({ "cwd": "/", "approvalPolicy": "untrusted" })).await;
    let input = json!([{ "type": "text", "text": "say" }]);
    bare.call(CALLS[3], json!({ "threadId": opened["thread"]["id"], "input": input })).await;
    arrivals.until(CALLS[3]).await.pop().unwrap()
}
