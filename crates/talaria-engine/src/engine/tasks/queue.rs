//! Who may work now: tasks wait here until there is a place, one line for each caller, and the lines take turns.
//!
//! A task that waits for a person occupies no slot, because Codex is idle then; it still holds its conversation, whose
//! number is limited as well. Turns that an earlier engine left running get a slot regardless of the limits. Nothing is
//! persisted here: after a restart the queue is rebuilt from the rows of the turns.
//!
//! The order is fixed when a task is recorded, not when its own async task asks for a slot: until it asks, its
//! position in the queue is reserved, and no later task overtakes it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use talaria_core::api::TaskCounts;
use talaria_core::ids::SessionId;
use tokio::sync::oneshot;

/// How many tasks there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// On which Codex works.
    pub(crate) working: usize,
    /// With those that wait for a person.
    pub(crate) open: usize,
}

/// The lines of those who wait. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Queue(Arc<Mutex<QueueState>>);

#[derive(Debug)]
struct QueueState {
    room: Room,
    working: usize,
    parked: usize,
    /// The next line is first.
    lines: VecDeque<OwnerLine>,
    tickets: u64,
}

#[derive(Debug)]
struct OwnerLine {
    owner: String,
    waiting: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    session: SessionId,
    /// Sends the slot; `None` until the task asks for it.
    place: Option<oneshot::Sender<TaskPlace>>,
}

/// The right to work; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct TaskPlace {
    queue: Option<Queue>,
    is_parked: bool,
}

/// Leaves the line when it is dropped.
struct InLine<'a> {
    queue: &'a Queue,
    ticket: u64,
}

impl Queue {
    pub(crate) fn new(room: Room) -> Self {
        let state = QueueState { room, working: 0, parked: 0, lines: VecDeque::new(), tickets: 0 };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Keeps a place in the line for a task that will come for it.
    pub(crate) fn stand(&self, session: &SessionId, owner: &str) {
        self.lock().line_up(session, owner, None);
    }

    /// Releases the place in the line of a task that does not claim it any more.
    pub(crate) fn leave(&self, session: &SessionId) {
        self.lock().keep(|waiter| waiter.session != *session || waiter.place.is_some());
        self.call_next();
    }

    /// Waits for a place. A task that stops waiting leaves the line.
    pub(crate) async fn enter(&self, session: &SessionId, owner: &str) -> TaskPlace {
        let (place, granted) = oneshot::channel();
        let ticket = {
            let mut state = self.lock();
            let mut waiters = state.lines.iter_mut().flat_map(|line| &mut line.waiting);
            match waiters.find(|waiter| waiter.session == *session && waiter.place.is_none()) {
                Some(kept) => {
                    kept.place = Some(place);
                    kept.ticket
                }
                None => state.line_up(session, owner, Some(place)),
            }
        };
        let _in_line = InLine { queue: self, ticket };
        self.call_next();
        match granted.await {
            Ok(place) => place,
            // A waiter is removed only together with its slot.
            Err(_) => self.enter_at_once(),
        }
    }

    /// Takes a place for a turn that runs already.
    pub(crate) fn enter_at_once(&self) -> TaskPlace {
        self.lock().working += 1;
        TaskPlace { queue: Some(self.clone()), is_parked: false }
    }

    /// How many come before this one, if it waits. One that there is a place for does not wait, although it may not have
    /// come for it yet.
    pub(crate) fn ahead(&self, session: &SessionId) -> Option<usize> {
        let state = self.lock();
        let place_of = |line: &OwnerLine| line.waiting.iter().position(|waiter| waiter.session == *session);
        let (own, depth) =
            state.lines.iter().enumerate().find_map(|(at, line)| Some((at, place_of(line)?)))?;
        // The lines take turns: each has had as many as this one, and those in front of it one more.
        let before = |(at, line): (usize, &OwnerLine)| line.waiting.len().min(depth + usize::from(at < own));
        let own_line = state.lines.get(own).map_or(0, |line| line.waiting.len().min(depth));
        let others = state.lines.iter().enumerate().filter(|(at, _)| *at != own).map(before).sum::<usize>();
        Some(own_line + others).filter(|ahead| *ahead >= state.free())
    }

    pub(crate) fn counts(&self) -> TaskCounts {
        let state = self.lock();
        let queued = state.lines.iter().map(|line| line.waiting.len()).sum();
        TaskCounts { working: state.working, waiting: state.parked, queued }
    }

    /// How many may work.
    pub(crate) fn room(&self) -> usize {
        self.lock().room.working
    }

    /// Is a task waiting?
    pub(crate) fn is_crowded(&self) -> bool {
        !self.lock().lines.is_empty()
    }

    /// Assigns the free places.
    fn call_next(&self) {
        loop {
            // Not in the loop's condition: the lock would be held in its body.
            let next = self.lock().next();
            let Some(waiter) = next else { return };
            let place = TaskPlace { queue: Some(self.clone()), is_parked: false };
            if let Err(mut unwanted) = waiter.send(place) {
                unwanted.queue = None;
                self.lock().working -= 1;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    fn line_up(
        &mut self,
        session: &SessionId,
        owner: &str,
        place: Option<oneshot::Sender<TaskPlace>>,
    ) -> u64 {
        self.tickets += 1;
        let waiter = Waiter { ticket: self.tickets, session: session.clone(), place };
        match self.lines.iter_mut().find(|line| line.owner == owner) {
            Some(line) => line.waiting.push_back(waiter),
            None => self.lines.push_back(OwnerLine { owner: owner.to_owned(), waiting: [waiter].into() }),
        }
        self.tickets
    }

    fn keep(&mut self, stays: impl Fn(&Waiter) -> bool) {
        for line in &mut self.lines {
            line.waiting.retain(&stays);
        }
        self.lines.retain(|line| !line.waiting.is_empty());
    }

    /// How many places there are.
    fn free(&self) -> usize {
        let open = self.room.open.saturating_sub(self.working + self.parked);
        self.room.working.saturating_sub(self.working).min(open)
    }

    /// Takes a place for the next task, if there is one and it has come.
    fn next(&mut self) -> Option<oneshot::Sender<TaskPlace>> {
        if self.free() == 0 {
            return None;
        }
        let place = self.lines.front_mut()?.waiting.front_mut()?.place.take()?;
        let mut line = self.lines.pop_front()?;
        line.waiting.pop_front();
        if !line.waiting.is_empty() {
            self.lines.push_back(line);
        }
        self.working += 1;
        Some(place)
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        let ticket = self.ticket;
        self.queue.lock().keep(|waiter| waiter.ticket != ticket);
        // Others may have waited only because it was the next.
        self.queue.call_next();
    }
}

impl TaskPlace {
    /// It waits for a person, or it does not any more: then it works again whatever the limits say.
    pub(crate) fn set_parked(&mut self, is_parked: bool) {
        let Some(queue) = &self.queue else { return };
        if self.is_parked == is_parked {
            return;
        }
        self.is_parked = is_parked;
        {
            let mut state = queue.lock();
            let change = |count: usize, more: bool| if more { count + 1 } else { count.saturating_sub(1) };
            state.parked = change(state.parked, is_parked);
            state.working = change(state.working, !is_parked);
        }
        queue.call_next();
    }
}

impl Drop for TaskPlace {
    fn drop(&mut self) {
        let Some(queue) = self.queue.take() else { return };
        {
            let mut state = queue.lock();
            let count = if self.is_parked { &mut state.parked } else { &mut state.working };
            *count = count.saturating_sub(1);
        }
        queue.call_next();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use proptest::prelude::*;

    use super::*;

    type Waiting<'a> = Pin<Box<dyn Future<Output = TaskPlace> + 'a>>;

    fn session(name: &str) -> SessionId {
        SessionId::new(name)
    }

    fn enter<'a>(queue: &'a Queue, name: &str, owner: &'a str) -> Waiting<'a> {
        let session = session(name);
        Box::pin(async move { queue.enter(&session, owner).await })
    }

    /// Gets in line, where there is no place.
    fn wait<'a>(queue: &'a Queue, name: &str, owner: &'a str) -> Waiting<'a> {
        let mut waiting = enter(queue, name, owner);
        assert!(poll(&mut waiting).is_none());
        waiting
    }

    fn poll(waiting: &mut Waiting<'_>) -> Option<TaskPlace> {
        match waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(place) => Some(place),
            Poll::Pending => None,
        }
    }

    fn queue(working: usize, open: usize) -> Queue {
        Queue::new(Room { working, open })
    }

    #[test]
    fn callers_take_turns_and_each_is_served_in_order() {
        let queue = queue(1, 10);
        let first = queue.enter_at_once();
        let names = ["a1", "a2", "a3", "b1", "c1", "b2"];
        let mut waiting: Vec<_> = names.iter().map(|name| (*name, wait(&queue, name, &name[..1]))).collect();
        let ahead: Vec<_> = names.iter().map(|name| queue.ahead(&session(name)).unwrap()).collect();
        assert_eq!(ahead, [0, 3, 5, 1, 2, 4]);
        let mut served = Vec::new();
        let mut place = Some(first);
        while let Some(held) = place.take() {
            drop(held);
            for (name, waiting) in &mut waiting {
                if !served.contains(name)
                    && let Some(granted) = poll(waiting)
                {
                    served.push(*name);
                    place = Some(granted);
                }
            }
        }
        assert_eq!(served, ["a1", "b1", "c1", "a2", "b2", "a3"]);
        assert_eq!(queue.counts(), TaskCounts::default());
    }

    #[test]
    fn who_waits_for_a_person_makes_room_and_who_goes_on_is_not_held_up() {
        let queue = queue(1, 2);
        let mut first = queue.enter_at_once();
        let mut second = wait(&queue, "s", "a");
        let mut third = wait(&queue, "t", "a");
        first.set_parked(true);
        let granted = poll(&mut second).unwrap();
        assert!(poll(&mut third).is_none(), "two conversations are open");
        first.set_parked(false);
        assert_eq!(queue.counts(), TaskCounts { working: 2, waiting: 0, queued: 1 });
        drop(first);
        assert!(poll(&mut third).is_none(), "one works still");
        drop(granted);
        assert!(poll(&mut third).is_some());
    }

    #[test]
    fn a_waiter_that_is_dropped_leaves_the_queue() {
        let queue = queue(1, 5);
        let held = queue.enter_at_once();
        let leaving = wait(&queue, "s", "a");
        let mut staying = wait(&queue, "t", "b");
        assert_eq!(queue.ahead(&session("t")), Some(1));
        drop(leaving);
        assert_eq!((queue.ahead(&session("t")), queue.ahead(&session("s"))), (Some(0), None));
        drop(held);
        // A slot that was granted and not accepted passes to the next waiter.
        let gone = wait(&queue, "u", "b");
        drop(poll(&mut staying));
        drop(gone);
        assert_eq!(queue.counts(), TaskCounts::default());
        assert!(!queue.is_crowded());
    }

    #[test]
    fn the_task_that_was_recorded_first_is_first_even_if_it_arrives_late() {
        let queue = queue(2, 5);
        let held = queue.enter_at_once();
        for name in ["s", "t"] {
            queue.stand(&session(name), "a");
        }
        assert_eq!((queue.ahead(&session("s")), queue.ahead(&session("t"))), (None, Some(1)));
        let mut second = wait(&queue, "t", "a");
        let mut first = enter(&queue, "s", "a");
        let place = poll(&mut first).unwrap();
        assert!(poll(&mut second).is_none());
        drop(held);
        assert!(poll(&mut second).is_some());
        drop(place);
        assert_eq!(queue.counts(), TaskCounts::default());
    }

    #[test]
    fn a_task_that_never_comes_for_its_place_blocks_no_other() {
        let queue = queue(1, 5);
        queue.stand(&session("s"), "a");
        let mut second = wait(&queue, "t", "b");
        queue.leave(&session("s"));
        assert!(poll(&mut second).is_some());
    }

    #[test]
    fn a_place_for_somebody_who_just_left_goes_to_the_next() {
        let queue = queue(1, 5);
        let held = queue.enter_at_once();
        let (place, granted) = oneshot::channel();
        queue.lock().line_up(&session("s"), "a", Some(place));
        // It stops waiting, and has not left the line yet.
        drop(granted);
        let mut second = wait(&queue, "t", "b");
        drop(held);
        assert!(poll(&mut second).is_some());
    }

    proptest! {
        #[test]
        fn whatever_happens_the_limits_hold_and_nobody_is_forgotten(
            steps in proptest::collection::vec((0..5u8, 0..4usize), 1..60)
        ) {
            let queue = queue(2, 3);
            let owners = ["a", "b", "c", "d"];
            let (mut waiting, mut places): (Vec<Waiting<'_>>, Vec<TaskPlace>) = (Vec::new(), Vec::new());
            for (step, which) in steps {
                let at = which % places.len().max(1);
                let place = places.get_mut(at);
                match (step, place) {
                    (0 | 1, _) => waiting.push(enter(&queue, &format!("s{which}"), owners[which])),
                    (2, Some(place)) => place.set_parked(true),
                    (3, Some(_)) => drop(places.remove(at)),
                    (4, _) if !waiting.is_empty() => drop(waiting.remove(which % waiting.len())),
                    _ => {}
                }
                waiting.retain_mut(|waiting| match poll(waiting) {
                    Some(place) => { places.push(place); false }
                    None => true,
                });
                let counts = queue.counts();
                prop_assert_eq!(counts.working + counts.waiting, places.len());
                prop_assert_eq!(counts.queued, waiting.len());
                prop_assert!(counts.working <= 2 && places.len() <= 3);
                prop_assert!(waiting.is_empty() || counts.working == 2 || places.len() == 3);
            }
        }
    }
}
