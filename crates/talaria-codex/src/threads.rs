//! Threads of a host: starting one, resuming one, reading one, sending a new one what an older one knew.
//!
//! Every start and resume says everything that was asked, keeps Codex from writing its configuration (`trust`), and is
//! checked against what Codex says is in force (`talaria_codex_proto::power`). A thread that would have more power than was
//! asked for is let go before anything runs on it. Called by the session and by `revival`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use talaria_codex_proto::confine::Confined;
use talaria_codex_proto::hiding::{self, ExpectedSandbox, HidingStart, Openness};
use talaria_codex_proto::power::{self, InForce, PowerCheck, Refusal};
use talaria_codex_proto::project;
use talaria_codex_proto::thread_bounds::ThreadBounds;
use talaria_codex_proto::wire::call::{
    ConfigRead, DynamicToolKind, EffectiveConfig, InjectedMessage, ThreadArchive, ThreadFork,
    ThreadInjectItems, ThreadRead, ThreadResume, ThreadSample, ThreadSampleCancel, ThreadSampleReply,
    ThreadStart, ThreadStartReply, ThreadUnsubscribe,
};
use talaria_codex_proto::wire::history::{History, ThreadStatus};
use talaria_core::event::Started;
use talaria_core::ids::{ThreadId, TurnId};
use talaria_core::policy::Sandbox;

use super::client::{CallError, pause};
use super::host::Host;
use super::queue::ThreadQueue;
use super::{trust, users_servers};

/// Begins the warning about a conversation that hides nothing although it should.
const SHOWN: &str = "commands of this conversation can read Talaria's own files in the sandbox";

/// How often a thread is read before a refusal is believed.
const READS: u32 = 4;

/// A thread that is there, and what is in force on it.
#[derive(Debug)]
pub struct OpenThread {
    /// What is in force, for the events.
    pub started: Started,
    /// What bounds commands and patches, for decisions about single requests.
    pub bounds: ThreadBounds,
    /// What is in force, for decisions, and what of it differs from what was asked.
    pub standing: PowerCheck,
    /// Whether Codex also reports what the model said as it is. It does not after a resume: neither version can be
    /// asked to.
    pub raw_events: RawEvents,
    /// What a person should know about MCP servers that were asked for and were replaced by others in the user's Codex.
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

/// What is sent for what was asked.
struct Prepared {
    /// What was asked, which the answer is compared with.
    asked: ThreadStart,
    /// What is sent.
    sent: ThreadStart,
    /// The permission profile that must be in force.
    profile: Option<String>,
    warnings: Vec<String>,
}

/// Why a thread is not there.
#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    /// Codex did not start it, or did not say so.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It would have more power than was asked for; it was let go.
    #[error(transparent)]
    Power(#[from] Refusal),
}

impl ThreadError {
    /// What a person can do about it.
    pub fn next_step(&self) -> String {
        match self {
            Self::Power(refusal) => refusal.next_step(),
            Self::Call(_) => "run `talaria doctor` to check the installation".to_owned(),
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

impl Host {
    /// Starts a thread. It is refused, and let go, if it would have more power than was asked for.
    pub async fn start_thread(&self, asked: &ThreadStart) -> Result<OpenThread, ThreadError> {
        let _opening = self.thread_slots().begin_opening();
        let Prepared { asked, mut sent, profile, warnings } = self.prepare(asked).await?;
        sent.experimental_raw_events = true;
        if self.version().types_tools() {
            for tool in &mut sent.dynamic_tools {
                tool.kind = Some(DynamicToolKind::Function);
            }
        }
        let reply = self.call(&sent).await?;
        match self.check(&asked, &reply, profile.as_deref()) {
            Ok(standing) => Ok(OpenThread { warnings, ..self.open(reply, standing, RawEvents::Told) }),
            Err(refusal) => {
                self.discard(reply.thread.id).await;
                Err(refusal.into())
            }
        }
    }

    /// Takes a thread up again, asking for everything again. It is refused, and let go, if it would have more power than
    /// was asked for; it stays where Codex keeps it.
    pub async fn resume_thread(
        &self,
        thread: &ThreadId,
        asked: &ThreadStart,
    ) -> Result<OpenThread, ThreadError> {
        let _opening = self.thread_slots().begin_opening();
        let Prepared { asked, sent, profile, warnings } = self.prepare(asked).await?;
        let reply = self.call(&ThreadResume::new(thread.clone(), &sent)).await?;
        match self.check(&asked, &reply, profile.as_deref()) {
            Ok(standing) => Ok(OpenThread { warnings, ..self.open(reply, standing, RawEvents::NotTold) }),
            Err(refusal) => {
                self.release_thread(&reply.thread.id).await;
                Err(refusal.into())
            }
        }
    }

    /// Copies a thread into one that only this process has. It is refused, and let go, if it would have more power than was
    /// asked for.
    pub async fn fork_thread(
        &self,
        thread: &ThreadId,
        asked: &ThreadStart,
    ) -> Result<OpenThread, ThreadError> {
        let _opening = self.thread_slots().begin_opening();
        let Prepared { asked, sent, profile, warnings } = self.prepare(asked).await?;
        let reply = self.call(&ThreadFork::new(thread.clone(), &sent)).await?;
        match self.check(&asked, &reply, profile.as_deref()) {
            Ok(standing) => Ok(OpenThread { warnings, ..self.open(reply, standing, RawEvents::NotTold) }),
            Err(refusal) => {
                self.release_thread(&reply.thread.id).await;
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

    /// Reads a thread with its turns, without taking it up. A loaded one that had no turn yet has none. A refusal is
    /// tried again a few times: both versions refuse for a moment while the first turn of a thread begins. All of it
    /// comes in one message (0.166 reports up to 66 KB of each command's output), so this is not for looking in every now
    /// and then.
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

    /// Unsubscribes from a thread. Codex unloads it after a while; it stays where Codex keeps it.
    pub async fn release_thread(&self, thread: &ThreadId) {
        // A Codex that does not take this keeps a thread loaded on which nothing runs: no harm is done.
        let _ = self.call(&ThreadUnsubscribe { thread_id: thread.clone() }).await;
    }

    /// Puts away a thread on which nothing ever ran.
    async fn discard(&self, thread: ThreadId) {
        // 0.130 cannot put away what it has not written yet.
        if self.call(&ThreadArchive { thread_id: thread.clone() }).await.is_err() {
            self.release_thread(&thread).await;
        }
    }

    /// What is sent for what was asked: Codex must not write its configuration because of it, nor mix servers of the
    /// user's with others of the same names, and its sandbox must not show what is Talaria's own.
    async fn prepare(&self, asked: &ThreadStart) -> Result<Prepared, CallError> {
        let read = ConfigRead { cwd: asked.cwd.clone(), include_layers: false };
        let (mut config, is_told) = match self.call(&read).await {
            Ok(reply) => (reply.config, true),
            // A Codex that cannot report its configuration: what is known is what we ask for ourselves.
            Err(CallError::Refused { .. }) => (EffectiveConfig::default(), false),
            Err(error) => return Err(error),
        };
        let mut start = asked.clone();
        add_users_instructions(&mut start, &config);
        let git_roots = trust::git_roots(Path::new(&start.cwd));
        trust::add_where_needed(&mut start, &config, &git_roots);
        let users = is_told.then(|| config.mcp_servers.take().unwrap_or_default());
        let mut warnings = users_servers::yield_to_users(&mut start, users.as_ref());
        match self.hide(&start, &config) {
            Ok(None) => Ok(Prepared { sent: start.clone(), asked: start, profile: None, warnings }),
            Ok(Some((sandbox, HidingStart { sent, profile }))) => {
                // What the user's configuration decided is what the profile says, and no more.
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

    /// What a person should know about a thread that was resumed as it was: an older Talaria hid nothing.
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
