//! Looks after the hosts of a pool: buries the dead, ends the idle, drains the large and ends them between turns.
//!
//! No host is ended while a turn runs there, also one that nobody here follows: Codex itself is asked before. A
//! conversation whose host was ended between turns is taken up again on another when its next turn begins.

use std::sync::{Arc, Weak};
use std::time::Duration;

use talaria_codex_proto::wire::history::ThreadStatus;
use tokio::time::Instant;

use super::status::memory_of;
use super::{Hosts, Inner, Member};
use crate::host::Host;

/// Looks after a pool until it is dropped.
pub(super) fn begin(pool: Weak<Inner>, every: Duration) {
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(every).await;
            let Some(pool) = pool.upgrade() else { return };
            let hosts = Hosts(Arc::clone(&pool));
            pool.at_work.track_future(hosts.tidy()).await;
        }
    });
}

impl Hosts {
    /// Looks after the hosts once. Runs by itself now and then; calling it more often does no harm.
    pub async fn tidy(&self) {
        self.bury_dead().await;
        for host in self.living() {
            host.read_complaints();
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
            return Some(format!("nobody used it for {} s", idle.as_secs()));
        }
        host.draining().filter(|_| host.turns() == 0)
    }

    /// Takes a host out of the pool, unless somebody came for it in the meantime.
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
    let known = host.seats().threads();
    if known.is_empty() {
        return;
    }
    if let Ok(loaded) = host.loaded_threads().await {
        let unloaded: Vec<_> = known.into_iter().filter(|thread| !loaded.contains(thread)).collect();
        host.seats().unloaded(&unloaded);
    }
}

/// Does a turn run here, whoever follows it? A Codex that does not say has nothing that could be spared.
async fn has_running_turn(host: &Host) -> bool {
    let Ok(loaded) = host.loaded_threads().await else { return false };
    for thread in loaded {
        if let Ok(ThreadStatus::Active) = host.thread_status(&thread).await {
            return true;
        }
    }
    false
}
