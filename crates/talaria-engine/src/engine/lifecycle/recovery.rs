//! How an engine begins: it takes the home, and resumes what an earlier engine left there.
//!
//! First the hosts: each one that was recorded is adopted if it can be proven to be ours and alive, and ended with
//! everything below it if not. Then the commands that ran in the background, and the turns that have no outcome: the
//! task of each session continues them.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use talaria_core::access::Identity;
use talaria_core::api::{EngineInfo, VERSION};
use talaria_core::event::Stage;
use talaria_core::ids::SessionId;
use talaria_core::next_step::NextStep;
use talaria_store::{RequestFilter, RequestPatch, RequestState, StoreError};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::engine::Change;
use crate::engine::Engine;
use crate::engine::EngineOptions;
use crate::engine::Inner;
use crate::engine::Phase;
use crate::engine::access::caller;
use crate::engine::access::tokens::TokenDesk;
use crate::engine::hooks::HookDesk;
use crate::engine::journal::{self, EngineServices};
use crate::engine::lifecycle::copies;
use crate::engine::lifecycle::host_register::{self, StoredHosts};
use crate::engine::lifecycle::loop_commands;
use crate::engine::lifecycle::stop_marker;
use crate::engine::lifecycle::trouble::Troubles;
use crate::engine::memory::MemoryDesk;
use crate::engine::open_store;
use crate::engine::queries::views;
use crate::engine::run::background::BackgroundList;
use crate::engine::run::providers::ProviderKeys;
use crate::engine::run::resolve::Resolver;
use crate::engine::run::rulebook::Rulebook;
use crate::engine::run::servers::Servers;
use crate::engine::run::session_directory::{SessionDirectory, Work};
use crate::engine::run::settings::Wanted;
use crate::engine::seal::Seal;
use crate::engine::skills::SkillDesk;
use crate::engine::tasks::queue::{Queue, Room, TaskPlace};
use crate::engine::tools::WebReader;
use crate::engine::tools::ledger::CallLedger;
use crate::engine::tools::questions::TurnQuestions;
use talaria_agent::transport::{ModelTransport, Roots};
use talaria_codex::HostTransport;
use talaria_codex::host::{HostSpec, reap_strays};
use talaria_codex::host_register::{HostRecord, HostRegister as _};
use talaria_codex::permit::Permits;
use talaria_codex::pool::HostPool;
use talaria_codex::spec::Surroundings;
use talaria_home::clock::now_ms;
use talaria_home::faults;
use talaria_home::home::{HomeError, TalariaHome};
use talaria_home::lock::{Holder, Lock, LockError};
use talaria_mcp::{ServerKeeper, ServerRoom};

/// How many hosts are looked at at once.
const AT_ONCE: usize = 8;
/// How long an MCP server of the loop runs without a call.
const IDLE_SERVER: Duration = Duration::from_secs(10 * 60);

/// Why an engine did not begin.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another engine has the home, or the lock cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The home cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] talaria_store::StoreOpenError),
    /// The database was opened and then failed.
    #[error(transparent)]
    Read(#[from] StoreError),
    /// Which home this is cannot be recorded.
    #[error("cannot write {}: {cause}", path.display())]
    Identity {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The key with which prompts are sealed cannot be read or made.
    #[error("cannot use the key {}: {cause}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
}

impl OpenError {
    /// Next step for the user.
    pub fn next_step(&self) -> NextStep {
        let text = match self {
            Self::Lock(LockError::Held(_)) => return NextStep::StopEngine,
            Self::Lock(LockError::File { .. }) | Self::Identity { .. } => {
                "make the home writable, or set TALARIA_HOME to another directory"
            }
            Self::Home(error) => return error.next_step(),
            Self::Store(error) => return error.next_step(),
            Self::Read(error) => return error.next_step(),
            Self::Key { .. } => "restore it from a backup, or move it away: prompts that wait are lost then",
        };
        text.into()
    }
}

impl Engine {
    /// Becomes the engine of a home, and resumes the work of an earlier one. Returns when hosts are adopted; turns
    /// continue concurrently.
    pub async fn open(home: TalariaHome, options: EngineOptions) -> Result<Self, OpenError> {
        home.ensure()?;
        let holder = Holder { pid: std::process::id(), version: options.version.clone() };
        let lock = Lock::take(&home.lock_file(), &holder)?;
        faults::point("open:lock").await;
        let stopped_hosts = stop_marker::end(home.root());
        let store = open_store(&home, &options.store).await?;
        crate::engine::lifecycle::full_disk::limit_disk(&store);
        faults::point("open:store").await;
        let key = home.key_file();
        let seal = Seal::open(&key).map_err(|cause| OpenError::Key { path: key, cause })?;
        faults::point("open:key").await;
        let epoch = store.next_epoch().await?;
        let identified = copies::identify(&home, &store, holder.pid).await?;
        faults::point("open:identity").await;
        let info = EngineInfo {
            pid: holder.pid,
            version: options.version,
            build: options.build,
            api: VERSION,
            home: home.root().to_string_lossy().into_owned(),
            since: views::time(now_ms()),
        };
        let has_delegations = store.has_delegations().await?.into();
        let tokens = TokenDesk::load(&store).await?;
        let models = Arc::new(ModelTransport::new(Roots::System));
        let inner = Arc::new(Inner {
            hosts_dir: home.hosts_dir(),
            info,
            hosts: HostPool::new(Arc::new(StoredHosts(store.clone())), options.limits),
            shelf: EngineServices {
                background: BackgroundList::load(&store).await?,
                store,
                epoch,
                seal,
                permits: Permits::new(home.permits_dir()),
                troubles: Troubles::default(),
                nudge: Arc::default(),
                tried: Arc::default(),
                task_ended: Arc::default(),
            },
            desk: SessionDirectory::default(),
            servers: Servers::default(),
            calls: CallLedger::default(),
            memory: MemoryDesk::default(),
            skills: SkillDesk::default(),
            user_home: options.user_home,
            delegating: tokio::sync::Mutex::default(),
            has_delegations,
            hooks: HookDesk::default(),
            questions: TurnQuestions::default(),
            web: WebReader::new(options.pdf),
            queue: Queue::new(Room {
                working: options.max_tasks.max(1),
                open: options.limits.max_hosts.saturating_mul(options.limits.threads_per_host).max(1),
            }),
            host_limits: options.limits,
            stopped_hosts,
            identity: identified.record.clone(),
            owner: caller::owner_of_the_home(),
            own_process: caller::own_process(),
            refusals: caller::Refusals::default(),
            remote_refusals: caller::Refusals::default(),
            tokens,
            listens: std::sync::Mutex::default(),
            rulebook: Rulebook::default(),
            resolver: Resolver::default(),
            provider_keys: ProviderKeys::default(),
            server_room: ServerRoom::new(server_keeper(), Arc::clone(&models), IDLE_SERVER),
            models,
            debug_requests: options.debug_requests.clone(),
            loop_commands: loop_commands::command_room(&home),
            callers: Arc::default(),
            home,
            tasks: TaskTracker::new(),
            phase: watch::Sender::new(Phase::Open),
            ended: watch::Sender::new(false),
            gone: watch::Sender::new(false),
            _lock: lock,
        });
        inner.act_on_identity(&identified).await?;
        let left = inner.shelf.store.abandon_tool_calls(epoch, now_ms()).await?;
        if left > 0 {
            tracing::warn!("{left} calls of tools were running when the last engine ended");
        }
        let cut = inner.shelf.store.abandon_attempts(epoch, now_ms()).await?;
        if cut > 0 {
            tracing::warn!("{cut} requests to models were not answered when the last engine ended");
        }
        faults::point("open:hosts").await;
        inner.adopt_hosts().await?;
        inner.sweep_commands().await?;
        inner.take_up_background().await?;
        inner.take_up_turns().await?;
        inner.take_up_reviews().await?;
        let owner = Identity::owner(inner.owner.clone());
        let engine = Self { inner, identity: Arc::new(owner) };
        if let Some(idle) = options.idle {
            tokio::spawn(engine.clone().watch_idleness(idle));
        }
        engine.send_what_is_owed();
        tokio::spawn(engine.clone().forget_now_and_then());
        let inner = Arc::clone(&engine.inner);
        engine.inner.tasks.spawn(async move { inner.catch_up_snapshots().await });
        engine.inner.tasks.spawn(engine.clone().announce_ends());
        Ok(engine)
    }
}

impl Inner {
    /// Adopts every host that an earlier engine left, or ends it.
    async fn adopt_hosts(&self) -> Result<(), StoreError> {
        let left = self.shelf.store.living_hosts().await?;
        let known: HashSet<String> = left.iter().map(|host| host.nonce.clone()).collect();
        let register = StoredHosts(self.shelf.store.clone());
        let adoptions = left.iter().map(|host| async {
            let read = host_register::record(host).and_then(|record| Some((self.spec_of(&record)?, record)));
            let Some((spec, record)) = read else {
                register.ended(&host.nonce, "its record cannot be read").await;
                return;
            };
            match self.hosts.adopt(&record, spec).await {
                Ok(adopted) => {
                    tracing::info!("adopted Codex {}, process {}", adopted.version(), adopted.pid());
                }
                Err(error) => tracing::info!("the host {} is gone: {error}", host.nonce),
            }
        });
        futures_util::stream::iter(adoptions).for_each_concurrent(AT_ONCE, |adoption| adoption).await;
        let strays = reap_strays(&self.hosts_dir, &known).await;
        if strays > 0 {
            tracing::warn!("ended {strays} hosts that were not recorded");
        }
        Ok(())
    }

    /// How a host that was recorded is started again, in the environment of this engine.
    fn spec_of(&self, record: &HostRecord) -> Option<HostSpec> {
        let key = &record.intent.key;
        Some(HostSpec {
            binary: key.binary.clone(),
            version: key.version.parse().ok()?,
            codex_home: key.codex_home.clone(),
            hosts: self.hosts_dir.clone(),
            home: Some(self.home.root().to_owned()),
            transport: HostTransport::UnixSocket,
            path_dir: None,
            base: Surroundings::own(),
            environment: Vec::new(),
            arguments: Vec::new(),
            referred: BTreeSet::new(),
        })
    }

    /// Continues every turn that has no outcome.
    async fn take_up_turns(self: &Arc<Self>) -> Result<(), StoreError> {
        let mut sessions: Vec<SessionId> = Vec::new();
        let unsettled = self.shelf.store.unsettled().await?;
        let inputs: Vec<&str> = unsettled.iter().map(|(_, turn)| turn.client_id.as_str()).collect();
        self.shelf.permits.keep_only(&inputs);
        for (session, _) in unsettled {
            if !sessions.contains(&session.id) {
                sessions.push(session.id);
            }
        }
        self.void_orphans(&sessions).await?;
        // All of them have their places before the first continues: a task that waits must find those places taken.
        let mut works = Vec::with_capacity(sessions.len());
        for session in &sessions {
            self.shelf.store.take_lease(self.lease(session), crate::engine::Takeover::Older).await?;
            works.push(Work::Recover(self.line_up(session).await?));
        }
        for (session, work) in sessions.iter().zip(works) {
            self.give(session, work);
        }
        Ok(())
    }

    /// Continues every review that has not ended, after the turns of its session.
    async fn take_up_reviews(self: &Arc<Self>) -> Result<(), StoreError> {
        self.shelf.store.requeue_reviews(self.shelf.epoch).await?;
        for review in self.shelf.store.open_reviews().await? {
            self.shelf.store.take_lease(self.lease(&review.session), crate::engine::Takeover::Older).await?;
            self.give(&review.session, Work::Review);
        }
        Ok(())
    }

    /// Assigns a running task its place, and lets one wait where it waited before: first come, first served.
    async fn line_up(&self, session: &SessionId) -> Result<Option<TaskPlace>, StoreError> {
        let (store, task) = (&self.shelf.store, self.shelf.store.task(session).await?);
        let (Some(task), Some(turn)) = (task, store.next_unsettled(session).await?) else { return Ok(None) };
        // One that is sent only now, because it was not written before, had its place already.
        if turn.stage != Stage::Prepared {
            return Ok(Some(self.queue.enter_at_once()));
        }
        // One that waits for a person does not block those after it.
        let row = store.session(session).await?;
        if row.as_ref().and_then(Wanted::of_row).as_ref().and_then(Wanted::widening).is_none() {
            self.queue.stand(session, &task.owner);
        }
        Ok(None)
    }

    /// Closes requests whose turn is over: nothing waits for an answer.
    pub(crate) async fn void_orphans(&self, unsettled: &[SessionId]) -> Result<(), StoreError> {
        let pending = vec![RequestState::Open, RequestState::Answered, RequestState::Delivering];
        let filter = RequestFilter { session: None, states: Some(pending) };
        for request in self.shelf.store.requests(&filter).await? {
            if unsettled.contains(&request.session) {
                continue;
            }
            let patch = match request.state {
                RequestState::Delivering => RequestPatch::state(request.id, RequestState::Undelivered),
                _ => journal::void(request.id),
            };
            self.shelf.store.take_lease(self.lease(&request.session), crate::engine::Takeover::Older).await?;
            self.write(&request.session, vec![Change::Request(patch)]).await?;
        }
        Ok(())
    }
}

/// MCP servers run below this program.
fn server_keeper() -> ServerKeeper {
    ServerKeeper { program: loop_commands::own_program(), arguments: vec!["keep-server".into()] }
}
