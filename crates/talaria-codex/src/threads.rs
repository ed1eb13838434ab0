//! Threads of a host: starting one, resuming one, reading one, sending a new one what an older one knew.
//!
//! Every start and resume sends all requested options, prevents Codex from writing its configuration (`trust`), and is
//! checked against the settings that Codex reports (`talaria_codex_proto::power`). A thread that would have more power than
//! requested is released before anything runs on it. Called by the session and by `revival`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use talaria_codex_proto::confine::Confined;
use talaria_codex_proto::hiding::{self, ExpectedSandbox, HidingStart, Openness};
use talaria_codex_proto::power::{self, InForce, PowerCheck, Refusal};
use talaria_codex_proto::project;
use talaria_codex_proto::thread_bounds::ThreadBounds;
use talaria_codex_proto::wire::call::{
    Call, ConfigRead, DynamicToolKind, EffectiveConfig, InjectedMessage, ThreadArchive, ThreadFork,
    ThreadInjectItems, ThreadRead, ThreadResume, ThreadSample, ThreadSampleCancel, ThreadSampleReply,
    ThreadStart, ThreadStartReply, ThreadUnarchive, ThreadUnsubscribe,
};
use talaria_codex_proto::wire::history::{History, ThreadStatus};
use talaria_core::event::Started;
use talaria_core::ids::{ThreadId, TurnId};
use talaria_core::next_step::NextStep;
use talaria_core::policy::Sandbox;
use talaria_home::faults;

use super::client::{CallError, pause};
use super::host::Host;
use super::queue::ThreadQueue;
use super::{trust, users_servers};

/// Begins the warning about a conversation that hides nothing although it should.
const SHOWN: &str = "commands of this conversation can read Talaria's own files in the sandbox";

/// The key that switches the tool `update_plan` on; versions that always offer it do not know the key.
const PLAN_KEY: &str = "tools.update_plan.enabled";

/// How often a thread is read before a refusal is believed.
const READS: u32 = 4;

/// An open thread, with its settings in force.
#[derive(Debug)]
pub struct OpenThread {
    /// Settings in force, for the events.
    pub started: Started,
    /// What bounds commands and patches, for decisions about single requests.
    pub bounds: ThreadBounds,
    /// Settings in force, for decisions, with the differences from the requested ones.
    pub standing: PowerCheck,
    /// Whether Codex also reports what the model said as it is. It does not after a resume: neither version can be
    /// asked to.
    pub raw_events: RawEvents,
    /// Notes for the user about requested MCP servers that others in the user's Codex replaced.
    pub warnings: Vec<String>,
    pub(crate) queue: Arc<ThreadQueue>,
}

/// Whether Codex reports what the model said as it is, so that a request can be compared with its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawEvents {
    /// It does.
    Told,
    /// It does not: where an accepted command would run cannot be found out.
    NotTold,
}

/// Where the content of a thread comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// There is none yet.
    New,
    /// From a thread that Codex has.
    Known,
}

impl Origin {
    fn raw_events(self) -> RawEvents {
        match self {
            Self::New => RawEvents::Told,
            Self::Known => RawEvents::NotTold,
        }
    }
}

/// The message for the requested options.
struct Prepared {
    /// The requested options, which the response is compared with.
    asked: ThreadStart,
    /// The message.
    sent: ThreadStart,
    /// The permission profile that must be in force.
    profile: Option<String>,
    warnings: Vec<String>,
}

/// Why a thread could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    /// Codex did not start it, or did not say so.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It would have more power than requested; it was released.
    #[error(transparent)]
    Power(#[from] Refusal),
}

impl ThreadError {
    /// Next step for the user.
    pub fn next_step(&self) -> NextStep {
        match self {
            Self::Power(refusal) => refusal.next_step(),
            Self::Call(_) => NextStep::Doctor,
        }
    }
}

/// Codex takes the instructions of a thread instead of the user's own: those would be lost.
fn add_users_instructions(start: &mut ThreadStart, config: &EffectiveConfig) {
    let users = config.developer_instructions.as_deref().filter(|text| !text.trim().is_empty());
    if let (Some(users), Some(ours)) = (users, &mut start.developer_instructions) {
        *ours = format!("{users}\n\n{ours}");
    }
}

/// Switches the tool `update_plan` on, which newer versions of Codex leave out: without it there is no plan to show. The
/// user's own setting for it stays in force.
fn offer_plan(start: &mut ThreadStart, layers: &[Value]) {
    let is_decided = |layer: &Value| layer.pointer("/config/tools/update_plan/enabled").is_some();
    if !layers.iter().any(is_decided) {
        start.config.entry(PLAN_KEY).or_insert(Value::Bool(true));
    }
}

impl Host {
    /// Starts a thread. It is refused, and released, if it would have more power than requested.
    pub async fn start_thread(&self, asked: &ThreadStart) -> Result<OpenThread, ThreadError> {
        let types_tools = self.version().types_tools();
        self.open_thread(asked, Origin::New, |mut sent| {
            sent.experimental_raw_events = true;
            for tool in sent.dynamic_tools.iter_mut().filter(|_| types_tools) {
                tool.kind = Some(DynamicToolKind::Function);
            }
            sent
        })
        .await
    }

    /// Resumes a thread with all requested options. It is refused, and released, if it would have more power than
    /// requested; its file remains.
    pub async fn resume_thread(
        &self,
        thread: &ThreadId,
        asked: &ThreadStart,
    ) -> Result<OpenThread, ThreadError> {
        self.open_thread(asked, Origin::Known, |sent| ThreadResume::new(thread.clone(), &sent)).await
    }

    /// Forks a thread into an ephemeral one. It is refused, and released, if it would have more power than requested.
    pub async fn fork_thread(
        &self,
        thread: &ThreadId,
        asked: &ThreadStart,
    ) -> Result<OpenThread, ThreadError> {
        self.open_thread(asked, Origin::Known, |sent| ThreadFork::new(thread.clone(), &sent)).await
    }

    /// Forks a thread into one that Codex keeps, whole or up to a turn. It is refused, and released, if it would have more power
    /// than requested.
    pub(crate) async fn copy_thread(
        &self,
        thread: &ThreadId,
        last_turn: Option<TurnId>,
        asked: &ThreadStart,
    ) -> Result<OpenThread, ThreadError> {
        self.open_thread(asked, Origin::Known, |sent| ThreadFork::kept(thread.clone(), &sent, last_turn))
            .await
    }

    /// Sends the call that `call` makes of what is to be sent, and compares the answer with what was asked.
    async fn open_thread<C: Call<Reply = ThreadStartReply>>(
        &self,
        asked: &ThreadStart,
        origin: Origin,
        call: impl FnOnce(ThreadStart) -> C,
    ) -> Result<OpenThread, ThreadError> {
        let _opening = self.thread_slots().begin_opening();
        let Prepared { asked, sent, profile, warnings } = self.prepare(asked).await?;
        let reply = self.call(&call(sent)).await?;
        match self.check(&asked, &reply, profile.as_deref()) {
            Ok(standing) => Ok(OpenThread { warnings, ..self.open(reply, standing, origin.raw_events()) }),
            Err(refusal) => {
                match origin {
                    Origin::New => self.discard(reply.thread.id).await,
                    Origin::Known => self.release_thread(&reply.thread.id).await,
                }
                Err(refusal.into())
            }
        }
    }

    /// Asks the model of a finished thread one question that leaves no trace there. Dropping this ends the question.
    pub async fn sample_thread(
        &self,
        thread: &ThreadId,
        turn: &TurnId,
        prompt: &str,
        limit: Duration,
    ) -> Result<ThreadSampleReply, CallError> {
        let (thread_id, expected_turn_id) = (thread.clone(), turn.clone());
        let sample = ThreadSample { thread_id, expected_turn_id, prompt: prompt.to_owned() };
        self.call_cancellable(&sample, limit, |request_id| ThreadSampleCancel { request_id }).await
    }

    /// Asks what a thread does. Cheap, however long it is: the check for one that has been quiet.
    pub async fn thread_status(&self, thread: &ThreadId) -> Result<ThreadStatus, CallError> {
        let read = ThreadRead { thread_id: thread.clone(), include_turns: false };
        self.call(&read).await.map(|reply| reply.thread.status)
    }

    /// Reads a thread with its turns, without resuming it. A loaded one that had no turn yet has none. A refusal is
    /// retried a few times: both versions refuse for a moment while the first turn of a thread begins. The whole thread
    /// is one message (0.166 reports up to 66 KB of each command's output), so this is not for polling.
    pub async fn read_thread(&self, thread: &ThreadId) -> Result<History, CallError> {
        let mut reads = 1;
        loop {
            match self.read_once(thread).await {
                Err(CallError::Refused { .. }) if reads < READS => {
                    tokio::time::sleep(pause(reads)).await;
                    reads += 1;
                }
                result => return result,
            }
        }
    }

    async fn read_once(&self, thread: &ThreadId) -> Result<History, CallError> {
        let read = |include_turns| ThreadRead { thread_id: thread.clone(), include_turns };
        let refusal = match self.call(&read(true)).await {
            Ok(reply) => return Ok(reply.thread),
            Err(error @ CallError::Refused { .. }) => error,
            Err(error) => return Err(error),
        };
        // Both versions refuse to list the turns of a thread in which no one said anything, each in its own words.
        match self.call(&read(false)).await {
            Ok(reply) if reply.thread.status == ThreadStatus::Idle && reply.thread.preview.is_empty() => {
                Ok(reply.thread)
            }
            _ => Err(refusal),
        }
    }

    /// Sends the model of a thread a text before its next turn. It is no turn, and no one sees it.
    pub async fn seed_thread(&self, thread: &ThreadId, text: &str) -> Result<(), CallError> {
        let items = vec![InjectedMessage::from_user(text)];
        self.call(&ThreadInjectItems { thread_id: thread.clone(), items }).await.map(drop)
    }

    /// Unsubscribes from a thread. Codex unloads it after a while; its file remains.
    pub async fn release_thread(&self, thread: &ThreadId) {
        // A Codex that does not take this keeps a thread loaded on which nothing runs: no harm is done.
        let _ = self.call(&ThreadUnsubscribe { thread_id: thread.clone() }).await;
    }

    /// Makes Codex unload an idle thread, so that the next resume applies what it asks for: Codex ignores that while a thread is
    /// loaded, and only an archived one is unloaded at once. Its background commands end. A refusal is no error as long as the
    /// thread is not loaded afterwards; an engine that ends in between leaves an archived thread, which
    /// [`Self::restore_thread`] restores.
    pub async fn unload_thread(&self, thread: &ThreadId) -> Result<(), CallError> {
        let archived = self.call(&ThreadArchive { thread_id: thread.clone() }).await.map(drop);
        faults::point("codex:archived").await;
        self.restore_thread(thread).await?;
        match archived {
            Ok(()) => Ok(()),
            Err(error) if self.loaded_threads().await?.contains(thread) => Err(error),
            Err(_) => Ok(()),
        }
    }

    /// Takes a thread out of the archive, if it is there.
    pub async fn restore_thread(&self, thread: &ThreadId) -> Result<(), CallError> {
        match self.call(&ThreadUnarchive { thread_id: thread.clone() }).await {
            // It was not archived, or this Codex cannot say so.
            Ok(_) | Err(CallError::Refused { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether a thread has exactly the sandbox and the approval policy that are asked for.
    pub fn is_as_asked(&self, standing: &PowerCheck, asked: &ThreadStart) -> bool {
        power::is_as_asked(asked, &standing.in_force, self.codex_home())
    }

    /// Archives a thread that no conversation has.
    pub(crate) async fn discard(&self, thread: ThreadId) {
        // 0.130 cannot archive a thread that it has not written yet.
        if self.call(&ThreadArchive { thread_id: thread.clone() }).await.is_err() {
            self.release_thread(&thread).await;
        }
    }

    /// The message for the requested options: Codex must not write its configuration because of it, nor mix the
    /// user's servers with others of the same names, and its sandbox must not show Talaria's own files.
    async fn prepare(&self, asked: &ThreadStart) -> Result<Prepared, CallError> {
        let read = ConfigRead { cwd: asked.cwd.clone(), include_layers: true };
        let (mut config, layers, is_told) = match self.call(&read).await {
            Ok(reply) => (reply.config, reply.layers.unwrap_or_default(), true),
            // A Codex that cannot report its configuration: only our own options are known.
            Err(CallError::Refused { .. }) => (EffectiveConfig::default(), Vec::new(), false),
            Err(error) => return Err(error),
        };
        let mut start = asked.clone();
        add_users_instructions(&mut start, &config);
        offer_plan(&mut start, &layers);
        let git_roots = trust::git_roots(Path::new(&start.cwd));
        trust::add_where_needed(&mut start, &config, &git_roots);
        let users = is_told.then(|| config.mcp_servers.take().unwrap_or_default());
        let mut warnings = users_servers::yield_to_users(&mut start, users.as_ref());
        match self.hide(&start, &config) {
            Ok(None) => Ok(Prepared { sent: start.clone(), asked: start, profile: None, warnings }),
            Ok(Some((sandbox, HidingStart { sent, profile }))) => {
                // The user's configuration decides only as far as the profile says.
                start.sandbox = start.sandbox.or(sandbox);
                Ok(Prepared { asked: start, sent, profile: Some(profile), warnings })
            }
            Err(why) => {
                warnings.push(format!("{SHOWN}: {why}"));
                Ok(Prepared { sent: start.clone(), asked: start, profile: None, warnings })
            }
        }
    }

    /// Makes a start hide what is Talaria's own, where that is wanted; says why it cannot where it is not known which
    /// sandbox there would be.
    fn hide(
        &self,
        start: &ThreadStart,
        config: &EffectiveConfig,
    ) -> Result<Option<(Option<Sandbox>, HidingStart)>, &'static str> {
        let sandbox = ExpectedSandbox::of(start, config, trust::of(config, &start.cwd));
        let by_config = || config.approval_policy.as_ref()?.as_str()?.parse().ok();
        let open = sandbox.openness(start.approval_policy.or_else(by_config));
        // Where the sandbox is not known, it may be the most open one that can hide anything.
        if !hiding::hides(start.hide_home, self.version(), open.unwrap_or(Openness::Network)) {
            return Ok(None);
        }
        let hidden = match &sandbox {
            ExpectedSandbox::Policy(policy) => self.hidden_paths(policy, &start.cwd),
            ExpectedSandbox::Profile { .. } => self.hidden_paths_anywhere(),
            ExpectedSandbox::Unknown { why } if self.spec().home.is_some() => return Err(why),
            ExpectedSandbox::Unknown { .. } => return Ok(None),
        };
        if hidden.is_empty() {
            return Ok(None);
        }
        Ok(HidingStart::new(start, &sandbox, &hidden).map(|hiding| (sandbox.mode(), hiding)))
    }

    /// Note for the user about a thread resumed with its old settings: an older Talaria hid nothing.
    pub fn shown_files(&self, standing: &PowerCheck, asked: &ThreadStart) -> Option<String> {
        let InForce { sandbox, approval, profile, .. } = &standing.in_force;
        let policy = Confined::in_force(sandbox, &standing.in_force.cwd).policy;
        let open = Openness::of(&policy, approval.parse().ok());
        let is_shown = self.spec().home.is_some()
            && profile.as_deref().is_none_or(|name| name.starts_with(':'))
            && hiding::hides(asked.hide_home, self.version(), open);
        is_shown.then(|| format!("{SHOWN}: it was opened before they could be hidden"))
    }

    fn check(
        &self,
        asked: &ThreadStart,
        reply: &ThreadStartReply,
        profile: Option<&str>,
    ) -> Result<PowerCheck, Refusal> {
        let mut reply = reply.clone();
        if is_same_place(&asked.cwd, &reply.cwd) {
            reply.cwd.clone_from(&asked.cwd);
        }
        power::compare(asked, &reply, self.codex_home(), profile)
    }

    pub(super) fn open(
        &self,
        reply: ThreadStartReply,
        standing: PowerCheck,
        raw_events: RawEvents,
    ) -> OpenThread {
        let bounds =
            ThreadBounds::new(&reply.sandbox, &reply.approval_policy, &reply.cwd, self.version().clone());
        let started = project::started(reply, self.version().to_string());
        let queue = self.router().follow(started.thread.clone());
        self.thread_slots().loaded(&started.thread, standing.in_force.sandbox.clone());
        OpenThread { started, bounds, standing, raw_events, warnings: Vec::new(), queue }
    }
}

/// Two names of one directory, where a system or a Codex follows links.
fn is_same_place(asked: &str, told: &str) -> bool {
    let place = |path: &str| Path::new(path).canonicalize().ok();
    place(asked).is_some_and(|asked| place(told) == Some(asked))
}
