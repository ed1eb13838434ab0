//! Fifty concurrent tasks, on each of which Codex reports steps as fast as they are accepted.

use talaria_core::api::SessionQuery;
use talaria_core::event::Event;
use talaria_server::client::Client;

use crate::codex::STEP;
use crate::row;
use crate::scene::Scene;

const TASKS: usize = 50;
const STEPS: usize = 100;

/// The watchers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    Nobody,
    OneForEachTask,
}

pub(crate) async fn measure() {
    let notifications = TASKS * STEPS * STEP;
    let (taken, written) = run(Audience::Nobody).await;
    row(
        &format!("{TASKS} tasks at work: notifications taken a second, of {notifications}"),
        &per_second(taken),
        "-",
    );
    row("  events written down a second (pieces of text are joined)", &per_second(written), "-");
    let (taken, written) = run(Audience::OneForEachTask).await;
    row("  notifications a second, somebody follows each task", &per_second(taken), "-");
    row("  events written down and published a second", &per_second(written), "-");
    crate::reference::deltas(taken).await;
}

/// Returns notifications and events per second, from the first of the flood until the last task is completed.
async fn run(audience: Audience) -> (f64, f64) {
    let mut scene = Scene::new();
    let client = scene.start().await;
    let mut arrivals = scene.arrivals();
    let task = scene.task(&format!("flood {TASKS} {STEPS}"));
    let mut followers = Vec::new();
    for _ in 0..TASKS {
        let started = client.start_task(&task).await.unwrap();
        if audience == Audience::OneForEachTask {
            followers.push(tokio::spawn(follow(client.clone(), started.id)));
        }
    }
    let begun = arrivals.until("flood").await.pop().unwrap().at;
    let lines = scene.rest(&client, TASKS).await;
    let sessions = client.sessions(&SessionQuery { limit: TASKS, ..SessionQuery::default() }).await.unwrap();
    let events: i64 = sessions.iter().map(|session| session.last_seq).sum();
    let mut published = 0;
    for follower in followers {
        published += follower.await.unwrap();
    }
    assert!(
        audience == Audience::Nobody || published == events,
        "{published} of {events} events were published"
    );
    let ended = lines.iter().map(|line| line.completed_at.unwrap().as_nanosecond()).max().unwrap();
    let seconds = (i64::try_from(ended).unwrap() - begun) as f64 / 1e9;
    scene.close().await;
    ((TASKS * STEPS * STEP) as f64 / seconds, events as f64 / seconds)
}

/// Counts the events of a task until its outcome.
async fn follow(client: Client, task: String) -> i64 {
    let mut events = client.follow(&task, 0).await.unwrap();
    let mut count = 0;
    while let Some(event) = events.next().await {
        count += 1;
        if matches!(event.unwrap().event, Event::Outcome(_)) {
            break;
        }
    }
    count
}

fn per_second(rate: f64) -> String {
    format!("{:.1} k/s", rate / 1e3)
}
