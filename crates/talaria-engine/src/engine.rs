//! The engine of one home: it owns the store, the hosts and the sessions, and everything that people or programs want of
//! them comes through here.
//!
//! Map: `desk` knows which sessions are at work, `actor` is the task of one, `opening` opens its conversation on a host,
//! `journal` writes down what happens (`pending`, `rows`) and publishes it (`feed`, `follow`), `recovery` takes up what an
//! engine that is gone left (`copies` looks whether that was an engine of this home), `background` follows commands that outlive their turns,
//! `answering`, `looking`, `offering` and `compacting` are what the API asks, `tasks` is the work in
//! the background (`queue` says when, `standing` how it stands, `worktrees` where, `owed` and `sending` who is told), `scope` says
//! who may what, `shell` runs commands of a person's own, `importing` takes over tasks of the reference, `seal` keeps what
//! must survive until it is sent, `ending` ends it. An engine can be killed at any moment: the next one goes on from the store.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use talaria_core::access::{Identity, ProcessFacts, StartRight};
use talaria_core::api::{
    EngineInfo, Interrupt, NewSession, NewTurn, Problem, ProblemCode, Said, Say, SessionStarted,
    When as ApiWhen,
};
use talaria_core::config::OnLoss;
use talaria_core::escrow::Escrow;
use talaria_core::event::Stage;
use talaria_core::hiding::HideHome;
use talaria_core::ids::SessionId;
use talaria_core::policy::Answers;
use talaria_core::principal::Principal;
use talaria_core::rules::Rules;
use talaria_core::wire::call::UserInput;
use talaria_store::{
    Batch, Change, Lease, NewAudit, RequestFilter, RequestState, Session, SessionPatch, SessionState, Store,
    StoreError, Takeover, Turn,
};
pub use talaria_store::{Inspection, OpenOptions};
use tokio::sync::{oneshot, watch};
use tokio_util::task::TaskTracker;

use crate::clock::now_ms;
use crate::codex::pool::{Hosts, Limits};
use crate::faults;
use crate::home::TalariaHome;
use crate::identity::HomeRecord;
use crate::session::{Command, When};

mod actor;
mod answering;
mod background;
mod caller;
mod compacting;
mod copies;
mod desk;
mod ending;
mod feed;
mod follow;
mod forgetting;
pub(crate) mod importing;
mod input;
mod journal;
mod lock;
mod looking;
mod offering;
mod opening;
mod owed;
mod pending;
mod queue;
mod recovery;
mod register;
pub(crate) mod rest;
mod rows;
mod rulebook;
mod scope;
mod seal;
mod sending;
mod servers;
mod settings;
mod shell;
mod standing;
mod tasks;
mod trouble;
mod views;
mod worktrees;

use actor::Actor;
use caller::Needs;
use desk::{Desk, Work};
pub use feed::Line;
pub use follow::Follow;
use input::Content;
use journal::Shelf;
pub use lock::{Holder, LockError, holder};
pub(crate) use lock::{Lock, is_locked};
use queue::Queue;
pub use recovery::OpenError;
pub use rest::is_at_rest;
use rulebook::Rulebook;
use servers::Servers;
use settings::{Settings, Wanted};
pub use shell::ShellRun;

/// How long a lease holds. The lock of the home is what counts; this is for people who read the file.
const LEASE_MS: i64 = 60_000;
/// How long a turn that was written down may take until it can be told something, and how often that is looked at.
const GETTING_READY: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// The engine of one home, as somebody may use it. Clones are the same engine.
#[derive(Clone)]
pub struct Engine(Arc<Inner>, Arc<Identity>);

/// What an engine is told when it starts.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The version of Talaria.
    pub version: String,
    /// When the program file was made, in milliseconds since 1970.
    pub build: i64,
    /// After how long without anything to do it ends; `None` never.
    pub idle: Option<Duration>,
    /// What its hosts may take.
    pub limits: Limits,
    /// How many tasks Codex works on at once.
    pub max_tasks: usize,
    /// How its database is opened.
    pub store: OpenOptions,
}

struct Inner {
    home: TalariaHome,
    hosts_dir: PathBuf,
    info: EngineInfo,
    shelf: Shelf,
    hosts: Hosts,
    desk: Desk,
    servers: Servers,
    queue: Queue,
    host_limits: Limits,
    /// The hosts that `talaria stop` ended while no engine lived.
    stopped_hosts: HashSet<String>,
    /// Which home this is, and how it came here.
    identity: HomeRecord,
    /// Whose home it is.
    owner: Principal,
    /// Facts about this process, or why there are none.
    own_process: Result<ProcessFacts, String>,
    refusals: caller::Refusals,
    rulebook: Rulebook,
    /// Whoever is about to write down a turn holds a clone.
    callers: Arc<()>,
    tasks: TaskTracker,
    phase: watch::Sender<Phase>,
    /// The tasks of sessions and whoever follows one are to end.
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
        self.0.info.clone()
    }

    /// Writes down a new conversation with its first turn, and runs it.
    pub async fn start_session(&self, new: NewSession) -> Result<SessionStarted, Problem> {
        let _caller = self.0.enter()?;
        self.require(Needs::StartAnything, "start_session", "start a conversation").await?;
        check_input(&new.turn.input)?;
        if !std::path::Path::new(&new.cwd).is_absolute() {
            return Err(Problem::new(
                ProblemCode::BadRequest,
                format!("{:?} is not an absolute path", new.cwd),
            ));
        }
        if new.kind == talaria_core::api::Kind::Task {
            let message = "a task is started as a task, not as a conversation";
            return Err(Problem::new(ProblemCode::BadRequest, message));
        }
        let started = self.0.create(&new, &Wanted::of(&new), None, self.audit_entry("start_session")).await?;
        faults::point("after:prepared").await;
        self.0.give(&started.id, Work::Turn(settings::surroundings(&new.turn.caller)));
        Ok(started)
    }

    /// Writes down another turn of a conversation, and runs it. One that runs is not interrupted for it.
    pub async fn start_turn(&self, id: &str, mut turn: NewTurn) -> Result<SessionStarted, Problem> {
        let _caller = self.0.enter()?;
        check_input(&turn.input)?;
        let session = self.find(id).await?;
        if self.access().starts != StartRight::Anything {
            // Nothing is accepted on a model's behalf.
            turn.answers = Answers::Person;
        }
        importing::only_to_be_read(&session)?;
        let last = self.0.last_turn(&session.id).await?;
        if last.as_ref().is_some_and(|last| last.settled_at.is_none()) {
            return Err(busy(&session.id));
        }
        let ordinal = last.map_or(1, |last| last.ordinal + 1);
        faults::point("before:prepared").await;
        self.0.hold(&session.id).await?;
        let row = self.0.turn_row(ordinal, &turn)?;
        let audit = self.audit_entry("start_turn");
        let started = self.0.prepare(&session, row, Settings::of(&turn), audit).await?;
        faults::point("after:prepared").await;
        self.0.give(&session.id, Work::Turn(settings::surroundings(&turn.caller)));
        Ok(started)
    }

    /// Says something to the turn that runs, or for the next one.
    pub async fn say(&self, id: &str, say: Say) -> Result<Said, Problem> {
        let when = match say.when {
            ApiWhen::Now => When::Now,
            ApiWhen::Next => When::Next,
        };
        self.pass_on(id, input::of(say.text, &say.images)?, when, None).await
    }

    /// Gives words to the turn that runs, or for the next one, which may take so long.
    async fn pass_on(
        &self,
        id: &str,
        input: Vec<UserInput>,
        when: When,
        limit: Option<Duration>,
    ) -> Result<Said, Problem> {
        self.0.check_open()?;
        let session = self.find(id).await?;
        self.0.ready(&session.id).await;
        let (kept, is_kept) = oneshot::channel();
        let is_told = self.0.desk.tell(&session.id, Command::Say { input, when, limit, kept: Some(kept) });
        // Nothing is promised before the turn has taken it upon itself: one that ends meanwhile lets go of it.
        let took = if is_told { is_kept.await.ok() } else { None };
        let took = took.ok_or_else(|| self.no_turn(&session))?;
        self.record("say", &session.id).await;
        Ok(Said { to_running_turn: took == When::Now })
    }

    /// Asks the turn that runs to stop. Once it has, what waits for the next one is taken back and told
    /// (`Event::Unqueued`), in one with the outcome: nobody who stops a conversation wants it to go on by itself. A turn
    /// that had completed already is followed by what waits.
    pub async fn interrupt(&self, id: &str, interrupt: Interrupt) -> Result<(), Problem> {
        let session = self.find(id).await?;
        self.0.ready(&session.id).await;
        if self.0.desk.tell(&session.id, Command::Interrupt { by: self.who(interrupt.by) }) {
            return Ok(());
        }
        Err(self.no_turn(&session))
    }

    fn no_turn(&self, session: &Session) -> Problem {
        let hint = match &session.alias {
            Some(_) if self.principal().is_model() => "the action `send` gives it another turn".to_owned(),
            Some(task) => format!("`talaria task send {task} PROMPT` gives it another turn"),
            None => format!("`talaria exec --resume {} PROMPT` gives it another turn", session.id),
        };
        let name = session.alias.as_deref().unwrap_or_else(|| session.id.as_str());
        Problem::new(ProblemCode::Conflict, format!("no turn runs on {name}")).try_this(hint)
    }

    /// Follows a conversation from a number on.
    pub async fn follow(&self, id: &str, after: i64) -> Result<Follow, Problem> {
        let session = self.find(id).await?;
        let live = self.0.desk.subscribe(&session.id);
        Ok(Follow::new(self.0.shelf.store.clone(), session.id, after, live, self.0.ended.subscribe()))
    }
}

impl Inner {
    async fn last_turn(&self, session: &SessionId) -> Result<Option<Turn>, Problem> {
        let turns = self.shelf.store.last_turns(session, None, 1).await;
        turns.map(|mut turns| turns.pop()).map_err(|error| views::problem(&error))
    }

    /// Waits until a turn that was written down can be told something; its task may not have come round to it.
    async fn ready(&self, session: &SessionId) {
        let ready = async {
            while self.desk.is_about_to_begin(session) {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        // Only a store that does not answer holds it up for so long.
        let _ = tokio::time::timeout(GETTING_READY, ready).await;
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

    /// Writes a new session down with its first turn, in one: when this returns, it will be run.
    async fn create(
        self: &Arc<Self>,
        new: &NewSession,
        wanted: &Wanted,
        task: Option<(String, talaria_store::NewTask)>,
        audit: NewAudit,
    ) -> Result<SessionStarted, Problem> {
        let id = crate::session::new_id();
        let shown = input::shown(&new.turn.input);
        let (alias, task) = task.unzip();
        let row = talaria_store::NewSession {
            id: id.clone(),
            kind: views::kept_kind(new.kind),
            alias: alias.clone(),
            title: Some(input::title(&shown)),
            cwd: new.cwd.clone(),
            runtime: views::RUNTIME.to_owned(),
            model: new.model.clone(),
            asked: serde_json::to_string(wanted).ok(),
            settings: serde_json::to_string(&Settings::of(&new.turn)).ok(),
            task,
            first_turn: Some(self.turn_row(1, &new.turn)?),
            created_at: now_ms(),
            audit: Some(NewAudit { session: Some(id.to_string()), ..audit }),
        };
        faults::point("before:prepared").await;
        let store = &self.shelf.store;
        store.create_session(row, self.lease(&id)).await.map_err(|error| views::problem(&error))?;
        // Only what people look for, so nobody waits for it: the turn is there already, and brings its words along when
        // it is run.
        let (inner, session) = (Arc::clone(self), id.clone());
        self.tasks.spawn(async move {
            let said = vec![Change::Message(rows::prompt(1, &shown))];
            if let Err(error) = inner.write(&session, said).await {
                tracing::warn!("session {session}: its prompt cannot be found by its words yet: {error}");
            }
        });
        Ok(SessionStarted { id, task: alias, turn: 1, after: 0 })
    }

    /// The row of a turn that is to be sent.
    fn turn_row(&self, ordinal: i64, turn: &NewTurn) -> Result<talaria_store::NewTurn, Problem> {
        Ok(talaria_store::NewTurn {
            input_text: input::shown(&turn.input),
            limit_ms: turn.limit_ms.and_then(|limit| i64::try_from(limit).ok()),
            ..self.sealed_row(ordinal, &input::to_json(&turn.input))?
        })
    }

    /// The row of a turn that is to send this.
    fn sealed_row(&self, ordinal: i64, content: &str) -> Result<talaria_store::NewTurn, Problem> {
        let sealed = self.shelf.seal.close(content).map_err(|error| {
            Problem::new(ProblemCode::Store, format!("the prompt cannot be sealed: {error}"))
        })?;
        let client_id = uuid::Uuid::now_v7().to_string();
        Ok(talaria_store::NewTurn {
            ordinal,
            client_id,
            input_sealed: Some(sealed),
            ..talaria_store::NewTurn::default()
        })
    }

    /// Writes a turn down. When this returns, it will be run, whatever happens to this engine.
    async fn prepare(
        &self,
        session: &Session,
        row: talaria_store::NewTurn,
        settings: Settings,
        audit: NewAudit,
    ) -> Result<SessionStarted, Problem> {
        let earlier = Settings::kept(session);
        let settings = settings.after(earlier.as_ref());
        let settings = if session.alias.is_some() { settings.at_home_of(earlier) } else { settings };
        let ordinal = row.ordinal;
        self.check_not_left(session, ordinal).await?;
        let said = rows::prompt(ordinal, &row.input_text);
        let changes = vec![
            Change::NewTurn(row),
            Change::Audit(NewAudit { session: Some(session.id.to_string()), ..audit }),
            Change::Message(said),
            Change::Session(SessionPatch {
                state: Some(SessionState::Running),
                settings: serde_json::to_string(&settings).ok(),
                ..SessionPatch::default()
            }),
        ];
        self.write(&session.id, changes).await.map_err(|error| match error {
            // Somebody else had the same turn written down since the last one was looked for.
            StoreError::Conflict(_) => busy(&session.id),
            error => views::problem(&error),
        })?;
        let (id, task) = (session.id.clone(), session.alias.clone());
        Ok(SessionStarted { id, task, turn: ordinal, after: session.last_seq })
    }

    /// Changes rows of a session outside of a turn.
    async fn write(&self, session: &SessionId, changes: Vec<Change>) -> Result<(), StoreError> {
        let (epoch, at) = (self.shelf.epoch, now_ms());
        let batch = Batch { session: session.clone(), epoch, at, events: Vec::new(), changes };
        self.shelf.store.append(batch).await.map(drop)
    }

    /// Gives work to the task of a session, which is started if it has none.
    fn give(self: &Arc<Self>, session: &SessionId, work: Work) {
        self.desk.give(session, work, |seat, inbox| {
            let actor = Actor::new(Arc::clone(self), session.clone(), seat, inbox);
            let mut ended = self.ended.subscribe();
            self.tasks.spawn(async move {
                tokio::select! {
                    () = actor.run() => {}
                    // Whatever it was doing, the next engine goes on from the store.
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
        self.home.load_config().is_ok_and(|(config, _)| config.codex.on_loss == Some(OnLoss::Continue))
    }

    /// When the home is hidden from sandboxes, as the configuration says now; one that cannot be read says nothing.
    fn hide_home(&self) -> HideHome {
        let config = self.home.load_config().ok();
        config.and_then(|(config, _)| config.codex.hide_home).unwrap_or_default()
    }

    /// Was the input of a turn provably never written to Codex? Then it is sent now; anything else is looked for.
    fn is_unwritten(&self, turn: &Turn) -> bool {
        match turn.stage {
            Stage::Prepared => true,
            Stage::Sent => self.shelf.permits.is_unredeemed(&turn.client_id),
            Stage::Accepted | Stage::Settled | Stage::Unknown => false,
        }
    }

    /// What a turn is to send that Codex does not have yet.
    fn unseal(&self, turn: &Turn) -> Option<Content> {
        input::from_json(&self.shelf.seal.reveal(turn.input_sealed.as_deref()?)?)
    }

    /// The answers that were never delivered and may serve the next turn of a session.
    async fn escrowed(&self, session: &SessionId) -> Result<Vec<Escrow>, StoreError> {
        let filter =
            RequestFilter { session: Some(session.clone()), states: Some(vec![RequestState::Escrowed]) };
        let kept = self.shelf.store.requests(&filter).await?;
        let escrow = |request: &talaria_store::Request| {
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

/// Somebody else's turn runs there.
fn busy(session: &SessionId) -> Problem {
    let hint = format!("follow it with `talaria exec --attach {session}`, then send the prompt again");
    Problem::new(ProblemCode::Busy, "a turn runs on this session already").try_this(hint)
}

fn check_input(input: &[UserInput]) -> Result<(), Problem> {
    let is_empty =
        input.iter().all(|part| matches!(part, UserInput::Text { text } if text.trim().is_empty()));
    if is_empty {
        return Err(Problem::new(ProblemCode::BadRequest, "the prompt is empty"));
    }
    Ok(())
}

fn mint_task() -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("codex-{}", &random[..12])
}

/// Looks at a database without changing it, for at most about `limit`. What is wrong with it is the error.
pub async fn inspect_store(
    path: &std::path::Path,
    limit: Duration,
) -> Result<Inspection, talaria_store::OpenError> {
    Store::inspect(path, limit).await
}

/// Opens the store of a home.
async fn open_store(home: &TalariaHome, options: &OpenOptions) -> Result<Store, talaria_store::OpenError> {
    Store::open(&home.store_file(), now_ms(), options).await
}
