//! The sessions that are at work or being followed: who runs them, and how they are reached.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use talaria_core::ids::SessionId;
use tokio::sync::broadcast::Receiver;
use tokio::sync::{Notify, mpsc};

use crate::engine::journal::feed::{EventLine, Feed};
use crate::engine::tasks::queue::Place;
use talaria_codex::conversation::Command;
use talaria_codex::spec::Surroundings;

/// Something for the task of a session to do.
#[derive(Debug)]
pub(crate) enum Work {
    /// A turn was recorded. The environment is that of the command that asked for it.
    Turn(Surroundings),
    /// An engine that is gone left commands running in the background.
    Background,
    /// A review of finished turns is on record.
    Review,
    /// An engine that is gone left turns without an outcome; the place is that of a task of which one runs.
    Recover(Option<Place>),
}

/// How a session is reached.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seat {
    pub(crate) feed: Feed,
    work: Option<mpsc::UnboundedSender<Work>>,
    /// To the turn that runs, or is about to.
    commands: Arc<Mutex<Option<mpsc::UnboundedSender<Command>>>>,
    /// Work that was given and is not done.
    undone: Arc<AtomicUsize>,
    /// Reviews that run: they keep the engine alive and delay no turn.
    reviews: Arc<AtomicUsize>,
    /// Notified when a turn opens or closes, and when work is done.
    changed: Arc<Notify>,
}

impl Seat {
    /// Opens the channel to a turn that begins; commands that arrive before the turn is sent count, too.
    pub(crate) fn open(&self) -> mpsc::UnboundedReceiver<Command> {
        // Unbounded in type, bounded by use: a command is a call of a client, whose number the server limits, or
        // an answer that is on record. None may be dropped, and the sender cannot wait while it holds the lock.
        let (sender, receiver) = mpsc::unbounded_channel();
        *lock(&self.commands) = Some(sender);
        self.changed.notify_waiters();
        receiver
    }

    /// Closes it.
    pub(crate) fn close(&self) {
        *lock(&self.commands) = None;
        self.changed.notify_waiters();
    }

    /// Work that was given is done.
    pub(crate) fn done(&self) {
        self.undone.fetch_sub(1, Ordering::AcqRel);
        self.changed.notify_waiters();
    }

    fn is_at_work(&self) -> bool {
        self.is_open() || self.undone.load(Ordering::Acquire) > 0
    }

    /// Does a turn run, or is about to?
    pub(crate) fn is_open(&self) -> bool {
        lock(&self.commands).is_some()
    }

    /// Counts a review until the guard is dropped.
    pub(crate) fn begin_review(&self) -> ReviewGuard {
        self.reviews.fetch_add(1, Ordering::AcqRel);
        ReviewGuard(Arc::clone(&self.reviews))
    }

    fn has_review(&self) -> bool {
        self.reviews.load(Ordering::Acquire) > 0
    }

    fn is_needed(&self) -> bool {
        self.work.is_some() || self.is_open() || self.feed.has_followers()
    }

    /// Sends the turn a command; `false` if none runs.
    pub(crate) fn tell(&self, command: Command) -> bool {
        lock(&self.commands).as_ref().is_some_and(|commands| commands.send(command).is_ok())
    }
}

/// A review that runs.
pub(crate) struct ReviewGuard(Arc<AtomicUsize>);

impl Drop for ReviewGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The sessions that are at work or being followed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Desk {
    seats: Arc<Mutex<HashMap<SessionId, Seat>>>,
    changed: Arc<Notify>,
}

impl Desk {
    /// Follows what is published of a session; makes its place if it has none.
    pub(crate) fn subscribe(&self, session: &SessionId) -> Receiver<EventLine> {
        let mut seats = lock(&self.seats);
        if !seats.contains_key(session) {
            // They had a follower once.
            seats.retain(|_, seat| seat.is_needed());
        }
        self.seat(&mut seats, session).feed.subscribe()
    }

    /// Where what happens in a session is published.
    pub(crate) fn feed(&self, session: &SessionId) -> Feed {
        self.seat(&mut lock(&self.seats), session).feed.clone()
    }

    /// Sends the turn of a session a command; `false` if none runs.
    pub(crate) fn tell(&self, session: &SessionId, command: Command) -> bool {
        lock(&self.seats).get(session).is_some_and(|seat| seat.tell(command))
    }

    /// Is a turn of a session about to begin that does not accept commands yet?
    pub(crate) fn is_about_to_begin(&self, session: &SessionId) -> bool {
        lock(&self.seats).get(session).is_some_and(|seat| seat.is_at_work() && !seat.is_open())
    }

    /// Queues work for the task of a session. If it has none, `start` gets its inbox and starts one.
    pub(crate) fn give(
        &self,
        session: &SessionId,
        work: Work,
        start: impl FnOnce(Seat, mpsc::UnboundedReceiver<Work>),
    ) {
        let mut seats = lock(&self.seats);
        let seat = self.seat(&mut seats, session);
        seat.undone.fetch_add(1, Ordering::AcqRel);
        let work = match &seat.work {
            Some(inbox) => match inbox.send(work) {
                Ok(()) => return,
                // Its task has ended.
                Err(back) => back.0,
            },
            None => work,
        };
        // Unbounded in type, bounded by use: each piece of work is a turn or a command that is on record.
        let (inbox, receiver) = mpsc::unbounded_channel();
        // The receiver is right here.
        let _ = inbox.send(work);
        seat.work = Some(inbox);
        start(seat.clone(), receiver);
    }

    /// Ends the task of a session unless work arrived in the meantime, which is returned.
    pub(crate) fn leave(
        &self,
        session: &SessionId,
        inbox: &mut mpsc::UnboundedReceiver<Work>,
    ) -> Option<Work> {
        let mut seats = lock(&self.seats);
        if let Ok(work) = inbox.try_recv() {
            return Some(work);
        }
        let is_followed = seats.get(session).is_some_and(|seat| seat.feed.has_followers());
        if is_followed {
            if let Some(seat) = seats.get_mut(session) {
                seat.work = None;
            }
        } else {
            seats.remove(session);
        }
        None
    }

    /// Sends every running turn a command. Returns how many there are.
    pub(crate) fn tell_all(&self, command: impl Fn() -> Command) -> usize {
        lock(&self.seats).values().filter(|seat| seat.tell(command())).count()
    }

    /// How many turns run, or are about to.
    pub(crate) fn running(&self) -> usize {
        lock(&self.seats).values().filter(|seat| seat.is_open()).count()
    }

    /// Waits until a turn that was recorded accepts commands; its task may not have begun with it.
    pub(crate) async fn until_begun(&self, session: &SessionId) {
        self.until(|desk| !desk.is_about_to_begin(session)).await;
    }

    /// Waits until no turn runs.
    pub(crate) async fn until_none_runs(&self) {
        self.until(|desk| desk.running() == 0).await;
    }

    async fn until(&self, holds: impl Fn(&Self) -> bool) {
        loop {
            // Made before it is looked: a change in between is not missed.
            let changed = self.changed.notified();
            if holds(self) {
                return;
            }
            changed.await;
        }
    }

    fn seat<'a>(&self, seats: &'a mut HashMap<SessionId, Seat>, session: &SessionId) -> &'a mut Seat {
        let seat = || Seat { changed: Arc::clone(&self.changed), ..Seat::default() };
        seats.entry(session.clone()).or_insert_with(seat)
    }

    /// Is anything at work or followed?
    pub(crate) fn is_busy(&self) -> bool {
        let is_busy = |seat: &Seat| seat.is_at_work() || seat.has_review() || seat.feed.has_followers();
        lock(&self.seats).values().any(is_busy)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use talaria_core::request::Who;

    #[tokio::test]
    async fn a_task_that_leaves_takes_the_work_that_came_in_the_meantime() {
        let (desk, session) = (Desk::default(), SessionId::new("s"));
        let mut inboxes = Vec::new();
        desk.give(&session, Work::Recover(None), |_, inbox| inboxes.push(inbox));
        desk.give(&session, Work::Recover(None), |_, _| panic!("there is a task already"));
        let mut inbox = inboxes.pop().unwrap();
        assert!(inbox.recv().await.is_some());
        assert!(desk.leave(&session, &mut inbox).is_some());
        assert!(desk.leave(&session, &mut inbox).is_none());
        let mut started = false;
        desk.give(&session, Work::Recover(None), |_, _| started = true);
        assert!(started);
    }

    #[tokio::test]
    async fn only_a_turn_that_runs_is_told_something() {
        let (desk, session) = (Desk::default(), SessionId::new("s"));
        let mut seats = Vec::new();
        let stop = || Command::Interrupt { by: Who::User };
        assert!(!desk.tell(&session, stop()));
        desk.give(&session, Work::Recover(None), |seat, _| seats.push(seat));
        let seat = seats.pop().unwrap();
        assert!(desk.is_busy(), "work that waits counts");
        seat.done();
        assert!(!desk.tell(&session, stop()));
        let mut commands = seat.open();
        assert_eq!((desk.tell_all(stop), desk.running()), (1, 1));
        assert!(commands.recv().await.is_some());
        seat.close();
        assert!(!desk.tell(&session, stop()) && !desk.is_busy());
    }

    #[tokio::test]
    async fn who_waits_for_a_turn_is_woken_when_it_opens_and_when_it_closes() {
        let (desk, session) = (Desk::default(), SessionId::new("s"));
        let mut seats = Vec::new();
        desk.give(&session, Work::Recover(None), |seat, _| seats.push(seat));
        let seat = seats.pop().unwrap();
        let mut begun = Box::pin(desk.until_begun(&session));
        assert!(begun.as_mut().now_or_never().is_none(), "its task has not begun with it");
        let _commands = seat.open();
        begun.await;
        let mut none = Box::pin(desk.until_none_runs());
        assert!(none.as_mut().now_or_never().is_none());
        seat.close();
        none.await;
    }

    #[tokio::test]
    async fn whoever_was_followed_once_is_forgotten_when_the_next_is() {
        let desk = Desk::default();
        let sessions: Vec<SessionId> = (0..50).map(|n| SessionId::new(n.to_string())).collect();
        let kept = desk.subscribe(&sessions[0]);
        desk.give(&sessions[1], Work::Recover(None), |_, _| {});
        for session in &sessions {
            drop(desk.subscribe(session));
        }
        assert_eq!(lock(&desk.seats).len(), 3, "the one that is followed, the one with a task, the last one");
        drop(kept);
    }
}
