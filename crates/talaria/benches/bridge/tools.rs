//! From a call of one of Talaria's tools at Codex until its result is there, against a bare client that answers at once: what
//! is above that is Talaria's own. A call is a row before it runs and another one before its result is sent.

use serde_json::json;

use crate::arrivals::Arrivals;
use crate::bare::Bare;
use crate::codex::CALLED;
use crate::row;
use crate::samples::{Samples, millis};
use crate::scene::Scene;

/// Calls of one turn, and turns.
const CALLS: usize = 25;
const TURNS: usize = 4;

pub(crate) async fn measure() {
    let mut scene = Scene::new();
    let client = scene.start().await;
    // The Codex of both is up before anything is measured.
    client.start_task(&scene.task("say")).await.unwrap();
    scene.rest(&client, 1).await;
    let mut arrivals = scene.arrivals();
    arrivals.until("turn/start").await;
    let mut bare = Bare::start(&scene, &scene.file("bare")).await;
    arrivals.until("initialized").await;

    let mut theirs = Samples::default();
    for _ in 0..TURNS {
        let opened = bare.call("thread/start", json!({ "cwd": "/", "approvalPolicy": "untrusted" })).await;
        let input = json!([{ "type": "text", "text": format!("call talaria_recall {CALLS}") }]);
        bare.call("turn/start", json!({ "threadId": opened["thread"]["id"], "input": input })).await;
        bare.answer(CALLS).await;
        collect(&mut arrivals, &mut theirs).await;
    }
    theirs.tell("call of a tool until its result is at Codex: a bare client that answers at once", "-");
    for (tool, what) in [
        ("talaria_recall", "a search in an empty home"),
        ("talaria_memory", "an empty memory is read"),
        ("talaria_nothing", "a tool that there is not"),
    ] {
        let mut ours = Samples::default();
        for _ in 0..TURNS {
            client.start_task(&scene.task(&format!("call {tool} {CALLS}"))).await.unwrap();
            collect(&mut arrivals, &mut ours).await;
            scene.rest(&client, 1).await;
        }
        ours.tell(&format!("  {tool}: {what}"), "-");
        let (median, best) = (ours.median() - theirs.median(), ours.best() - theirs.best());
        row(
            &format!("  above the bare client: Talaria's own (best against best {best:.2})"),
            &millis(median),
            "<= 2 ms",
        );
    }
    crate::start::commits(&scene).await;
    drop(bare);
    scene.close().await;
}

/// Waits for the results of one turn.
async fn collect(arrivals: &mut Arrivals, samples: &mut Samples) {
    for _ in 0..CALLS {
        let result = arrivals.until(CALLED).await.pop().unwrap();
        samples.take(result.at - result.answered);
    }
}
