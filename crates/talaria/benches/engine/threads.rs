//! Fifty conversations of the real Codex that wait for a person: their memory, on one process and on ten, and the time
//! from a kill of the engine until the next one has resumed all of them.

use std::time::{Duration, Instant};

use talaria_core::api::{AnswerRequest, EngineStatus, TaskQuery};
use talaria_core::event::Stage;
use talaria_core::request::{Answer, Decision, Who};
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::row;
use crate::scene::{Layout, Scene};

const THREADS: usize = 50;

pub(crate) async fn measure() {
    for codex in Codex::both() {
        for hosts in [1, 10] {
            fifty(&codex, Layout { hosts, threads: THREADS / hosts }).await;
        }
    }
}

async fn fifty(codex: &Codex, layout: Layout) {
    let mut scene = Scene::real(codex, layout).await;
    scene.model.route(|request| {
        Some(if request.is_after_tool() { Reply::say("Done.") } else { Reply::new().command("touch made") })
    });
    let client = scene.start().await;
    for _ in 0..THREADS {
        scene.begin_task(&client).await;
    }
    let waiting =
        scene.wait(&client, |status| are_followed(status) && status.requests.len() == THREADS).await;
    let Layout { hosts, threads } = layout;
    assert_eq!(waiting.hosts.len(), hosts);
    let what = format!("codex {}: {hosts} x {threads} threads", codex.version);
    let memory = scene.codex_memory();
    let each = |kib: f64| format!("{:.1} MB", kib * 1024.0 / 1e6 / THREADS as f64);
    row(
        &format!("{what}, PSS of a thread"),
        &memory.map_or("-".to_owned(), |memory| each(memory.fair_share)),
        "-",
    );

    scene.kill();
    let begun = Instant::now();
    let client = scene.start().await;
    let listens = begun.elapsed();
    let back = scene.wait(&client, are_followed).await;
    let followed = begun.elapsed();
    row("  engine killed: the next one answers after", &millis(listens), "-");
    row("  all turns are followed again after", &millis(followed), "-");

    let begun = Instant::now();
    for request in &back.requests {
        let answer = Answer::from(Decision::Accept).revealed();
        let answer = AnswerRequest { answer, by: Who::User, digest: None };
        client.answer(request.id.as_str(), &answer).await.unwrap();
    }
    scene.wait(&client, |status| status.turns.is_empty()).await;
    row("  all requests answered and all turns completed after another", &millis(begun.elapsed()), "-");
    let mut completed = 0;
    for task in client.tasks(&TaskQuery::default()).await.unwrap() {
        let answer = client.task(&task.id).await.unwrap().answer;
        completed += usize::from(answer.as_deref() == Some("Done."));
    }
    row("  of them completed with their answer", &completed.to_string(), &THREADS.to_string());
    scene.close().await;
}

/// Codex has accepted every turn, and this engine follows it there.
fn are_followed(status: &EngineStatus) -> bool {
    let followed: usize = status.hosts.iter().map(|host| host.turns).sum();
    let accepted = status.turns.iter().filter(|turn| turn.stage == Stage::Accepted).count();
    (followed, accepted) == (THREADS, THREADS)
}

fn millis(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}
