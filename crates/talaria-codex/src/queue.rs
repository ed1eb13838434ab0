//! The deliveries for one consumer. The reader of the socket never waits for it.
//!
//! While the consumer lags, a text delta is appended to the previous one of the same item: that loses nothing, keeps a
//! flood small, and costs less than a separate delivery. Of consecutive account limits only the last is kept: a
//! session without a turn receives those of all others. Everything else is kept: a turn has few steps, and Codex would
//! wait indefinitely for the response to a dropped request.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use talaria_codex_proto::frame::{Corrupt, Unknown};
use talaria_codex_proto::wire::notification::{Delta, Notification};
use talaria_codex_proto::wire::server_request::ServerRequest;
use talaria_core::ids::RequestId;
use tokio::sync::Notify;

/// Maximum length of a joined text delta: longer ones would make the output stutter.
const PIECE: usize = 4096;

/// Something for a consumer.
#[derive(Clone, Debug)]
pub enum Delivery<'a> {
    /// Something happened.
    Notification(Notification<'a>),
    /// Codex asks something.
    Request {
        /// To be echoed in the answer.
        id: RequestId,
        /// The request.
        request: ServerRequest,
    },
    /// A message that this build does not know.
    Unknown(Box<Unknown>),
    /// Bytes that are no message.
    Corrupt(Corrupt),
    /// Codex is gone; nothing follows.
    Gone(String),
}

impl Delivery<'_> {
    /// Returns whether it is a text delta; the completed item has the whole text.
    pub(crate) fn is_piece(&self) -> bool {
        use Notification::{
            AgentMessageDelta, CommandOutputDelta, ReasoningSummaryDelta, ReasoningTextDelta,
        };
        matches!(
            self,
            Self::Notification(
                AgentMessageDelta(_)
                    | CommandOutputDelta(_)
                    | ReasoningSummaryDelta(_)
                    | ReasoningTextDelta(_)
            )
        )
    }

    /// Makes it outlive the message.
    pub(crate) fn into_owned(self) -> Delivery<'static> {
        match self {
            Self::Notification(notification) => Delivery::Notification(notification.into_owned()),
            Self::Request { id, request } => Delivery::Request { id, request },
            Self::Unknown(unknown) => Delivery::Unknown(unknown),
            Self::Corrupt(corrupt) => Delivery::Corrupt(corrupt),
            Self::Gone(why) => Delivery::Gone(why),
        }
    }
}

/// The waiting deliveries of one consumer.
#[derive(Debug, Default)]
pub struct ThreadQueue {
    waiting: Mutex<VecDeque<Delivery<'static>>>,
    arrived: Notify,
}

impl ThreadQueue {
    /// Adds a delivery. Never waits.
    pub(crate) fn push(&self, delivery: Delivery<'_>) {
        let mut waiting = self.lock();
        if waiting.back_mut().is_some_and(|last| join(last, &delivery)) {
            return;
        }
        let was_empty = waiting.is_empty();
        waiting.push_back(delivery.into_owned());
        drop(waiting);
        // The consumer takes everything at once, so only the first delivery has to wake it.
        if was_empty {
            self.arrived.notify_one();
        }
    }

    /// Takes everything that waits, or waits for the first. Cancel-safe: nothing is taken before it is returned.
    pub async fn take(&self) -> VecDeque<Delivery<'static>> {
        loop {
            let batch = std::mem::take(&mut *self.lock());
            if !batch.is_empty() {
                return batch;
            }
            self.arrived.notified().await;
        }
    }

    /// Returns unprocessed deliveries to the front of the queue.
    pub fn give_back(&self, mut batch: VecDeque<Delivery<'static>>) {
        let mut waiting = self.lock();
        batch.append(&mut waiting);
        *waiting = batch;
        if !waiting.is_empty() {
            self.arrived.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Delivery<'static>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Merges the next delivery into the last one if it continues or replaces it; returns whether it did.
fn join(last: &mut Delivery<'static>, next: &Delivery<'_>) -> bool {
    use Notification::{
        AgentMessageDelta, CommandOutputDelta, RateLimitsUpdated, ReasoningSummaryDelta, ReasoningTextDelta,
    };
    let (Delivery::Notification(last), Delivery::Notification(next)) = (last, next) else { return false };
    match (last, next) {
        (AgentMessageDelta(last), AgentMessageDelta(next))
        | (CommandOutputDelta(last), CommandOutputDelta(next))
        | (ReasoningSummaryDelta(last), ReasoningSummaryDelta(next))
        | (ReasoningTextDelta(last), ReasoningTextDelta(next))
            if last.delta.len() < PIECE && same_item(last, next) =>
        {
            last.delta.to_mut().push_str(&next.delta);
            true
        }
        (RateLimitsUpdated(last), RateLimitsUpdated(next)) => {
            last.clone_from(next);
            true
        }
        _ => false,
    }
}

fn same_item(a: &Delta<'_>, b: &Delta<'_>) -> bool {
    a.item_id == b.item_id && a.turn_id == b.turn_id && a.thread_id == b.thread_id
}

#[cfg(test)]
mod tests {
    use talaria_codex_proto::frame::{Decoded, Frame, decode_text};

    use super::*;

    fn piece(item: &str, text: &str) -> Delivery<'static> {
        Delivery::Notification(Notification::AgentMessageDelta(Delta {
            thread_id: "t".into(),
            turn_id: "u".into(),
            item_id: item.to_owned().into(),
            delta: text.to_owned().into(),
        }))
    }

    fn text(delivery: Delivery<'_>) -> String {
        match delivery {
            Delivery::Notification(Notification::AgentMessageDelta(delta)) => delta.delta.into_owned(),
            other => panic!("{other:?}"),
        }
    }

    fn request(id: i64) -> Delivery<'static> {
        let text = format!(
            r#"{{"method":"item/fileChange/requestApproval","id":{id},"params":{{"threadId":"t","turnId":"u","itemId":"i"}}}}"#
        );
        match decode_text(&text) {
            Decoded::Known(Frame::Request { id, request }) => Delivery::Request { id, request },
            other => panic!("{other:?}"),
        }
    }

    fn show(delivery: Delivery<'_>) -> String {
        match delivery {
            Delivery::Notification(Notification::AgentMessageDelta(it)) => {
                format!("{} {}", it.item_id, it.delta)
            }
            Delivery::Request { id, .. } => format!("asks {id}"),
            Delivery::Corrupt(corrupt) => format!("corrupt {}", corrupt.reason),
            Delivery::Gone(why) => format!("gone {why}"),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_flood_of_text_stays_small_and_loses_nothing() {
        let queue = ThreadQueue::default();
        let whole: String = (0..100_000).map(|n| format!("{n} ")).collect();
        for n in 0..100_000 {
            queue.push(piece("i", &format!("{n} ")));
        }
        let batch = queue.take().await;
        assert!(batch.len() <= whole.len() / PIECE + 1, "{}", batch.len());
        assert_eq!(batch.into_iter().map(text).collect::<String>(), whole);
    }

    #[tokio::test]
    async fn a_consumer_that_keeps_up_gets_every_piece_by_itself() {
        let queue = ThreadQueue::default();
        for n in 0..10 {
            queue.push(piece("i", &n.to_string()));
            assert_eq!(queue.take().await.into_iter().map(text).collect::<Vec<_>>(), [n.to_string()]);
        }
    }

    #[tokio::test]
    async fn text_of_another_item_and_everything_else_is_kept_apart() {
        let queue = ThreadQueue::default();
        for text in ["x", "y"] {
            queue.push(piece("a", text));
        }
        queue.push(piece("b", "y"));
        queue.push(request(0));
        queue.push(piece("b", "z"));
        queue.push(Delivery::Corrupt(Corrupt { reason: "odd".to_owned(), bytes: 1 }));
        queue.push(request(1));
        queue.push(Delivery::Gone("end".to_owned()));
        let shown: Vec<String> = queue.take().await.into_iter().map(show).collect();
        let wire = ["a xy", "b y", "asks 0", "b z", "corrupt odd", "asks 1", "gone end"];
        assert_eq!(shown, wire, "in the order of the wire");
    }

    #[tokio::test]
    async fn of_limits_only_the_newest_waits() {
        let limits = |used: u32| {
            let numbers = serde_json::json!({ "rateLimits": { "primary": { "usedPercent": used } } });
            let limits = serde_json::from_value(numbers).unwrap();
            Delivery::Notification(Notification::RateLimitsUpdated(limits))
        };
        let queue = ThreadQueue::default();
        (1..=1000).for_each(|used| queue.push(limits(used)));
        let batch = queue.take().await;
        let [Delivery::Notification(Notification::RateLimitsUpdated(kept))] = batch.as_slices().0 else {
            panic!("{batch:?}")
        };
        assert_eq!(kept.rate_limits.primary.as_ref().map(|window| window.used_percent), Some(1000.0));
    }

    #[tokio::test]
    async fn what_is_given_back_comes_before_what_came_meanwhile() {
        let queue = ThreadQueue::default();
        for item in ["a", "b"] {
            queue.push(piece(item, item));
        }
        let mut batch = queue.take().await;
        assert_eq!(batch.pop_front().map(text).as_deref(), Some("a"));
        queue.push(piece("c", "c"));
        queue.give_back(batch);
        assert_eq!(queue.take().await.into_iter().map(text).collect::<String>(), "bc");
    }
}
