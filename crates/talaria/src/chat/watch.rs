//! Polls every two seconds for open requests anywhere, the number of tasks and their ends, and whether the engine is
//! available. Reports only changes. It restarts an engine that died, but none that a person stopped.

mod ends;

use std::sync::Arc;
use std::time::Duration;

use talaria_core::api::{EngineStatus, RequestInfo, TaskCounts, TaskQuery};
use talaria_server::client::ClientError;
use talaria_tui::chat::contract::News;
use tokio::sync::{Notify, mpsc};

use super::chat_context::ChatContext;
use super::errand::{Done, Seen};
use ends::Ends;

/// How often is looked.
const EVERY: Duration = Duration::from_secs(2);
/// At most this many tasks are read, latest activity first.
const TASKS: usize = 50;

/// Names of what waits, as last reported, and how many tasks and background commands there are.
type Told = Option<(Vec<String>, TaskCounts, usize)>;

/// Looks until the receiver is gone; `again` lets it look at once.
pub(super) async fn run(context: Arc<ChatContext>, again: Arc<Notify>, teller: mpsc::Sender<Done>) {
    let (mut told, mut ends) = (None, Ends::default());
    loop {
        let mut done = report_look(&mut told, context.onlooker.status().await);
        if told.is_some()
            && let Ok(tasks) =
                context.onlooker.tasks(&TaskQuery { limit: TASKS, ..TaskQuery::default() }).await
        {
            done.extend(ends.news(tasks).map(|ended| Done::News(News::Ended(ended))));
        }
        for done in done {
            if teller.send(done).await.is_err() {
                return;
            }
        }
        let _ = tokio::time::timeout(EVERY, again.notified()).await;
    }
}

/// News of a poll. After one that found no engine everything is reported again: the front end has dropped the open requests
/// then.
fn report_look(told: &mut Told, found: Result<EngineStatus, ClientError>) -> Vec<Done> {
    let missing = match found {
        Ok(status) => {
            let there = Some(Done::EngineSeen(Seen::There));
            return there.into_iter().chain(report_changes(told, status)).collect();
        }
        Err(ClientError::Stopped) => Seen::Stopped,
        Err(_) => Seen::Away,
    };
    *told = None;
    vec![Done::EngineSeen(missing)]
}

fn report_changes(told: &mut Told, status: EngineStatus) -> Option<Done> {
    let EngineStatus { requests, tasks, background, .. } = status;
    let background = background.iter().filter(|command| command.confirmed).count();
    let name = |request: &RequestInfo| request.id.to_string();
    let seen = (requests.iter().map(name).collect(), tasks, background);
    if told.as_ref() == Some(&seen) {
        return None;
    }
    *told = Some(seen);
    Some(Done::News(News::Waiting { requests, tasks, background }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_waits_is_told_again_by_the_next_engine() {
        let status = || -> EngineStatus {
            let at = "2026-01-01T00:00:00Z";
            serde_json::from_value(json!({ "engine": { "pid": 1, "version": "0", "build": 0, "api": 1,
                "home": "/", "since": at }, "hosts": [], "turns": [], "requests": [],
                "tasks": { "working": 1, "waiting": 0, "queued": 0 }, "limits": { "tasks": 0, "hosts": 0,
                "threads_per_host": 0, "host_memory_kib": null }, "notes": [] }))
            .unwrap()
        };
        let is_told = |done: &[Done]| matches!(done, [_, Done::News(News::Waiting { .. })]);
        let mut told = None;
        assert!(is_told(&report_look(&mut told, Ok(status()))));
        assert!(!is_told(&report_look(&mut told, Ok(status()))), "nothing has changed");
        for missing in [ClientError::Stopped, ClientError::NotRunning] {
            report_look(&mut told, Err(missing));
            assert!(is_told(&report_look(&mut told, Ok(status()))));
        }
    }
}
