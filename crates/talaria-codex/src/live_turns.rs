//! Counts the turns that run on a host, so that no process is ended under another thread's turn.
//!
//! A turn counts for as long as its guard lives, also when its task is dropped or panics.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use talaria_core::ids::ThreadId;

/// The running turns of one host, by thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveTurns(Arc<Mutex<Turns>>);

#[derive(Debug, Default)]
struct Turns {
    running: HashMap<ThreadId, usize>,
    /// Threads with commands that outlived their turns.
    background: HashMap<ThreadId, usize>,
    /// No turn may begin here any more.
    is_retired: bool,
}

/// Counts a turn as running until it is dropped.
#[derive(Debug)]
#[must_use = "the turn counts only as long as this lives"]
pub struct TurnGuard {
    turns: LiveTurns,
    thread: ThreadId,
}

/// Counts the background commands of a thread until it is dropped.
#[derive(Debug)]
#[must_use = "they count only as long as this lives"]
pub struct BackgroundGuard {
    turns: LiveTurns,
    thread: ThreadId,
}

impl LiveTurns {
    /// Counts a thread with background commands: they end with the process, so it is not idle.
    pub(crate) fn hold(&self, thread: &ThreadId) -> BackgroundGuard {
        *self.lock().background.entry(thread.clone()).or_default() += 1;
        BackgroundGuard { turns: self.clone(), thread: thread.clone() }
    }

    /// Counts a turn of this thread.
    pub(crate) fn enter(&self, thread: &ThreadId) -> TurnGuard {
        *self.lock().running.entry(thread.clone()).or_default() += 1;
        TurnGuard { turns: self.clone(), thread: thread.clone() }
    }

    /// Returns whether a turn or background command of another thread runs.
    pub(crate) fn has_others(&self, thread: &ThreadId) -> bool {
        let turns = self.lock();
        turns.running.keys().chain(turns.background.keys()).any(|other| other != thread)
    }

    /// How many turns run.
    pub(crate) fn count(&self) -> usize {
        self.lock().running.values().sum()
    }

    /// Retires the host if no turn runs; returns whether it is retired. A caller that counts its turn first and then
    /// finds the host not retired can rely on it.
    pub(crate) fn retire_if_idle(&self) -> bool {
        let mut turns = self.lock();
        turns.is_retired |= turns.running.is_empty() && turns.background.is_empty();
        turns.is_retired
    }

    /// Returns whether new turns are refused.
    pub(crate) fn is_retired(&self) -> bool {
        self.lock().is_retired
    }

    fn lock(&self) -> MutexGuard<'_, Turns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for BackgroundGuard {
    fn drop(&mut self) {
        let mut turns = self.turns.lock();
        if let Some(count) = turns.background.get_mut(&self.thread) {
            *count -= 1;
            if *count == 0 {
                turns.background.remove(&self.thread);
            }
        }
    }
}

impl Drop for TurnGuard {
    fn drop(&mut self) {
        let mut turns = self.turns.lock();
        if let Some(count) = turns.running.get_mut(&self.thread) {
            *count -= 1;
            if *count == 0 {
                turns.running.remove(&self.thread);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_background_command_keeps_its_host_and_is_no_turn() {
        let (turns, thread) = (LiveTurns::default(), ThreadId::new("t"));
        let guard = turns.hold(&thread);
        assert_eq!(turns.count(), 0);
        assert!(!turns.has_others(&thread) && turns.has_others(&ThreadId::new("other")));
        assert!(!turns.retire_if_idle());
        drop(guard);
        assert!(turns.retire_if_idle());
    }

    #[test]
    fn a_turn_counts_as_long_as_its_guard_lives() {
        let (turns, [a, b]) = (LiveTurns::default(), ["a", "b"].map(ThreadId::new));
        let first = turns.enter(&a);
        let second = turns.enter(&a);
        assert_eq!((turns.has_others(&a), turns.has_others(&b), turns.count()), (false, true, 2));
        drop(first);
        assert!(turns.has_others(&b), "one of its turns still runs");
        drop(second);
        assert_eq!((turns.has_others(&b), turns.count()), (false, 0));
    }

    #[test]
    fn a_host_retires_only_between_turns_and_for_good() {
        let (turns, a) = (LiveTurns::default(), ThreadId::new("a"));
        let running = turns.enter(&a);
        assert!(!turns.retire_if_idle() && !turns.is_retired());
        drop(running);
        assert!(turns.retire_if_idle());
        let _late = turns.enter(&a);
        assert!(turns.is_retired(), "who comes late sees it");
    }
}
