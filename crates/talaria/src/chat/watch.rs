//! Looks every two seconds at what waits for a person anywhere and how many tasks there are, and whether the engine is there.
//! Told only when it has changed. It starts an engine that died, and none that a person stopped.

use std::sync::Arc;
use std::time::Duration;

use talaria_core::api::{RequestInfo, Status, TaskCounts};
use talaria_face::chat::contract::News;
use talaria_server::client::ClientError;
use tokio::sync::{Notify, mpsc};

use super::desk::Desk;
use super::errand::{Done, Seen};

/// How often is looked.
const EVERY: Duration = Duration::from_secs(2);

/// Looks until nobody listens; `again` lets it look at once.
pub(super) async fn run(desk: Arc<Desk>, again: Arc<Notify>, teller: mpsc::Sender<Done>) {
    let mut told: Option<(Vec<String>, TaskCounts)> = None;
    loop {
        let done = match desk.onlooker.status().await {
            Ok(status) => {
                if teller.send(Done::EngineSeen(Seen::There)).await.is_err() {
                    return;
                }
                changed(&mut told, status)
            }
            Err(ClientError::Stopped) => Some(Done::EngineSeen(Seen::Stopped)),
            Err(_) => Some(Done::EngineSeen(Seen::Away)),
        };
        if let Some(done) = done
            && teller.send(done).await.is_err()
        {
            return;
        }
        let _ = tokio::time::timeout(EVERY, again.notified()).await;
    }
}

fn changed(told: &mut Option<(Vec<String>, TaskCounts)>, status: Status) -> Option<Done> {
    let Status { requests, tasks, .. } = status;
    let name = |request: &RequestInfo| request.id.to_string();
    let seen = (requests.iter().map(name).collect(), tasks);
    if told.as_ref() == Some(&seen) {
        return None;
    }
    *told = Some(seen);
    Some(Done::News(News::Waiting { requests, tasks }))
}
