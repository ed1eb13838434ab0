//! The engine of one home: it owns the store, the hosts and the sessions, and every command of people and programs
//! passes through here.
//!
//! Map: `run` runs turns, `journal` records what happens and publishes it, `tasks` is the work in the background, `tools`
//! are what models may call, `delegation` starts the tasks that they delegate, `memory` persists across conversations,
//! `learning` adds to it after finished turns, `skills` are the user's files, to which models may propose changes, `hooks`
//! run the user's programs, `outbox` sends notifications, `access` says who may do what, `queries` serves reads,
//! `lifecycle` starts and stops the engine, `seal` encrypts input that must survive until it is sent. An engine can be
//! killed at any moment: the next one continues from the store.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use talaria_core::access::{Identity, ProcessFacts};
use talaria_core::api::{EngineInfo, Interrupt, Problem, ProblemCode, Said, Say, WebStatus, When};
use talaria_core::config::OnLoss;
use talaria_core::escrow::Escrow;
use talaria_core::event::Stage;
use talaria_core::ids::SessionId;
use talaria_core::input::InputPart;
use talaria_core::next_step::NextStep;
use talaria_core::policy::HideHome;
use talaria_core::principal::Principal;
use talaria_guard::rules::Rules;
use talaria_store::{
    Batch, Change, Lease, RequestFilter, RequestState, SessionRow, Store, StoreError, Takeover, TurnRow,
};
pub use talaria_store::{Inspection, OpenOptions};
use talaria_web::PdfReader;
use tokio::sync::{oneshot, watch};
use tokio_util::task::TaskTracker;

use talaria_codex::conversation::Command;
use talaria_codex::identity::HomeRecord;
use talaria_codex::pool::{HostPool, PoolLimits};
use talaria_home::clock::now_ms;
use talaria_home::home::TalariaHome;

mod access;
mod delegation;
mod hooks;
mod journal;
mod learning;
mod lifecycle;
mod memory;
mod outbox;
mod queries;
mod run;
mod seal;
mod skills;
mod tasks;
mod tools;

pub use lifecycle::leftovers;

use hooks::HookDesk;
use journal::EngineServices;
pub use journal::feed::EventLine;
pub use journal::follow::JournalFollower;
pub use lifecycle::imports::ImportPermit;
pub use lifecycle::recovery::OpenError;
pub use lifecycle::stop_marker::is_at_rest;
use memory::MemoryDesk;
use run::actor::Actor;
use run::input::Content;
use run::providers::ProviderKeys;
use run::resolve::Resolver;
use run::rulebook::Rulebook;
use run::servers::Servers;
use run::session_directory::{SessionDirectory, Work};
pub use run::shell::ShellExecution;
use skills::SkillDesk;
use talaria_agent::transport::ModelTransport;
pub use talaria_home::lock::{Holder, LockError, holder};
pub(crate) use talaria_home::lock::{Lock, is_locked};
use talaria_mcp::ServerRoom;
use talaria_tools::keeper::CommandRoom;
use tasks::queue::Queue;
use tools::WebReader;
use tools::ledger::CallLedger;
pub use tools::outside::{OutsideTool, outside_tools};
use tools::questions::TurnQuestions;

use access::caller;
use access::tokens::TokenDesk;
pub use access::tokens::{TokenCall, TokenEnd};
use journal::rows;
use queries::views;
use run::input;
use run::opening;

/// Duration of a lease. The lock of the home decides; the lease is only informative.
const LEASE_MS: i64 = 60_000;
/// How long a turn that was recorded may take until it accepts commands.
const GETTING_READY: Duration = Duration::from_secs(10);

/// The engine of one home, as one caller may use it. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
    /// Who calls.
    identity: Arc<Identity>,
}

/// Configuration of an engine at start.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The version of Talaria.
    pub version: String,
    /// When the program file was made, in milliseconds since 1970.
    pub build: i64,
    /// After how long without anything to do it ends; `None` never.
    pub idle: Option<Duration>,
    /// What its hosts may take.
    pub limits: PoolLimits,
    /// How many tasks Codex works on at once.
    pub max_tasks: usize,
    /// How its database is opened.
    pub store: OpenOptions,
    /// The home directory of the user, where their skills are.
    pub user_home: Option<PathBuf>,
    /// What parses PDF files; without it they are refused.
    pub pdf: Option<PdfReader>,
    /// Where requests and answers of the built-in loop are written for diagnosis; none are without it.
    pub debug_requests: Option<PathBuf>,
}

struct Inner {
    home: TalariaHome,
    hosts_dir: PathBuf,
    info: EngineInfo,
    shelf: EngineServices,
    hosts: HostPool,
    desk: SessionDirectory,
    servers: Servers,
    calls: CallLedger,
    web: WebReader,
    queue: Queue,
    memory: MemoryDesk,
    skills: SkillDesk,
    user_home: Option<PathBuf>,
    /// Locked while a conversation delegates, because the number of its tasks is limited.
    delegating: tokio::sync::Mutex<()>,
    /// Whether any conversation of the home has delegated anything; where none has, no turn looks for results.
    has_delegations: AtomicBool,
    hooks: HookDesk,
    questions: TurnQuestions,
    host_limits: PoolLimits,
    /// The hosts that `talaria stop` ended while no engine lived.
    stopped_hosts: HashSet<String>,
    /// Identity of this home, and whether it is a copy.
    identity: HomeRecord,
    /// Whose home it is.
    owner: Principal,
    /// Facts about this process, or why there are none.
    own_process: Result<ProcessFacts, String>,
    refusals: caller::Refusals,
    remote_refusals: caller::Refusals,
    tokens: TokenDesk,
    /// Where it can be reached over TCP; set by what serves it.
    listens: Mutex<Option<WebStatus>>,
    rulebook: Rulebook,
    resolver: Resolver,
    provider_keys: ProviderKeys,
    models: Arc<ModelTransport>,
    debug_requests: Option<PathBuf>,
    loop_commands: CommandRoom,
    server_room: ServerRoom,
    /// A caller that is about to record a turn keeps a clone.
    callers: Arc<()>,
    tasks: TaskTracker,
    phase: watch::Sender<Phase>,
    /// Cancels the tasks of sessions and all followers.
    ended: watch::Sender<bool>,
    /// Nothing of it is left.
    gone: watch::Sender<bool>,
    _lock: Lock,
}

/// Whether an engine takes work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Ending,
}

impl Engine {
    /// Who this is.
    pub fn info(&self) -> EngineInfo {
        self.inner.info.clone()
    }

    /// Says where it can be reached over TCP, or why it cannot, for `status`.
    pub fn set_web(&self, web: WebStatus) {
        *self.inner.listens.lock().unwrap_or_else(PoisonError::into_inner) = Some(web);
    }

    /// Where it can be reached over TCP.
    pub(crate) fn web(&self) -> Option<WebStatus> {
        let web = self.inner.listens.lock().unwrap_or_else(PoisonError::into_inner).clone();
        web.map(|web| WebStatus { tokens: self.valid_tokens(), ..web })
    }

    /// Says something to the turn that runs, or for the next one.
    pub async fn say(&self, id: &str, say: Say) -> Result<Said, Problem> {
        self.pass_on(id, input::of(say.text, &say.images)?, say.when, None).await
    }

    /// Sends input to the running turn, or queues it for the next one, which may take this long.
    async fn pass_on(
        &self,
        id: &str,
        input: Vec<InputPart>,
        when: When,
        limit: Option<Duration>,
    ) -> Result<Said, Problem> {
        self.inner.check_open()?;
        let session = self.find(id).await?;
        self.check_drive("say", &session).await?;
        self.check_further_images(&session, &input).await?;
        self.inner.ready(&session.id).await;
        let (kept, is_kept) = oneshot::channel();
        let is_told =
            self.inner.desk.tell(&session.id, Command::Say { input, when, limit, kept: Some(kept) });
        // Confirmed only after the turn has accepted the input: a turn that ends meanwhile drops it.
        let took = if is_told { is_kept.await.ok() } else { None };
        let took = took.ok_or_else(|| self.no_turn(&session))?;
        self.record("say", &session.id).await;
        Ok(Said { to_running_turn: took == When::Now })
    }

    /// Asks the running turn to stop. Once it has, input that waits for the next one is taken back and reported
    /// (`Event::Unqueued`) together with the outcome: a person who stops a conversation does not want it to continue. A
    /// turn that had completed already is followed by what waits.
    pub async fn interrupt(&self, id: &str, interrupt: Interrupt) -> Result<(), Problem> {
        let session = self.find(id).await?;
        self.inner.ready(&session.id).await;
        // The channel to a turn is closed a moment after its outcome is stored.
        let last = self.inner.last_turn(&session.id).await?;
        let is_over = last.is_none_or(|turn| turn.stage == Stage::Settled);
        let command = Command::Interrupt { by: self.who(interrupt.by) };
        if !is_over && self.inner.desk.tell(&session.id, command) {
            return Ok(());
        }
        Err(self.no_turn(&session))
    }

    fn no_turn(&self, session: &SessionRow) -> Problem {
        let name = session.alias.as_deref().unwrap_or_else(|| session.id.short());
        let problem = Problem::new(ProblemCode::Conflict, format!("no turn runs on {name}"));
        match &session.alias {
            Some(_) if self.principal().reads_tool_hints() => {
                problem.try_this("the action `send` starts another turn")
            }
            Some(task) => problem.next(NextStep::ContinueTask { task: task.clone() }),
            None => problem.next(NextStep::ContinueSession { session: session.id.short().to_owned() }),
        }
    }

    /// Follows a conversation from a number on.
    pub async fn follow(&self, id: &str, after: i64) -> Result<JournalFollower, Problem> {
        let session = self.find(id).await?;
        let live = self.inner.desk.subscribe(&session.id);
        Ok(JournalFollower::new(
            self.inner.shelf.store.clone(),
            session.id,
            after,
            live,
            self.inner.ended.subscribe(),
        ))
    }
}

impl Inner {
    async fn last_turn(&self, session: &SessionId) -> Result<Option<TurnRow>, Problem> {
        let turns = self.shelf.store.last_turns(session, None, 1).await;
        turns.map(|mut turns| turns.pop()).map_err(|error| views::problem(&error))
    }

    /// Waits until a turn that was recorded accepts commands; its task may not have begun with it.
    async fn ready(&self, session: &SessionId) {
        // Only a store that does not answer delays it for that long.
        let _ = tokio::time::timeout(GETTING_READY, self.desk.until_begun(session)).await;
    }

    fn lease(&self, session: &SessionId) -> Lease {
        Lease {
            session: session.clone(),
            epoch: self.shelf.epoch,
            owner: format!("process {}", self.info.pid),
            expires_at: now_ms() + LEASE_MS,
        }
    }

    /// Takes the right to write to a session. No other engine lives: this one has the lock of the home.
    async fn hold(&self, session: &SessionId) -> Result<(), Problem> {
        let taken = self.shelf.store.take_lease(self.lease(session), Takeover::Older).await;
        taken.map_err(|error| views::problem(&error))
    }

    /// Changes rows of a session outside of a turn.
    async fn write(&self, session: &SessionId, changes: Vec<Change>) -> Result<(), StoreError> {
        let (epoch, at) = (self.shelf.epoch, now_ms());
        let batch = Batch { session: session.clone(), epoch, at, events: Vec::new(), changes };
        self.shelf.store.append(batch).await.map(drop)
    }

    /// Queues work for the task of a session, and starts the task if there is none.
    fn give(self: &Arc<Self>, session: &SessionId, work: Work) {
        self.desk.give(session, work, |handle, inbox| {
            let actor = Actor::new(Arc::clone(self), session.clone(), handle, inbox);
            let mut ended = self.ended.subscribe();
            self.tasks.spawn(async move {
                tokio::select! {
                    () = actor.run() => {}
                    // Whatever it was doing, the next engine continues from the store.
                    _ = ended.wait_for(|ended| *ended) => {}
                }
            });
        });
    }

    /// The user's rules, as the file has them now.
    fn rules(&self) -> Rules {
        self.rulebook.in_force(self.home.load_config())
    }

    fn continues_after_loss(&self) -> bool {
        self.config().codex.on_loss == Some(OnLoss::Continue)
    }

    /// When the home is hidden from sandboxes, as the configuration says now; one that cannot be read says nothing.
    fn hide_home(&self) -> HideHome {
        let config = self.home.load_config().ok();
        config.and_then(|(config, _)| config.codex.hide_home).unwrap_or_default()
    }

    /// Was the input of a turn provably never written to Codex? Then it is sent now; anything else is looked for.
    fn is_unwritten(&self, turn: &TurnRow) -> bool {
        match turn.stage {
            Stage::Prepared => true,
            Stage::Sent => self.shelf.permits.is_unredeemed(&turn.client_id),
            Stage::Accepted | Stage::Settled | Stage::Unknown => false,
        }
    }

    /// Input of a turn that Codex has not received yet.
    fn unseal(&self, turn: &TurnRow) -> Option<Content> {
        input::from_json(&self.shelf.seal.reveal(turn.input_sealed.as_deref()?)?)
    }

    /// The answers that were never delivered and may serve the next turn of a session.
    async fn escrowed(&self, session: &SessionId) -> Result<Vec<Escrow>, StoreError> {
        let filter =
            RequestFilter { session: Some(session.clone()), states: Some(vec![RequestState::Escrowed]) };
        let kept = self.shelf.store.requests(&filter).await?;
        let escrow = |request: &talaria_store::RequestRow| {
            let answer = self.shelf.seal.reveal(request.answer_sealed.as_deref()?)?;
            Some(Escrow {
                ticket: request.id.clone(),
                binding: serde_json::from_str(request.binding.as_deref()?).ok()?,
                place: request.place.as_deref().and_then(rows::value),
                answer: serde_json::from_str(&answer).ok()?,
                by: opening::who(request),
                until: u64::try_from(request.expires_at?).ok()?,
                is_used: false,
            })
        };
        Ok(kept.iter().filter_map(escrow).collect())
    }
}

fn mint_task() -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("codex-{}", &random[..12])
}

/// Checks a database without changing it, for at most about `limit`. The error describes the damage.
pub async fn inspect_store(
    path: &std::path::Path,
    limit: Duration,
) -> Result<Inspection, talaria_store::StoreOpenError> {
    Store::inspect(path, limit).await
}

/// Opens the store of a home.
async fn open_store(
    home: &TalariaHome,
    options: &OpenOptions,
) -> Result<Store, talaria_store::StoreOpenError> {
    Store::open(&home.store_file(), now_ms(), options).await
}
