//! The hosts of an engine: a caller gets one of the kind it needs that has room, or a new one.
//!
//! Callers that need the same kind at the same time share one start. A conversation stays on the host that loaded it
//! until that host ends, because Codex lets only one process write to it. Hosts are kept, so dropping the pool ends
//! none of them (`close` does), except those of versions that talk over stdio and end with their owner. At the limit an
//! unused host is ended to make room; else the least used one of the kind takes more than its share; else it is an
//! error. `upkeep` ends idle and too large hosts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::host::{AttachError, Host, HostError};
use super::host_register::{HostRecord, HostRegister};
use super::key::HostKey;
use super::spec::HostSpec;
use super::transport::HostTransport;

mod limits;
mod pooled;
mod status;
mod upkeep;

pub use limits::PoolLimits;
pub use pooled::PooledHosts;
pub use status::HostStatus;

/// How long to wait for idle conversations to be released when no host has room.
const MAKING_ROOM: Duration = Duration::from_millis(500);
/// How often that is checked.
const LOOK: Duration = Duration::from_millis(5);

/// The hosts of an engine.
#[derive(Clone, Debug)]
pub struct HostPool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    register: Arc<dyn HostRegister>,
    limits: PoolLimits,
    state: Mutex<PoolState>,
    /// Tasks that start or end hosts.
    at_work: TaskTracker,
    /// No host is started any more.
    closing: CancellationToken,
    /// Every host is full: idle conversations should be released.
    crowded: Notify,
}

#[derive(Debug, Default)]
struct PoolState {
    members: Vec<Member>,
    /// How many are being started.
    starting: usize,
    /// One caller of a kind at a time looks for a host or starts one.
    gates: HashMap<HostKey, Arc<tokio::sync::Mutex<()>>>,
}

#[derive(Debug)]
struct Member {
    host: Arc<Host>,
    key: HostKey,
    idle_since: Option<Instant>,
}

/// How a request for a host is served.
enum Choice {
    Use(Arc<Host>),
    /// There is room for another.
    Start(Slot),
    /// There is room once this unused host has ended.
    Replace(Arc<Host>, Slot),
    Full,
}

/// Counts a host while it is being started.
struct Slot(Arc<Inner>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.lock().starting -= 1;
    }
}

impl HostPool {
    /// Creates an empty pool with a periodic upkeep task. Call it inside a runtime.
    pub fn new(register: Arc<dyn HostRegister>, limits: PoolLimits) -> Self {
        let (at_work, closing) = (TaskTracker::new(), CancellationToken::new());
        let (state, crowded) = (Mutex::default(), Notify::new());
        let inner = Arc::new(Inner { register, limits, state, at_work, closing, crowded });
        upkeep::begin(Arc::downgrade(&inner), inner.limits.look_every);
        Self(inner)
    }

    /// Returns a living host of this kind with a reserved slot for another thread. A caller that is dropped does not
    /// cancel a start that others wait for.
    pub async fn get(&self, spec: &HostSpec) -> Result<Arc<Host>, HostError> {
        let (pool, spec) = (self.clone(), spec.clone());
        let found = self.0.at_work.spawn(async move { pool.find_or_start(spec).await }).await;
        found.unwrap_or_else(|broken| Err(HostError::NotUp { why: broken.to_string() }))
    }

    /// The living host of this name.
    pub fn named(&self, nonce: &str) -> Option<Arc<Host>> {
        let state = self.0.lock();
        let named = |member: &&Member| member.host.nonce() == Some(nonce) && member.host.is_alive();
        state.members.iter().find(named).map(|member| Arc::clone(&member.host))
    }

    /// Whether a host is of the kind that `spec` asks for.
    pub fn is_fit(&self, host: &Arc<Host>, spec: &HostSpec) -> bool {
        let key = spec.key();
        self.0.lock().members.iter().any(|member| Arc::ptr_eq(&member.host, host) && member.key == key)
    }

    /// Adopts a host of an earlier engine; see `Host::attach`. A slot stays reserved on it for a while: it must not be
    /// ended as idle before its threads are resumed.
    pub async fn adopt(&self, record: &HostRecord, spec: HostSpec) -> Result<Arc<Host>, AttachError> {
        let host = Arc::new(Host::attach(record, spec, Arc::clone(&self.0.register)).await?);
        host.thread_slots().reserve();
        self.0.lock().add(&host, record.intent.key.clone());
        Ok(host)
    }

    /// Where a conversation of this kind gets its next host from.
    pub fn source(&self, spec: HostSpec) -> Arc<PooledHosts> {
        Arc::new(PooledHosts::new(self.clone(), spec))
    }

    /// Ends all hosts, with everything below them, also those that are being started.
    pub async fn close(&self) {
        self.0.closing.cancel();
        self.0.at_work.close();
        self.0.at_work.wait().await;
        let members = std::mem::take(&mut self.0.lock().members);
        let ends = members.iter().map(|member| member.host.close_because("the engine ends its hosts"));
        futures_util::future::join_all(ends).await;
    }

    /// Detaches from all hosts: they keep running, and another engine may adopt them. Drop the sessions before.
    pub fn detach(&self) {
        for member in std::mem::take(&mut self.0.lock().members) {
            member.host.detach();
        }
    }

    /// Waits until every host is full and another one is needed.
    pub async fn wait_until_full(&self) {
        self.0.crowded.notified().await;
    }

    /// If no host has room, asks for idle conversations to be released and waits a moment for it: a host that is unused
    /// can be replaced, whatever it has loaded.
    async fn make_room(&self, key: &HostKey) {
        let PoolLimits { max_hosts, threads_per_host, .. } = self.0.limits;
        let is_full = || {
            let state = self.0.lock();
            let is_open = |member: &&Member| member.host.draining().is_none();
            let has_room = |member: &Member| {
                let is_fit = member.key == *key && member.host.is_alive() && member.load() < threads_per_host;
                is_fit || (member.users() == 0 && member.host.turns() == 0)
            };
            let counted = state.members.iter().filter(is_open).count() + state.starting;
            counted >= max_hosts && !state.members.iter().filter(is_open).any(has_room)
        };
        let end = Instant::now() + MAKING_ROOM;
        while is_full() && Instant::now() < end {
            self.0.crowded.notify_waiters();
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn find_or_start(&self, spec: HostSpec) -> Result<Arc<Host>, HostError> {
        let key = spec.key();
        let gate = Arc::clone(self.0.lock().gates.entry(key.clone()).or_default());
        let _gate = gate.lock().await;
        if self.0.closing.is_cancelled() {
            return Err(HostError::ending());
        }
        // The threads of a dead host can be resumed elsewhere only when none of its processes is left.
        self.bury_dead().await;
        self.make_room(&key).await;
        let slot = match self.choose(&key) {
            Choice::Use(host) => return Ok(host),
            Choice::Full => return Err(HostError::Full { max: self.0.limits.max_hosts }),
            Choice::Start(slot) => slot,
            Choice::Replace(idle, slot) => {
                idle.close_because("it made room for another").await;
                slot
            }
        };
        let (register, closing) = (Arc::clone(&self.0.register), self.0.closing.clone());
        let started = match spec.transport {
            HostTransport::UnixSocket => Host::start_kept(spec, register, closing).await?,
            HostTransport::Stdio => {
                closing.run_until_cancelled(Host::start(spec)).await.ok_or_else(HostError::ending)??
            }
        };
        let host = Arc::new(started);
        host.thread_slots().reserve();
        self.0.lock().add(&host, key);
        drop(slot);
        Ok(host)
    }

    fn choose(&self, key: &HostKey) -> Choice {
        let PoolLimits { max_hosts, threads_per_host, .. } = self.0.limits;
        let mut state = self.0.lock();
        let fit = |member: &&Member| {
            member.key == *key && member.host.is_alive() && member.host.draining().is_none()
        };
        // The fullest first, so that others become idle and end.
        let with_room = state.members.iter().filter(fit).filter(|member| member.load() < threads_per_host);
        if let Some(member) = with_room.max_by_key(|member| member.load()) {
            return member.promised();
        }
        // One that is being drained has a successor already, or needs one.
        let counted = state.members.iter().filter(|member| member.host.draining().is_none()).count();
        if counted + state.starting < max_hosts {
            state.starting += 1;
            return Choice::Start(Slot(Arc::clone(&self.0)));
        }
        // Threads that are loaded there and unused are resumed elsewhere when their next turn begins.
        let is_idle = |member: &Member| member.users() == 0 && member.host.retire();
        if let Some(at) = state.members.iter().position(is_idle) {
            let idle = state.members.swap_remove(at).host;
            state.starting += 1;
            return Choice::Replace(idle, Slot(Arc::clone(&self.0)));
        }
        let least = state.members.iter().filter(fit).min_by_key(|member| member.users());
        least.map_or(Choice::Full, Member::promised)
    }

    /// Ends what is left of hosts that died.
    async fn bury_dead(&self) {
        let dead: Vec<Member> =
            self.0.lock().members.extract_if(.., |member| !member.host.is_alive()).collect();
        for member in dead {
            let why = member.host.end_reason().unwrap_or("Codex ended").to_owned();
            member.host.close_because(&why).await;
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PoolState {
    fn add(&mut self, host: &Arc<Host>, key: HostKey) {
        self.members.push(Member { host: Arc::clone(host), key, idle_since: None });
    }
}

impl Member {
    /// Returns the number of loaded threads and reserved slots.
    fn load(&self) -> usize {
        self.host.loaded() + self.host.thread_slots().reserved()
    }

    /// How many of them are in use.
    fn users(&self) -> usize {
        self.host.threads() + self.host.thread_slots().reserved()
    }

    fn promised(&self) -> Choice {
        self.host.thread_slots().reserve();
        Choice::Use(Arc::clone(&self.host))
    }
}
