//! Routes each message of a host to the session it belongs to, by thread id.
//!
//! A message of a thread without a subscriber is kept for the next one (a thread's first notifications can come before
//! the response to `thread/start`, a sub-agent's before its parent names it). A message of no thread goes to every
//! session. Nothing here waits.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use talaria_codex_proto::wire::notification::Notification;
use talaria_core::ids::ThreadId;

use super::queue::{Delivery, ThreadQueue};

/// How many deliveries without a subscriber are kept, per thread and for no thread; the oldest are dropped first,
/// requests never.
const KEPT: usize = 256;
/// How many threads without a subscriber are remembered.
const STRAY_THREADS: usize = 256;

/// The sessions of a host.
#[derive(Debug, Default)]
pub(crate) struct Router {
    routes: Mutex<Routes>,
}

#[derive(Debug, Default)]
struct Routes {
    followed: HashMap<ThreadId, Arc<ThreadQueue>>,
    stray: HashMap<ThreadId, VecDeque<Delivery<'static>>>,
    /// Messages of no thread from before the first subscription.
    early: VecDeque<Delivery<'static>>,
    gone: Option<String>,
}

impl Router {
    /// Routes a delivery to its sessions.
    pub(crate) fn deliver(&self, delivery: Delivery<'_>) {
        let mut routes = self.lock();
        if let Delivery::Gone(why) = &delivery {
            routes.gone = Some(why.clone());
        }
        if is_of_no_interest(&delivery) {
            return;
        }
        let thread = match &delivery {
            Delivery::Notification(notification) => notification.scope().thread,
            Delivery::Request { request, .. } => request.scope().thread,
            Delivery::Unknown(unknown) => unknown.thread.as_ref().map(ThreadId::as_str),
            Delivery::Corrupt(_) | Delivery::Gone(_) => None,
        };
        let Some(thread) = thread else { return routes.deliver_to_all(delivery.into_owned()) };
        match routes.followed.get(thread) {
            Some(queue) => queue.push(delivery),
            None => {
                let thread = ThreadId::new(thread);
                routes.keep_stray(thread, delivery.into_owned());
            }
        }
    }

    /// Subscribes to a thread, including its earlier messages.
    pub(crate) fn follow(&self, thread: ThreadId) -> Arc<ThreadQueue> {
        let queue = Arc::new(ThreadQueue::default());
        self.lock().add(thread, Arc::clone(&queue));
        queue
    }

    /// Follows a further thread, a sub-agent's, with the queue of its parent.
    pub(crate) fn adopt(&self, thread: &ThreadId, queue: &Arc<ThreadQueue>) {
        let mut routes = self.lock();
        if !routes.followed.contains_key(thread) {
            routes.add(thread.clone(), Arc::clone(queue));
        }
    }

    /// Returns what Codex warned about before the first subscription.
    pub(crate) fn early_warnings(&self) -> Vec<String> {
        let summary = |delivery: &Delivery<'_>| match delivery {
            Delivery::Notification(Notification::ConfigWarning(warning)) => Some(warning.summary.clone()),
            _ => None,
        };
        self.lock().early.iter().filter_map(summary).collect()
    }

    /// Returns the number of subscribers; one with several threads counts once.
    pub(crate) fn followers(&self) -> usize {
        let routes = self.lock();
        let queues: HashSet<*const ThreadQueue> = routes.followed.values().map(Arc::as_ptr).collect();
        queues.len()
    }

    /// Stops following every thread of a queue.
    pub(crate) fn forget(&self, queue: &Arc<ThreadQueue>) {
        self.lock().followed.retain(|_, followed| !Arc::ptr_eq(followed, queue));
    }

    fn lock(&self) -> MutexGuard<'_, Routes> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Routes {
    fn add(&mut self, thread: ThreadId, queue: Arc<ThreadQueue>) {
        let early = std::mem::take(&mut self.early);
        let stray = self.stray.remove(&thread).unwrap_or_default();
        for delivery in early.into_iter().chain(stray) {
            queue.push(delivery);
        }
        if let Some(why) = &self.gone {
            queue.push(Delivery::Gone(why.clone()));
        }
        self.followed.insert(thread, queue);
    }

    fn keep_stray(&mut self, thread: ThreadId, delivery: Delivery<'static>) {
        if let Delivery::Notification(Notification::ThreadClosed(_)) = delivery {
            self.stray.remove(&thread);
            return;
        }
        if !self.stray.contains_key(&thread) && self.stray.len() >= STRAY_THREADS {
            let asks = |kept: &VecDeque<Delivery<'static>>| kept.iter().any(is_request);
            let idle = self.stray.iter().find(|(_, kept)| !asks(kept)).map(|(thread, _)| thread.clone());
            match idle {
                Some(idle) => drop(self.stray.remove(&idle)),
                None if !is_request(&delivery) => return,
                None => {}
            }
        }
        keep(self.stray.entry(thread).or_default(), delivery);
    }

    fn deliver_to_all(&mut self, delivery: Delivery<'static>) {
        if self.followed.is_empty() {
            if self.gone.is_none() {
                keep(&mut self.early, delivery);
            }
            return;
        }
        let mut told: Vec<&Arc<ThreadQueue>> = Vec::new();
        for queue in self.followed.values() {
            if !told.iter().any(|other| Arc::ptr_eq(other, queue)) {
                queue.push(delivery.clone());
                told.push(queue);
            }
        }
    }
}

fn keep(kept: &mut VecDeque<Delivery<'static>>, delivery: Delivery<'static>) {
    if kept.len() >= KEPT
        && let Some(at) = kept.iter().position(|old| !is_request(old))
    {
        kept.remove(at);
    }
    kept.push_back(delivery);
}

/// Returns whether Codex waits for a response: such a delivery is never dropped.
fn is_request(delivery: &Delivery<'_>) -> bool {
    matches!(delivery, Delivery::Request { .. })
}

/// Returns whether a broadcast carries no information: limits without any value.
fn is_of_no_interest(delivery: &Delivery<'_>) -> bool {
    match delivery {
        Delivery::Notification(Notification::RemoteControlChanged(_)) => true,
        Delivery::Notification(Notification::RateLimitsUpdated(limits)) => limits.rate_limits.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use talaria_codex_proto::frame::{Corrupt, Decoded, Frame, decode_text};

    use super::*;

    fn notification(text: &str) -> Delivery<'static> {
        match decode_text(text) {
            Decoded::Known(Frame::Notification(notification)) => {
                Delivery::Notification(notification.into_owned())
            }
            other => panic!("{other:?}"),
        }
    }

    fn delta(thread: &str, item: &str) -> Delivery<'static> {
        notification(&format!(
            r#"{{"method":"item/agentMessage/delta","params":{{"threadId":"{thread}","turnId":"u","itemId":"{item}","delta":"x"}}}}"#
        ))
    }

    fn limits(percent: Option<u8>) -> Delivery<'static> {
        let window = percent.map_or("null".to_owned(), |percent| format!(r#"{{"usedPercent":{percent}}}"#));
        let numbers = format!(r#"{{"primary":{window},"secondary":null,"rateLimitReachedType":null}}"#);
        notification(&format!(
            r#"{{"method":"account/rateLimits/updated","params":{{"rateLimits":{numbers}}}}}"#
        ))
    }

    fn asks(thread: &str, id: i64) -> Delivery<'static> {
        let text = format!(
            r#"{{"method":"item/fileChange/requestApproval","id":{id},"params":{{"threadId":"{thread}","turnId":"u","itemId":"i"}}}}"#
        );
        match decode_text(&text) {
            Decoded::Known(Frame::Request { id, request }) => Delivery::Request { id, request },
            other => panic!("{other:?}"),
        }
    }

    /// Deliveries of a consumer, in order.
    async fn taken(queue: &ThreadQueue) -> Vec<String> {
        let show = |delivery| match delivery {
            Delivery::Notification(Notification::AgentMessageDelta(it)) => {
                format!("{} {}", it.thread_id, it.item_id)
            }
            Delivery::Notification(Notification::RateLimitsUpdated(it)) => {
                format!("limits {:?}", it.rate_limits.primary.map(|window| window.used_percent))
            }
            Delivery::Notification(other) => other.method().to_owned(),
            Delivery::Request { id, request } => {
                format!("{} asks {id}", request.scope().thread.unwrap_or("?"))
            }
            Delivery::Unknown(unknown) => unknown.method,
            Delivery::Corrupt(corrupt) => format!("corrupt {}", corrupt.reason),
            Delivery::Gone(why) => format!("gone {why}"),
        };
        queue.take().await.into_iter().map(show).collect()
    }

    #[tokio::test]
    async fn limits_reach_every_session_unless_they_say_nothing() {
        let router = Router::default();
        let (a, b) = (router.follow(ThreadId::new("a")), router.follow(ThreadId::new("b")));
        router.deliver(limits(None));
        router.deliver(limits(Some(84)));
        for queue in [a, b] {
            assert_eq!(taken(&queue).await, ["limits Some(84.0)"]);
        }
    }

    #[tokio::test]
    async fn each_thread_gets_its_own_frames_and_nothing_else() {
        let router = Router::default();
        let (a, b) = (router.follow(ThreadId::new("a")), router.follow(ThreadId::new("b")));
        router.deliver(delta("a", "one"));
        router.deliver(delta("b", "one"));
        router.deliver(asks("a", 0));
        router.deliver(asks("b", 1));
        router.deliver(delta("a", "two"));
        assert_eq!(taken(&a).await, ["a one", "a asks 0", "a two"]);
        assert_eq!(taken(&b).await, ["b one", "b asks 1"]);
    }

    #[tokio::test]
    async fn what_came_before_anybody_followed_is_not_lost() {
        let router = Router::default();
        router.deliver(notification(r#"{"method":"configWarning","params":{"summary":"s"}}"#));
        router.deliver(delta("a", "one"));
        router.deliver(asks("a", 0));
        router.deliver(delta("b", "one"));
        let early = taken(&router.follow(ThreadId::new("a"))).await;
        assert_eq!(early, ["configWarning", "a one", "a asks 0"]);
    }

    #[tokio::test]
    async fn an_adopted_thread_comes_with_what_waited_for_it() {
        let router = Router::default();
        let parent = router.follow(ThreadId::new("parent"));
        router.deliver(delta("child", "one"));
        router.deliver(asks("child", 0));
        router.adopt(&ThreadId::new("child"), &parent);
        router.deliver(delta("child", "two"));
        router.deliver(asks("child", 1));
        router.deliver(Delivery::Corrupt(Corrupt { reason: "r".to_owned(), bytes: 1 }));
        let all = ["child one", "child asks 0", "child two", "child asks 1", "corrupt r"];
        assert_eq!(taken(&parent).await, all, "and a message for all comes once");
        assert_eq!(router.followers(), 1);
        router.forget(&parent);
        assert_eq!(router.followers(), 0);
    }

    #[tokio::test]
    async fn who_follows_after_the_end_hears_of_it() {
        let router = Router::default();
        router.deliver(Delivery::Gone("killed".to_owned()));
        let batch = router.follow(ThreadId::new("a")).take().await;
        assert!(matches!(batch.front(), Some(Delivery::Gone(why)) if why == "killed"));
    }
}
