//! What waits for one consumer. The reader of the socket never waits for it.
//!
//! Bounded in frames: past `COALESCE_AT` a piece of text is appended to the piece before it if both belong to the same
//! item, which loses nothing. What cannot be appended is kept: a turn's steps are few, and Codex would otherwise wait
//! for ever for the answer to a request that was thrown away.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use talaria_core::frame::{Corrupt, Unknown};
use talaria_core::ids::RequestId;
use talaria_core::wire::notification::{Delta, Notification};
use talaria_core::wire::server_request::ServerRequest;
use tokio::sync::Notify;

/// From how many waiting frames on pieces of text are joined.
const COALESCE_AT: usize = 4096;

/// Something for a consumer.
#[derive(Clone, Debug)]
pub(crate) enum Delivery {
    /// Something happened.
    Notification(Notification<'static>),
    /// Codex asks something.
    Request {
        /// To be echoed in the answer.
        id: RequestId,
        /// What it asks.
        request: ServerRequest,
    },
    /// A message that this build does not know.
    Unknown(Box<Unknown>),
    /// Bytes that are no message.
    Corrupt(Corrupt),
    /// Codex is gone; nothing follows.
    Gone(String),
}

/// The waiting deliveries of one consumer.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<VecDeque<Delivery>>,
    arrived: Notify,
}

impl Queue {
    /// Adds a delivery. Never waits.
    pub(crate) fn push(&self, delivery: Delivery) {
        let mut waiting = self.lock();
        let was_empty = waiting.is_empty();
        if waiting.len() < COALESCE_AT {
            waiting.push_back(delivery);
        } else if let Some(rest) = append(waiting.back_mut(), delivery) {
            waiting.push_back(rest);
        }
        drop(waiting);
        // Whoever finds something takes all of it, so only the first needs a call.
        if was_empty {
            self.arrived.notify_one();
        }
    }

    /// Takes everything that waits, or waits for the first. Cancel-safe: nothing is taken before it is returned.
    pub(crate) async fn take(&self) -> VecDeque<Delivery> {
        loop {
            let batch = std::mem::take(&mut *self.lock());
            if !batch.is_empty() {
                return batch;
            }
            self.arrived.notified().await;
        }
    }

    /// Puts back what was taken and not looked at, in front of what came meanwhile.
    pub(crate) fn give_back(&self, mut batch: VecDeque<Delivery>) {
        let mut waiting = self.lock();
        batch.append(&mut waiting);
        *waiting = batch;
        if !waiting.is_empty() {
            self.arrived.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Delivery>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Appends a piece of text to the last delivery if it continues it; otherwise gives the delivery back.
fn append(last: Option<&mut Delivery>, delivery: Delivery) -> Option<Delivery> {
    use Notification::{AgentMessageDelta, CommandOutputDelta, ReasoningSummaryDelta, ReasoningTextDelta};
    let (Some(Delivery::Notification(last)), Delivery::Notification(next)) = (last, &delivery) else {
        return Some(delivery);
    };
    match (last, next) {
        (AgentMessageDelta(last), AgentMessageDelta(next))
        | (CommandOutputDelta(last), CommandOutputDelta(next))
        | (ReasoningSummaryDelta(last), ReasoningSummaryDelta(next))
        | (ReasoningTextDelta(last), ReasoningTextDelta(next))
            if same_item(last, next) =>
        {
            last.delta.to_mut().push_str(&next.delta);
            None
        }
        _ => Some(delivery),
    }
}

fn same_item(a: &Delta<'_>, b: &Delta<'_>) -> bool {
    a.item_id == b.item_id && a.turn_id == b.turn_id && a.thread_id == b.thread_id
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(item: &str, text: &str) -> Delivery {
        Delivery::Notification(Notification::AgentMessageDelta(Delta {
            thread_id: "t".into(),
            turn_id: "u".into(),
            item_id: item.to_owned().into(),
            delta: text.to_owned().into(),
        }))
    }

    #[tokio::test]
    async fn a_flood_of_text_stays_bounded_in_frames_and_loses_nothing() {
        let queue = Queue::default();
        for n in 0..100_000 {
            queue.push(piece("i", &format!("{n} ")));
        }
        let batch = queue.take().await;
        assert!(batch.len() <= COALESCE_AT + 1, "{}", batch.len());
        let text: String = batch
            .into_iter()
            .map(|delivery| match delivery {
                Delivery::Notification(Notification::AgentMessageDelta(delta)) => delta.delta.into_owned(),
                other => panic!("{other:?}"),
            })
            .collect();
        let whole: String = (0..100_000).map(|n| format!("{n} ")).collect();
        assert_eq!(text, whole);
    }

    #[tokio::test]
    async fn text_of_another_item_and_everything_else_is_kept_apart() {
        let queue = Queue::default();
        for _ in 0..COALESCE_AT {
            queue.push(piece("a", "x"));
        }
        queue.push(piece("b", "y"));
        queue.push(Delivery::Gone("end".to_owned()));
        queue.push(piece("b", "z"));
        assert_eq!(queue.take().await.len(), COALESCE_AT + 3);
    }
}
