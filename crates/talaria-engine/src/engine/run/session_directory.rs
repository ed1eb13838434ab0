//! The sessions that are at work or being followed: who runs them, and how they are reached.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use talaria_core::ids::SessionId;
use tokio::sync::broadcast::Receiver;
use tokio::sync::{Notify, mpsc};

use crate::engine::journal::feed::{EventLine, Feed};
use crate::engine::tasks::queue::TaskPlace;
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
    /// A turn was undone: the thread that was open is not the conversation's any more.
    Rewound,
    /// An engine that is gone left turns without an outcome; the place is that of a task of which one runs.
    Recover(Option<TaskPlace>),
}

/// How a session is reached.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionHandle {
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

impl SessionHandle {
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
pub(crate) struct SessionDirectory {
    handles: Arc<Mutex<HashMap<SessionId, SessionHandle>>>,
    changed: Arc<Notify>,
}

impl SessionDirectory {
    /// Follows what is published of a session; makes its place if it has none.
    pub(crate) fn subscribe(&self, session: &SessionId) -> Receiver<EventLine> {
        let mut handles = lock(&self.handles);
        if !handles.contains_key(session) {
            // They had a follower once.
            handles.retain(|_, handle| handle.is_needed());
        }
        self.handle(&mut handles, session).feed.subscribe()
    }

    /// Where what happens in a session is published.
    pub(crate) fn feed(&self, session: &SessionId) -> Feed {
        self.handle(&mut lock(&self.handles), session).feed.clone()
    }

    /// Sends the turn of a session a command; `false` if none runs.
    pub(crate) fn tell(&self, session: &SessionId, command: Command) -> bool {
        lock(&self.handles).get(session).is_some_and(|handle| handle.tell(command))
    }

    /// Is a turn of a session about to begin that does not accept commands yet?
    pub(crate) fn is_about_to_begin(&self, session: &SessionId) -> bool {
        lock(&self.handles).get(session).is_some_and(|handle| handle.is_at_work() && !handle.is_open())
    }

    /// Queues work for the task of a session. If it has none, `start` gets its inbox and starts one.
    pub(crate) fn give(
        &self,
        session: &SessionId,
        work: Work,
        start: impl FnOnce(SessionHandle, mpsc::UnboundedReceiver<Work>),
    ) {
        let mut handles = lock(&self.handles);
        let handle = self.handle(&mut handles, session);
        handle.undone.fetch_add(1, Ordering::AcqRel);
        let work = match &handle.work {
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
        handle.work = Some(inbox);
        start(handle.clone(), receiver);
    }

    /// Ends the task of a session unless work arrived in the meantime, which is returned.
    pub(crate) fn leave(
        &self,
        session: &SessionId,
        inbox: &mut mpsc::UnboundedReceiver<Work>,
    ) -> Option<Work> {
        let mut handles = lock(&self.handles);
        if let Ok(work) = inbox.try_recv() {
            return Some(work);
        }
        let is_followed = handles.get(session).is_some_and(|handle| handle.feed.has_followers());
        if is_followed {
            if let Some(handle) = handles.get_mut(session) {
                handle.work = None;
            }
        } else {
            handles.remove(session);
        }
        None
    }

    /// Sends every running turn a command. Returns how many there are.
    pub(crate) fn tell_all(&self, command: impl Fn() -> Command) -> usize {
        lock(&self.handles).values().filter(|handle| handle.tell(command())).count()
    }

    /// How many turns run, or are about to.
    pub(crate) fn running(&self) -> usize {
        lock(&self.handles).values().filter(|handle| handle.is_open()).count()
    }

    /// Waits until a turn that was recorded accepts commands; its task may not have begun with it.
    pub(crate) async fn until_begun(&self, session: &SessionId) {
        self.until(|directory| !directory.is_about_to_begin(session)).await;
    }

    /// Waits until no turn runs.
    pub(crate) async fn until_none_runs(&self) {
        self.until(|directory| directory.running() == 0).await;
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

    fn handle<'a>(
        &self,
        handles: &'a mut HashMap<SessionId, SessionHandle>,
        session: &SessionId,
    ) -> &'a mut SessionHandle {
        let handle = || SessionHandle { changed: Arc::clone(&self.changed), ..SessionHandle::default() };
        handles.entry(session.clone()).or_insert_with(handle)
    }

    /// Is anything at work or followed?
    pub(crate) fn is_busy(&self) -> bool {
        let is_busy = |handle: &SessionHandle| {
            handle.is_at_work() || handle.has_review() || handle.feed.has_followers()
        };
        lock(&self.handles).values().any(is_busy)
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
        let (directory, session) = (SessionDirectory::default(), SessionId::new("s"));
        let mut inboxes = Vec::new();
        directory.give(&session, Work::Recover(None), |_, inbox| inboxes.push(inbox));
        directory.give(&session, Work::Recover(None), |_, _| panic!("there is a task already"));
        let mut inbox = inboxes.pop().unwrap();
        assert!(inbox.recv().await.is_some());
        assert!(directory.leave(&session, &mut inbox).is_some());
        assert!(directory.leave(&session, &mut inbox).is_none());
        let mut started = false;
        directory.give(&session, Work::Recover(None), |_, _| started = true);
        assert!(started);
    }

    #[tokio::test]
    async fn only_a_turn_that_runs_is_told_something() {
        let (directory, session) = (SessionDirectory::default(), SessionId::new("s"));
        let mut handles = Vec::new();
        let stop = || Command::Interrupt { by: Who::User };
        assert!(!directory.tell(&session, stop()));
        directory.give(&session, Work::Recover(None), |handle, _| handles.push(handle));
        let handle = handles.pop().unwrap();
        assert!(directory.is_busy(), "work that waits counts");
        handle.done();
        assert!(!directory.tell(&session, stop()));
        let mut commands = handle.open();
        assert_eq!((directory.tell_all(stop), directory.running()), (1, 1));
        assert!(commands.recv().await.is_some());
        handle.close();
        assert!(!directory.tell(&session, stop()) && !directory.is_busy());
    }

    #[tokio::test]
    async fn who_waits_for_a_turn_is_woken_when_it_opens_and_when_it_closes() {
        let (directory, session) = (SessionDirectory::default(), SessionId::new("s"));
        let mut handles = Vec::new();
        directory.give(&session, Work::Recover(None), |handle, _| handles.push(handle));
        let handle = handles.pop().unwrap();
        let mut begun = Box::pin(directory.until_begun(&session));
        assert!(begun.as_mut().now_or_never().is_none(), "its task has not begun with it");
        let _commands = handle.open();
        begun.await;
        let mut none = Box::pin(directory.until_none_runs());
        assert!(none.as_mut().now_or_never().is_none());
        handle.close();
        none.await;
    }

    #[tokio::test]
    async fn a_session_without_followers_is_forgotten_when_the_next_loses_its_own() {
        let directory = SessionDirectory::default();
        let sessions: Vec<SessionId> = (0..50).map(|n| SessionId::new(n.to_string())).collect();
        let kept = directory.subscribe(&sessions[0]);
        directory.give(&sessions[1], Work::Recover(None), |_, _| {});
        for session in &sessions {
            drop(directory.subscribe(session));
        }
        assert_eq!(
            lock(&directory.handles).len(),
            3,
            "the one that is followed, the one with a task, the last one"
        );
        drop(kept);
    }
}
