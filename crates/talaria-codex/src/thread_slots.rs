//! The thread slots of a host: which threads it has loaded, which slots are reserved, and whether it accepts more.
//!
//! The pool counts them to choose a host. An unused reservation expires, so that a dropped caller does not occupy a slot
//! indefinitely.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use talaria_codex_proto::power::SandboxInForce;
use talaria_core::ids::ThreadId;
use tokio::time::Instant;

/// How long a reservation is held.
const RESERVATION: Duration = Duration::from_secs(60);

/// The loaded threads and reserved slots of one host.
#[derive(Debug, Default)]
pub struct ThreadSlots(Mutex<SlotsState>);

#[derive(Debug, Default)]
struct SlotsState {
    reserved: VecDeque<Instant>,
    /// Threads that Codex has (or had) loaded, with the sandbox in force. Only this process may write to them.
    loaded: HashMap<ThreadId, SandboxInForce>,
    /// Why no new thread is accepted.
    draining: Option<String>,
}

impl ThreadSlots {
    /// Reserves a slot for a thread that will be opened soon.
    pub(crate) fn reserve(&self) {
        self.lock().reserved.push_back(Instant::now());
    }

    /// Returns the number of reserved slots.
    pub(crate) fn reserved(&self) -> usize {
        let mut state = self.lock();
        state.reserved.retain(|made| made.elapsed() < RESERVATION);
        state.reserved.len()
    }

    /// Starts to open a thread. One reservation is released when the returned guard is dropped, whatever the result.
    pub fn begin_opening(&self) -> ThreadOpening<'_> {
        ThreadOpening(self)
    }

    /// Records that Codex has loaded this thread here.
    pub(crate) fn loaded(&self, thread: &ThreadId, sandbox: SandboxInForce) {
        self.lock().loaded.insert(thread.clone(), sandbox);
    }

    /// Returns how many threads Codex has loaded here, as far as is known. It keeps a thread for a while after the last
    /// subscriber has left.
    pub(crate) fn count(&self) -> usize {
        self.lock().loaded.len()
    }

    /// Returns the threads that were loaded here.
    pub(crate) fn threads(&self) -> Vec<ThreadId> {
        self.lock().loaded.keys().cloned().collect()
    }

    /// Records that Codex has unloaded these threads.
    pub(crate) fn unloaded(&self, threads: &[ThreadId]) {
        self.lock().loaded.retain(|thread, _| !threads.contains(thread));
    }

    /// Returns the sandbox in force for the commands of a thread that was loaded here.
    pub(crate) fn confinement(&self, thread: &ThreadId) -> Option<SandboxInForce> {
        self.lock().loaded.get(thread).cloned()
    }

    /// Accepts no new thread from now on; the first reason is kept.
    pub(crate) fn drain(&self, why: &str) {
        self.lock().draining.get_or_insert_with(|| why.to_owned());
    }

    /// Returns why no new thread is accepted.
    pub(crate) fn draining(&self) -> Option<String> {
        self.lock().draining.clone()
    }

    fn lock(&self) -> MutexGuard<'_, SlotsState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that is being opened; releases one reservation when dropped.
#[derive(Debug)]
#[must_use = "the reservation counts until this is dropped"]
pub struct ThreadOpening<'a>(&'a ThreadSlots);

impl Drop for ThreadOpening<'_> {
    fn drop(&mut self) {
        self.0.lock().reserved.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_reservation_holds_until_it_is_used_or_expires() {
        let thread_slots = ThreadSlots::default();
        thread_slots.reserve();
        thread_slots.reserve();
        let opening = thread_slots.begin_opening();
        thread_slots.loaded(&ThreadId::new("t"), SandboxInForce::FullAccess);
        assert_eq!(thread_slots.reserved(), 2, "held until the thread is open");
        drop(opening);
        assert_eq!(
            (thread_slots.reserved(), thread_slots.confinement(&ThreadId::new("t")).is_some()),
            (1, true)
        );
        thread_slots.unloaded(&thread_slots.threads());
        assert_eq!(
            (thread_slots.count(), thread_slots.confinement(&ThreadId::new("t")).is_some()),
            (0, false)
        );
        tokio::time::advance(RESERVATION).await;
        assert_eq!(thread_slots.reserved(), 0);
        drop(thread_slots.begin_opening());
        assert_eq!(thread_slots.reserved(), 0);
    }
}
