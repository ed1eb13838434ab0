//! A host: one running `codex app-server` with many threads.
//!
//! A private host belongs to this process: dropping it ends it and its descendants, and if we are killed the next start
//! does. A kept host belongs to the engine of a home: it keeps running when this value is dropped and when we die, and
//! another engine attaches to it (`adoption`). Closing ends either.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use talaria_codex_proto::power::SandboxInForce;
use talaria_codex_proto::wire::call::{
    AccountRead, AccountReadReply, Call, InitializeReply, ThreadLoadedList,
};
use talaria_core::ids::{RequestId, ThreadId};
use talaria_core::version::Version;
use tokio_util::sync::CancellationToken;

use super::client::CallError;
use super::command_output::CommandOutputs;
use super::connection::{CALL_LIMIT, Connection};
use super::directory::HostDirectory;
use super::host_register::HostRegister;
use super::live_turns::{BackgroundGuard, LiveTurns, TurnGuard};
use super::queue::ThreadQueue;
use super::router::Router;
pub use super::spec::{HostSpec, Surroundings};
use super::stderr::StderrMark;
use super::thread_slots::ThreadSlots;
use crate::permit::SendPermit;

mod adoption;
mod error;
mod launch;

pub use adoption::{AttachError, reap_strays};
pub use error::HostError;

/// The result of probing a Codex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// It answers.
    Answers,
    /// It runs and did not answer in time: it is wedged, or the machine is.
    Silent {
        /// How long we waited.
        limit: Duration,
    },
    /// It is gone.
    Gone {
        /// What happened.
        why: String,
    },
}

/// A running Codex.
#[derive(Debug)]
pub struct Host {
    connection: Arc<Connection>,
    spec: HostSpec,
    version: Version,
    greeting: InitializeReply,
    directory: HostDirectory,
    live_turns: LiveTurns,
    thread_slots: ThreadSlots,
    keeping: Option<Keeping>,
}

/// Data for recording a kept host.
#[derive(Debug)]
struct Keeping {
    nonce: String,
    register: Arc<dyn HostRegister>,
}

impl Host {
    /// Starts a private Codex and initializes it. First ends what dead owners left running.
    pub async fn start(spec: HostSpec) -> Result<Self, HostError> {
        launch::start(spec).await
    }

    /// Starts a Codex that belongs to the engine of a home and initializes it, unless the engine ends before. It is
    /// recorded before and after the spawn; once this has returned, only `close`, `kill` and `terminate` end it. One
    /// that talks over stdio cannot be kept, since it ends with the process that started it.
    pub async fn start_kept(
        spec: HostSpec,
        register: Arc<dyn HostRegister>,
        ending: CancellationToken,
    ) -> Result<Self, HostError> {
        launch::start_kept(spec, register, ending).await
    }

    fn new(
        connection: Arc<Connection>,
        greeting: InitializeReply,
        spec: HostSpec,
        directory: HostDirectory,
        keeping: Option<Keeping>,
    ) -> Self {
        // The program may have been replaced since it was examined; the greeting says which version runs.
        let version = version_in(&greeting.user_agent).unwrap_or_else(|| spec.version.clone());
        let (live_turns, thread_slots) = (LiveTurns::default(), ThreadSlots::default());
        Self { connection, spec, version, greeting, directory, live_turns, thread_slots, keeping }
    }

    /// How it was started, and how to start another like it.
    pub fn spec(&self) -> &HostSpec {
        &self.spec
    }

    /// The pid of the process.
    pub fn pid(&self) -> i32 {
        self.connection.process.pid()
    }

    /// The version of Codex, as it reports itself.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// The home directory of this Codex, as it reports itself.
    pub fn codex_home(&self) -> Option<&str> {
        self.greeting.codex_home.as_deref()
    }

    /// Why Codex is gone, if it is.
    pub fn end_reason(&self) -> Option<&str> {
        self.connection.end_reason()
    }

    /// Returns whether the process runs, its connection is intact, and it is not retired.
    pub fn is_alive(&self) -> bool {
        self.end_reason().is_none()
            && self.connection.process.end_seen().is_none()
            && !self.live_turns.is_retired()
    }

    /// Returns whether it keeps running when this process ends.
    pub fn is_kept(&self) -> bool {
        self.keeping.is_some()
    }

    /// The name of a kept host in its record.
    pub fn nonce(&self) -> Option<&str> {
        self.keeping.as_ref().map(|keeping| keeping.nonce.as_str())
    }

    /// How long ago it was started.
    pub fn age(&self) -> Duration {
        self.directory.recorded_at().and_then(|at| at.elapsed().ok()).unwrap_or_default()
    }

    /// Sends a cheap request with a time limit: distinguishes a silent Codex from a wedged one.
    pub async fn probe(&self, limit: Duration) -> Probe {
        match self.connection.client.is_heard(&ThreadLoadedList {}, limit).await {
            Err(CallError::Gone { why }) => Probe::Gone { why },
            Err(CallError::TimedOut { .. }) if self.is_alive() => Probe::Silent { limit },
            Err(CallError::TimedOut { .. }) => {
                let why = self.end_reason().unwrap_or("Codex ended unexpectedly").to_owned();
                Probe::Gone { why }
            }
            Ok(()) | Err(CallError::Refused { .. } | CallError::Shape { .. }) => Probe::Answers,
        }
    }

    /// Counts a turn of this thread as running while the guard lives. Lines that Codex wrote to standard error while no
    /// turn ran are not quoted as the reason of a later failure.
    pub fn enter_turn(&self, thread: &ThreadId) -> TurnGuard {
        if self.live_turns.count() == 0 {
            self.connection.process.stderr().stop_quoting();
        }
        self.live_turns.enter(thread)
    }

    /// Counts the background commands of this thread while the guard lives.
    pub(crate) fn hold_for_background(&self, thread: &ThreadId) -> BackgroundGuard {
        self.live_turns.hold(thread)
    }

    /// Returns whether a turn or background command of another thread runs here. Then the process must not be ended
    /// because of this thread.
    pub fn has_other_turns(&self, thread: &ThreadId) -> bool {
        self.live_turns.has_others(thread)
    }

    /// How many turns run here.
    pub fn turns(&self) -> usize {
        self.live_turns.count()
    }

    /// Returns how many conversations have a subscriber here.
    pub fn threads(&self) -> usize {
        self.connection.router.followers()
    }

    /// How many conversations Codex has loaded here, followed or not: neither version can unload one on request, and
    /// both keep one for half an hour after the last subscriber has left.
    pub fn loaded(&self) -> usize {
        self.thread_slots.count().max(self.threads())
    }

    /// Returns the sandbox in force for a thread that was opened here, as Codex reported it.
    pub fn confinement(&self, thread: &ThreadId) -> Option<SandboxInForce> {
        self.thread_slots.confinement(thread)
    }

    /// Accepts no new conversation from now on, for this reason; a pool ends it between turns.
    pub fn drain(&self, why: &str) {
        self.thread_slots.drain(why);
    }

    /// Returns why no new conversation is accepted, if so.
    pub fn draining(&self) -> Option<String> {
        self.thread_slots.draining()
    }

    /// Returns whether it is retired. Then no turn begins here any more.
    pub(crate) fn is_retired(&self) -> bool {
        self.live_turns.is_retired()
    }

    /// Retires the host unless a turn runs or a slot is reserved; returns whether it is retired.
    pub(crate) fn retire(&self) -> bool {
        self.thread_slots.reserved() == 0 && self.live_turns.retire_if_idle()
    }

    /// The thread slots of this host.
    pub fn thread_slots(&self) -> &ThreadSlots {
        &self.thread_slots
    }

    /// Reads pending lines of standard error and truncates a large file; needed only occasionally.
    pub(crate) fn refresh_stderr(&self) {
        self.connection.process.stderr().refresh();
    }

    /// Warnings of Codex at its start, before any conversation.
    pub fn warnings(&self) -> Vec<String> {
        self.connection.router.early_warnings()
    }

    /// Returns the number of unknown messages and the number of corrupt ones.
    pub fn unknown_messages(&self) -> (u64, u64) {
        self.connection.unknown_messages()
    }

    /// Sends a request and waits for the answer, for an ordinary time.
    pub async fn call<C: Call>(&self, params: &C) -> Result<C::Reply, CallError> {
        self.connection.client.call(params, CALL_LIMIT).await
    }

    /// Sends a request that may be written only once, by the engine that redeems the permit.
    pub(crate) async fn call_permitted<C: Call>(
        &self,
        params: &C,
        permit: Option<SendPermit>,
    ) -> Result<C::Reply, CallError> {
        self.connection.client.call_permitted(params, CALL_LIMIT, permit).await
    }

    /// Sends a request and waits for the answer for as long as it takes.
    pub(crate) async fn call_without_limit<C: Call>(&self, params: &C) -> Result<C::Reply, CallError> {
        self.connection.client.call_without_limit(params).await
    }

    /// Sends a request that may take this long and is cancelled when it is not waited for any more.
    pub(crate) async fn call_cancellable<C: Call, X: Call>(
        &self,
        params: &C,
        limit: Duration,
        cancel: impl Fn(RequestId) -> X,
    ) -> Result<C::Reply, CallError> {
        self.connection.client.call_cancellable(params, limit, cancel).await
    }

    /// Subscribers to the output of commands.
    pub(crate) fn commands(&self) -> &CommandOutputs {
        &self.connection.commands
    }

    /// Asks who is logged in. Does not talk to the network.
    pub async fn account(&self) -> Result<AccountReadReply, CallError> {
        self.call(&AccountRead { refresh_token: false }).await
    }

    /// Answers a request of Codex.
    pub(crate) fn respond(&self, id: &RequestId, result: &Value) {
        self.connection.client.respond(id, result);
    }

    /// Sends a response whose write is a point for tests that stop there.
    pub(crate) fn respond_at(&self, point: &'static str, id: &RequestId, result: &Value) {
        self.connection.client.respond_at(point, id, result);
    }

    /// Returns the current position in standard error.
    pub(crate) fn stderr_mark(&self) -> StderrMark {
        self.connection.process.stderr().mark()
    }

    /// Returns the lines of standard error after a mark.
    pub(crate) fn stderr_since(&self, mark: StderrMark) -> Vec<String> {
        self.connection.process.stderr().since(mark)
    }

    pub(crate) fn router(&self) -> &Router {
        &self.connection.router
    }

    pub(crate) fn adopt(&self, thread: &ThreadId, queue: &Arc<ThreadQueue>) {
        self.connection.router.adopt(thread, queue);
    }

    pub(crate) fn forget(&self, queue: &Arc<ThreadQueue>) {
        self.connection.router.forget(queue);
    }

    /// Ends the process and everything below it. Sessions that still run get an event that Codex is gone.
    pub async fn close(&self) {
        self.close_because("closed").await;
    }

    /// Ends the process and everything below it, for a reason that is recorded.
    pub(crate) async fn close_because(&self, why: &str) {
        self.connection.process.end().await;
        self.settle(why).await;
    }

    /// Ends a wedged process and its descendants, even if others hold this host. Pending calls and all sessions
    /// get `why` at once.
    pub async fn terminate(&self, why: &str) {
        self.connection.give_up(why);
        self.connection.process.end_now().await;
        self.settle(why).await;
    }

    /// Kills the process and its descendants, for a user who does not want to wait.
    pub async fn kill(&self) {
        self.connection.process.end_now().await;
        self.settle("killed").await;
    }

    /// Detaches from a kept host: the connection is closed, Codex keeps running, and another engine may attach to it.
    /// Sessions get no event, since nothing happened to Codex: drop them before. A private host is unchanged and ends
    /// with us.
    pub fn detach(&self) {
        if self.is_kept() {
            self.connection.hang_up();
            self.directory.leave();
        }
    }

    /// Removes what is left of an ended process and records its end.
    async fn settle(&self, why: &str) {
        self.directory.remove();
        if let Some(Keeping { nonce, register }) = &self.keeping {
            register.ended(nonce, why).await;
        }
    }
}

impl Drop for Host {
    /// A private host that is dropped without being closed, also during a panic, leaves no process.
    fn drop(&mut self) {
        match self.keeping {
            Some(_) => self.detach(),
            None => self.connection.process.kill_all(),
        }
    }
}

/// Parses the version from a server's user agent: `talaria/0.166.0 (Debian 12; x86_64) …`.
fn version_in(user_agent: &str) -> Option<Version> {
    let (_, rest) = user_agent.split_once('/')?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_what_the_server_calls_itself() {
        let version = |text| version_in(text).map(|version| version.to_string());
        assert_eq!(version("talaria/0.166.0 (Debian 12.0.0; x86_64) xterm").as_deref(), Some("0.166.0"));
        assert_eq!(version("talaria/0.167.0-alpha.3").as_deref(), Some("0.167.0-alpha.3"));
        assert_eq!((version("talaria"), version("talaria/x (1.2.3)")), (None, None));
    }
}
