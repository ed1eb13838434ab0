//! Waiting until a task has ended or needs a person, for a bounded time; the task itself continues whatever happens here.
//!
//! A request ends a wait once: a caller that has seen it and waits again waits for the person, not in a circle.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use talaria_core::api::TaskInfo;
use talaria_core::bridge::{BridgeReply, Waited, step};
use talaria_core::event::Event;
use talaria_guard::plain;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::sync::CancellationToken;

use super::service::refused;
use crate::client::{Client, ClientError, Follow};

/// A client that receives nothing for a while may cancel the call.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// How long reading the last steps of a task that has ended may take.
const REST: Duration = Duration::from_secs(2);
/// The most requests that are remembered.
const REMEMBERED: usize = 10_000;

/// The requests that a waiting caller has seen.
#[derive(Debug, Default)]
pub(super) struct Told(Mutex<BTreeSet<String>>);

impl Told {
    /// Remembers requests.
    pub(super) fn tell(&self, requests: impl IntoIterator<Item = String>) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() > REMEMBERED {
            told.clear();
        }
        told.extend(requests);
    }

    fn has_news(&self, task: &TaskInfo) -> bool {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        task.requests.iter().any(|request| !told.contains(request.id.as_str()))
    }
}

/// Sends a client the progress, if it subscribed.
pub(super) struct Progress {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    count: u32,
}

impl Progress {
    pub(super) fn new(peer: Peer<RoleServer>, token: Option<ProgressToken>) -> Self {
        Self { peer, token, count: 0 }
    }

    async fn say(&mut self, message: &str) {
        let Some(token) = self.token.clone() else { return };
        self.count += 1;
        let progress = ProgressNotificationParam::new(token, f64::from(self.count));
        // A client that is gone is noticed by the code that reads its input.
        drop(self.peer.notify_progress(progress.with_message(plain::one_line(message))).await);
    }
}

/// Waits, and returns the state of the task then.
pub(super) async fn settle(
    engine: &Client,
    id: &str,
    timeout: Duration,
    told: &Told,
    progress: &mut Progress,
    stops: &[CancellationToken; 2],
) -> Result<BridgeReply, BridgeReply> {
    let told_why = |error: ClientError| refused(&error);
    let until = Instant::now() + timeout;
    let mut task = engine.task(id).await.map_err(told_why)?;
    let mut follow: Option<Follow> = None;
    let mut is_outcome_read = false;
    let mut signs = interval_at(Instant::now() + SIGN_OF_LIFE, SIGN_OF_LIFE);
    signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let why = match () {
            () if task.status.is_terminal() => Some(Waited::Ended),
            () if task.status.is_waiting() && told.has_news(&task) => Some(Waited::ForPerson),
            () => None,
        };
        if let Some(why) = why {
            if let (Waited::Ended, false, Some(events)) = (why, is_outcome_read, &mut follow) {
                report_rest(events, progress).await;
            }
            told.tell(task.requests.iter().map(|request| request.id.to_string()));
            return Ok(BridgeReply::waited(why, &task));
        }
        // Events since the last query of the task are first.
        let events = match &mut follow {
            Some(events) => events,
            None => {
                let seen = task.events.last().map_or(0, |event| event.seq);
                follow.insert(engine.follow(id, seen).await.map_err(told_why)?)
            }
        };
        let changed = loop {
            tokio::select! {
                event = events.next() => match event {
                    Some(Ok(event)) => {
                        if let Some(step) = step(&event.event) {
                            progress.say(&step).await;
                        }
                        let is_turning_point = matches!(
                            event.event,
                            Event::Outcome(_) | Event::RequestOpened { .. } | Event::RequestClosed { .. }
                        );
                        if is_turning_point {
                            is_outcome_read = matches!(event.event, Event::Outcome(_));
                            break true;
                        }
                    }
                    Some(Err(error)) => return Err(refused(&error)),
                    None => break true,
                },
                _ = signs.tick() => progress.say(&format!("{} is {}", task.id, task.status.word())).await,
                () = sleep_until(until) => break false,
                () = stops[0].cancelled() => break false,
                () = stops[1].cancelled() => break false,
            }
        };
        task = engine.task(id).await.map_err(told_why)?;
        if !changed {
            let why = if task.status.is_terminal() { Waited::Ended } else { Waited::TimeOver };
            return Ok(BridgeReply::waited(why, &task));
        }
    }
}

/// Reports the steps before the outcome that were not read yet: the task may have ended since its last turning point.
async fn report_rest(events: &mut Follow, progress: &mut Progress) {
    let rest = async {
        while let Some(Ok(event)) = events.next().await {
            if let Some(step) = step(&event.event) {
                progress.say(&step).await;
            }
            if matches!(event.event, Event::Outcome(_)) {
                return;
            }
        }
    };
    // The events are stored already; only a broken connection takes longer.
    let _ = tokio::time::timeout(REST, rest).await;
}
