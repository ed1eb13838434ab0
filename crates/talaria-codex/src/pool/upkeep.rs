//! Upkeep of the hosts of a pool: cleans up after dead ones, ends idle ones, drains large ones and ends them between
//! turns.
//!
//! No host is ended while a turn runs there, even one without a subscriber here: Codex itself is asked before. A
//! conversation whose host was ended between turns is resumed on another one when its next turn begins.

use std::sync::{Arc, Weak};
use std::time::Duration;

use talaria_codex_proto::wire::history::ThreadStatus;
use tokio::time::Instant;

use super::status::memory_of;
use super::{HostPool, Inner, Member};
use crate::host::Host;

/// Runs the upkeep of a pool until it is dropped.
pub(super) fn begin(pool: Weak<Inner>, every: Duration) {
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(every).await;
            let Some(pool) = pool.upgrade() else { return };
            let hosts = HostPool(Arc::clone(&pool));
            pool.at_work.track_future(hosts.tidy()).await;
        }
    });
}

impl HostPool {
    /// Runs one round of upkeep. Runs periodically by itself; more calls do no harm.
    pub async fn tidy(&self) {
        self.bury_dead().await;
        for host in self.living() {
            host.refresh_stderr();
            count_threads(&host).await;
            self.weigh(&host).await;
            if let Some(why) = self.reason_to_end(&host)
                && !has_running_turn(&host).await
                && self.take_out(&host)
            {
                host.close_because(&why).await;
            }
        }
    }

    async fn weigh(&self, host: &Host) {
        let Some(limit) = self.0.limits.memory_kib else { return };
        let memory = memory_of(host).await;
        if memory > limit {
            let (memory, limit) = (memory / 1024, limit / 1024);
            host.drain(&format!("it takes {memory} MiB of memory, more than the {limit} MiB it may"));
        }
    }

    fn reason_to_end(&self, host: &Arc<Host>) -> Option<String> {
        let idle = self.0.limits.idle;
        let mut state = self.0.lock();
        let member = state.members.iter_mut().find(|member| Arc::ptr_eq(&member.host, host))?;
        if member.users() + host.turns() > 0 {
            member.idle_since = None;
        } else if member.idle_since.get_or_insert_with(Instant::now).elapsed() >= idle {
            return Some(format!("it was unused for {} s", idle.as_secs()));
        }
        host.draining().filter(|_| host.turns() == 0)
    }

    /// Removes a host from the pool, unless it was requested in the meantime.
    fn take_out(&self, host: &Arc<Host>) -> bool {
        let mut state = self.0.lock();
        let found = state.members.iter().position(|member: &Member| Arc::ptr_eq(&member.host, host));
        let Some(at) = found.filter(|_| host.retire()) else { return false };
        state.members.swap_remove(at);
        true
    }
}

/// Forgets threads that Codex has unloaded by itself.
async fn count_threads(host: &Host) {
    let known = host.thread_slots().threads();
    if known.is_empty() {
        return;
    }
    if let Ok(loaded) = host.loaded_threads().await {
        let unloaded: Vec<_> = known.into_iter().filter(|thread| !loaded.contains(thread)).collect();
        host.thread_slots().unloaded(&unloaded);
    }
}

/// Returns whether a turn runs here, with or without a subscriber. A Codex that does not answer counts as idle.
async fn has_running_turn(host: &Host) -> bool {
    let Ok(loaded) = host.loaded_threads().await else { return false };
    for thread in loaded {
        if let Ok(ThreadStatus::Active) = host.thread_status(&thread).await {
            return true;
        }
    }
    false
}
