//! The loop that delivers: claims what is due, sends it, keeps what became of it, and sleeps until something is due.
//!
//! Four attempts run at once, but never two to one target: a slow or silent receiver delays only its own notices.
//! Claimed entries that cannot be sent soon are released. When asked to stop it waits briefly for attempts in progress;
//! one that does not end stays claimed, so that the next engine marks it as a possible repeat. The time of day only
//! decides which entries are due: no clock change sends anything twice.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::attempt::{Fate, attempt, fate};
use super::outbox::{Outbox, OutboxError, Owed};
use super::{NotifyError, Receipt, Senders};
use talaria_home::clock::{chance, now_ms};

/// How many attempts run at once.
const AT_ONCE: usize = 4;
/// How many claimed entries wait for one that is being sent to the same target.
const BEHIND: usize = 512;
/// Duration of a claim: longer than the time limit of everything that waits for a target.
const CLAIM: Duration = Duration::from_mins(10);
/// Delay of an entry whose target is busy.
const AWAY: Duration = Duration::from_secs(30);
/// The clock may jump, and an outbox may forget to nudge: it is looked at this often at least.
const LOOK: Duration = Duration::from_mins(1);
/// The pause before an outbox that failed, or that did not return what it promised, is read again.
const AGAIN: Duration = Duration::from_secs(1);

/// The entry, and the result of the attempt.
type Ended = (Owed, Result<Receipt, NotifyError>);

/// The ways out, as they are configured now: a person may mend what is missing between two attempts.
type Ways = Box<dyn Fn() -> Arc<Senders> + Send + Sync>;

/// Delivers what is owed. The engine runs one.
pub struct Deliverer<O> {
    outbox: O,
    senders: Ways,
    /// Who claims: the name of this engine.
    name: String,
    nudge: Arc<Notify>,
    running: JoinSet<Ended>,
    /// Attempts in progress, by async task: id and target.
    in_hand: HashMap<Id, (String, String)>,
    /// Entries that wait for a target that is being sent to.
    behind: VecDeque<Owed>,
}

/// Attempts left when a deliverer stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryLeftovers {
    /// Attempts that did not end in time; they stay claimed.
    pub cut_off: usize,
    /// Released claims.
    pub released: usize,
}

impl<O: Outbox> Deliverer<O> {
    /// Makes a deliverer that claims as `name`; `nudge` wakes it when something new is owed. `senders` is asked before
    /// each attempt.
    pub fn new(
        outbox: O,
        senders: impl Fn() -> Arc<Senders> + Send + Sync + 'static,
        name: impl Into<String>,
        nudge: Arc<Notify>,
    ) -> Self {
        let (running, in_hand, behind) = (JoinSet::new(), HashMap::new(), VecDeque::new());
        Self { outbox, senders: Box::new(senders), name: name.into(), nudge, running, in_hand, behind }
    }

    /// Delivers until `stop` is cancelled, then releases the claims that it has not begun.
    pub async fn run(mut self, stop: CancellationToken) -> DeliveryLeftovers {
        loop {
            let wait = match self.start_due().await {
                Ok(wait) => wait,
                Err(error) => {
                    tracing::warn!(%error, "the outbox cannot be read");
                    AGAIN
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return self.wind_up().await,
                Some(ended) = self.running.join_next_with_id() => self.settle(ended).await,
                () = self.nudge.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Starts what can be started, and says how long nothing else will be due.
    async fn start_due(&mut self) -> Result<Duration, OutboxError> {
        self.start_waiting();
        loop {
            let free = AT_ONCE.saturating_sub(self.running.len());
            if free == 0 {
                // The end of an attempt is what wakes it.
                return Ok(LOOK);
            }
            let now = now_ms();
            let limit = u32::try_from(free).unwrap_or(u32::MAX);
            let busy: Vec<String> = self.busy().into_iter().collect();
            let claimed =
                self.outbox.claim(&self.name, now, now.saturating_add(millis(CLAIM)), limit, &busy).await?;
            if claimed.is_empty() {
                break;
            }
            for owed in claimed {
                self.take(owed, now).await;
            }
            self.start_waiting();
        }
        let due = self.outbox.next_due().await?;
        let wait = due.map_or(LOOK, |due| Duration::from_millis(u64::try_from(due - now_ms()).unwrap_or(0)));
        // Entries that are due and were not returned are for a busy target, or claimed elsewhere.
        Ok(wait.clamp(AGAIN, LOOK))
    }

    /// Decides whether a claimed entry is sent, queued or released.
    async fn take(&mut self, owed: Owed, now: i64) {
        if self.holds(&owed.id) {
            // The clock jumped over our own claim; it is ours still, and longer.
            return;
        }
        if self.behind.iter().filter(|waiting| waiting.target == owed.target).count() < BEHIND {
            self.behind.push_back(owed);
            return;
        }
        let due_at = now.saturating_add(millis(AWAY));
        self.note(&owed.id, self.outbox.release(&self.name, &owed.id, due_at).await);
    }

    /// Starts what waits for a place, in its order.
    fn start_waiting(&mut self) {
        let mut rest = VecDeque::new();
        while let Some(owed) = self.behind.pop_front() {
            let is_busy = self.in_hand.values().any(|(_, target)| *target == owed.target);
            if is_busy || self.running.len() >= AT_ONCE {
                rest.push_back(owed);
                continue;
            }
            let (id, target, senders) = (owed.id.clone(), owed.target.clone(), (self.senders)());
            let task = self.running.spawn(async move {
                let result = attempt(&senders, &owed).await;
                (owed, result)
            });
            self.in_hand.insert(task.id(), (id, target));
        }
        self.behind = rest;
    }

    /// Keeps what became of an attempt.
    async fn settle(&mut self, ended: Result<(Id, Ended), JoinError>) {
        let (task, (owed, result)) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                // Its claim runs out, and then it is a possible repeat, which is the truth.
                self.in_hand.remove(&error.id());
                tracing::error!(%error, "an attempt to notify failed");
                return;
            }
        };
        let now = now_ms();
        let kept = match fate(result, owed.attempts, (self.senders)().retry_policy(), now, chance()) {
            Fate::Sent(receipt) => {
                tracing::debug!(id = owed.id, note = receipt.note, "notified");
                self.outbox.sent(&self.name, &owed.id, now).await
            }
            Fate::Failed { due_at, error } => {
                tracing::info!(id = owed.id, error, "a notification failed and is tried again");
                self.outbox.failed(&self.name, &owed.id, due_at, &error).await
            }
            Fate::Abandoned { error } => {
                tracing::warn!(id = owed.id, error, "a notification was abandoned");
                self.outbox.abandoned(&self.name, &owed.id, now, &error).await
            }
        };
        self.note(&owed.id, kept);
        // Only now: an entry that is sent and not yet marked must not be taken for a new one.
        self.in_hand.remove(&task);
    }

    async fn wind_up(mut self) -> DeliveryLeftovers {
        let released = self.behind.len();
        let now = now_ms();
        for owed in std::mem::take(&mut self.behind) {
            self.note(&owed.id, self.outbox.release(&self.name, &owed.id, now).await);
        }
        let limit = (self.senders)().limits.stop;
        let ending = async {
            while let Some(ended) = self.running.join_next_with_id().await {
                self.settle(ended).await;
            }
        };
        // Attempts that are cut off stay claimed: it is not known whether they arrived.
        tokio::time::timeout(limit, ending).await.unwrap_or_default();
        DeliveryLeftovers { cut_off: self.in_hand.len(), released }
    }

    fn holds(&self, id: &str) -> bool {
        self.in_hand.values().any(|(held, _)| held == id) || self.behind.iter().any(|owed| owed.id == id)
    }

    fn busy(&self) -> HashSet<String> {
        let sending = self.in_hand.values().map(|(_, target)| target.clone());
        sending.chain(self.behind.iter().map(|owed| owed.target.clone())).collect()
    }

    fn note(&self, id: &str, kept: Result<(), OutboxError>) {
        if let Err(error) = kept {
            tracing::warn!(id, %error, "the outbox did not record the result of a notification");
        }
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
