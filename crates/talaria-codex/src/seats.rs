//! Who has a place on a host, or was promised one: what the pool counts, and whether it may give out more.
//!
//! A promise lapses when nobody makes use of it, so that a caller that went away does not hold a place for ever.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use talaria_codex_proto::power::SandboxInForce;
use talaria_core::ids::ThreadId;
use tokio::time::Instant;

/// How long a promised place is held.
const PROMISE: Duration = Duration::from_secs(60);

/// The places of a host.
#[derive(Debug, Default)]
pub struct Seats(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    promised: VecDeque<Instant>,
    /// The threads that Codex has loaded, or had, and what holds on them: it alone may write to them.
    loaded: HashMap<ThreadId, SandboxInForce>,
    /// Why no new thread is taken.
    draining: Option<String>,
}

impl Seats {
    /// Holds a place for a thread that will be opened soon.
    pub(crate) fn promise(&self) {
        self.lock().promised.push_back(Instant::now());
    }

    /// How many places are held.
    pub(crate) fn promised(&self) -> usize {
        let mut state = self.lock();
        state.promised.retain(|made| made.elapsed() < PROMISE);
        state.promised.len()
    }

    /// Somebody takes a place: a promise is kept when this is dropped, whatever came of it.
    pub fn take(&self) -> Taking<'_> {
        Taking(self)
    }

    /// Codex has loaded this thread here.
    pub(crate) fn loaded(&self, thread: &ThreadId, sandbox: SandboxInForce) {
        self.lock().loaded.insert(thread.clone(), sandbox);
    }

    /// How many threads Codex has loaded here, as far as is known: it keeps them for a while after nobody follows them.
    pub(crate) fn count(&self) -> usize {
        self.lock().loaded.len()
    }

    /// The threads that were loaded here.
    pub(crate) fn threads(&self) -> Vec<ThreadId> {
        self.lock().loaded.keys().cloned().collect()
    }

    /// Codex has unloaded these threads.
    pub(crate) fn unloaded(&self, threads: &[ThreadId]) {
        self.lock().loaded.retain(|thread, _| !threads.contains(thread));
    }

    /// Was this thread loaded here?
    pub(crate) fn has(&self, thread: &ThreadId) -> bool {
        self.lock().loaded.contains_key(thread)
    }

    /// What commands of a thread may touch that was loaded here.
    pub(crate) fn confinement(&self, thread: &ThreadId) -> Option<SandboxInForce> {
        self.lock().loaded.get(thread).cloned()
    }

    /// Takes no new thread from now on; the first reason stays.
    pub(crate) fn drain(&self, why: &str) {
        self.lock().draining.get_or_insert_with(|| why.to_owned());
    }

    /// Why no new thread is taken.
    pub(crate) fn draining(&self) -> Option<String> {
        self.lock().draining.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that is being opened.
#[derive(Debug)]
#[must_use = "the promise counts until this is dropped"]
pub struct Taking<'a>(&'a Seats);

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        self.0.lock().promised.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_promise_holds_until_it_is_kept_or_lapses() {
        let seats = Seats::default();
        seats.promise();
        seats.promise();
        let taking = seats.take();
        seats.loaded(&ThreadId::new("t"), SandboxInForce::FullAccess);
        assert_eq!(seats.promised(), 2, "held until the thread is open");
        drop(taking);
        assert_eq!((seats.promised(), seats.has(&ThreadId::new("t"))), (1, true));
        seats.unloaded(&seats.threads());
        assert_eq!((seats.count(), seats.has(&ThreadId::new("t"))), (0, false));
        tokio::time::advance(PROMISE).await;
        assert_eq!(seats.promised(), 0);
        drop(seats.take());
        assert_eq!(seats.promised(), 0);
    }
}
