//! The hosts of an engine: who needs one gets one of its kind that has room, or a new one.
//!
//! Callers that need the same kind at the same time share one start. A conversation stays on the host that loaded it
//! until that host ends, because Codex lets only one process write to it. Hosts are kept, so dropping the pool ends
//! none of them (`close` does), except those of versions that talk over stdio and end with their owner. When as many run
//! as are allowed, one that nobody uses makes room; else the least used one of the kind takes more than its share; else
//! it is an error. `upkeep` ends what is idle or too large.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::host::{AttachError, Host, HostError};
use super::keeping::{Record, Register};
use super::key::HostKey;
use super::spec::HostSpec;
use super::transport::Transport;

mod limits;
mod pooled;
mod status;
mod upkeep;

pub use limits::Limits;
pub use pooled::Pooled;
pub use status::HostStatus;

/// How long conversations may take that are let go of because no host has room.
const MAKING_ROOM: Duration = Duration::from_millis(500);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// The hosts of an engine.
#[derive(Clone, Debug)]
pub struct Hosts(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    register: Arc<dyn Register>,
    limits: Limits,
    state: Mutex<State>,
    /// Those who start hosts, or end single ones.
    at_work: TaskTracker,
    /// No host is started any more.
    closing: CancellationToken,
    /// Every host is full: whoever can do without its conversation is to let go of it.
    crowded: Notify,
}

#[derive(Debug, Default)]
struct State {
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

/// What to do for somebody who needs a host.
enum Choice {
    Use(Arc<Host>),
    /// There is room for another.
    Start(Slot),
    /// There is room when this one, which nobody uses, has ended.
    Replace(Arc<Host>, Slot),
    Full,
}

/// Counts a host that is being started, until it is there or is not.
struct Slot(Arc<Inner>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.lock().starting -= 1;
    }
}

impl Hosts {
    /// An empty pool that looks after its hosts now and then. Call it inside a runtime.
    pub fn new(register: Arc<dyn Register>, limits: Limits) -> Self {
        let (at_work, closing) = (TaskTracker::new(), CancellationToken::new());
        let (state, crowded) = (Mutex::default(), Notify::new());
        let inner = Arc::new(Inner { register, limits, state, at_work, closing, crowded });
        upkeep::begin(Arc::downgrade(&inner), inner.limits.look_every);
        Self(inner)
    }

    /// A living host of this kind that takes another thread, for which it holds a place for a while. A caller that goes
    /// away does not undo a start that others wait for.
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

    /// Takes up a host of an engine that is gone; see `Host::attach`. A place is held on it for a while: it must not be
    /// ended as idle before its threads were taken up.
    pub async fn adopt(&self, record: &Record, spec: HostSpec) -> Result<Arc<Host>, AttachError> {
        let host = Arc::new(Host::attach(record, spec, Arc::clone(&self.0.register)).await?);
        host.seats().promise();
        self.0.lock().add(&host, record.intent.key.clone());
        Ok(host)
    }

    /// Where a conversation of this kind gets its next host from.
    pub fn source(&self, spec: HostSpec) -> Arc<Pooled> {
        Arc::new(Pooled::new(self.clone(), spec))
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

    /// Lets go of all hosts: they go on, and another engine may adopt them. Drop the sessions before.
    pub fn detach(&self) {
        for member in std::mem::take(&mut self.0.lock().members) {
            member.host.detach();
        }
    }

    /// Waits until every host is full and somebody needs another one.
    pub async fn crowded(&self) {
        self.0.crowded.notified().await;
    }

    /// Asks those who can do without their conversation to let go of it if no host has room, and waits a moment for that: a
    /// host that nobody uses can be replaced, whatever it has loaded.
    async fn make_room(&self, key: &HostKey) {
        let Limits { max_hosts, threads_per_host, .. } = self.0.limits;
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
        // What a dead host held can be taken up elsewhere only when nothing of it is left.
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
            Transport::UnixSocket => Host::start_kept(spec, register, closing).await?,
            Transport::Stdio => {
                closing.run_until_cancelled(Host::start(spec)).await.ok_or_else(HostError::ending)??
            }
        };
        let host = Arc::new(started);
        host.seats().promise();
        self.0.lock().add(&host, key);
        drop(slot);
        Ok(host)
    }

    fn choose(&self, key: &HostKey) -> Choice {
        let Limits { max_hosts, threads_per_host, .. } = self.0.limits;
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
        // What is loaded there and used by nobody is resumed elsewhere when its next turn begins.
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
            let why = member.host.gone().unwrap_or("Codex ended").to_owned();
            member.host.close_because(&why).await;
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, host: &Arc<Host>, key: HostKey) {
        self.members.push(Member { host: Arc::clone(host), key, idle_since: None });
    }
}

impl Member {
    /// How many threads it has loaded or was promised.
    fn load(&self) -> usize {
        self.host.loaded() + self.host.seats().promised()
    }

    /// How many of them somebody uses.
    fn users(&self) -> usize {
        self.host.threads() + self.host.seats().promised()
    }

    fn promised(&self) -> Choice {
        self.host.seats().promise();
        Choice::Use(Arc::clone(&self.host))
    }
}
