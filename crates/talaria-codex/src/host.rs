//! A host: one running `codex app-server` with many threads.
//!
//! A private one belongs to this process: dropping it ends it and everything below it, and if we are killed the next
//! start does. A kept one belongs to the engine of a home: it goes on when it is dropped and when we die, and another
//! engine attaches to it (`adoption`). Closing ends either.

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
use super::complaints::Mark;
use super::connection::{CALL_LIMIT, Connection};
use super::directory::HostDirectory;
use super::keeping::Register;
use super::live_turns::{BackgroundGuard, LiveTurns, TurnGuard};
use super::queue::Queue;
use super::router::Router;
use super::seats::Seats;
pub use super::spec::{HostSpec, Surroundings};
use crate::permit::SendPermit;

mod adoption;
mod error;
mod launch;

pub use adoption::{AttachError, reap_strays};
pub use error::HostError;

/// What a Codex does when it is asked for a sign of life.
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
    seats: Seats,
    keeping: Option<Keeping>,
}

/// What a host needs to know that outlives us.
#[derive(Debug)]
struct Keeping {
    nonce: String,
    register: Arc<dyn Register>,
}

impl Host {
    /// Starts a Codex of our own and greets it. First ends what dead owners left behind.
    pub async fn start(spec: HostSpec) -> Result<Self, HostError> {
        launch::start(spec).await
    }

    /// Starts a Codex that belongs to the engine of a home, and greets it, unless the engine ends before. It is written
    /// down before it is spawned and after; once this has returned, only `close`, `kill` and `terminate` end it. One that
    /// talks over stdio cannot be kept, since it ends with whoever started it.
    pub async fn start_kept(
        spec: HostSpec,
        register: Arc<dyn Register>,
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
        // The program may have been replaced since it was looked at; what runs now is what it says itself.
        let version = version_in(&greeting.user_agent).unwrap_or_else(|| spec.version.clone());
        let (live_turns, seats) = (LiveTurns::default(), Seats::default());
        Self { connection, spec, version, greeting, directory, live_turns, seats, keeping }
    }

    /// How it was started, and how to start another like it.
    pub fn spec(&self) -> &HostSpec {
        &self.spec
    }

    /// The pid of the process.
    pub fn pid(&self) -> i32 {
        self.connection.process.pid()
    }

    /// The version of Codex, as it says itself.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// Where this Codex keeps its things, as it says itself.
    pub fn codex_home(&self) -> Option<&str> {
        self.greeting.codex_home.as_deref()
    }

    /// Why Codex is gone, if it is.
    pub fn gone(&self) -> Option<&str> {
        self.connection.gone()
    }

    /// Does the process run, is the connection to it whole, and is it not about to be ended?
    pub fn is_alive(&self) -> bool {
        self.gone().is_none() && self.connection.process.end_seen().is_none() && !self.live_turns.is_retired()
    }

    /// Does it go on when this process ends?
    pub fn is_kept(&self) -> bool {
        self.keeping.is_some()
    }

    /// The name by which a kept host is written down.
    pub fn nonce(&self) -> Option<&str> {
        self.keeping.as_ref().map(|keeping| keeping.nonce.as_str())
    }

    /// How long ago it was started.
    pub fn age(&self) -> Duration {
        self.directory.recorded_at().and_then(|at| at.elapsed().ok()).unwrap_or_default()
    }

    /// Asks for a sign of life: the evidence by which a silent Codex is told from a wedged one.
    pub async fn probe(&self, limit: Duration) -> Probe {
        match self.connection.client.is_heard(&ThreadLoadedList {}, limit).await {
            Err(CallError::Gone { why }) => Probe::Gone { why },
            Err(CallError::TimedOut { .. }) if self.is_alive() => Probe::Silent { limit },
            Err(CallError::TimedOut { .. }) => {
                let why = self.gone().unwrap_or("Codex ended unexpectedly").to_owned();
                Probe::Gone { why }
            }
            Ok(()) | Err(CallError::Refused { .. } | CallError::Shape { .. }) => Probe::Answers,
        }
    }

    /// Counts a turn of this thread as running for as long as the guard lives. What Codex complained of while none ran is not
    /// the reason of whatever happens to this one.
    pub fn enter_turn(&self, thread: &ThreadId) -> TurnGuard {
        if self.live_turns.count() == 0 {
            self.connection.process.complaints().be_done_with();
        }
        self.live_turns.enter(thread)
    }

    /// Counts the background commands of this thread for as long as the guard lives.
    pub(crate) fn hold_for_background(&self, thread: &ThreadId) -> BackgroundGuard {
        self.live_turns.hold(thread)
    }

    /// Does a turn of another thread run here, or a command of one in the background? Then the process must not be ended because of this one.
    pub fn has_other_turns(&self, thread: &ThreadId) -> bool {
        self.live_turns.has_others(thread)
    }

    /// How many turns run here.
    pub fn turns(&self) -> usize {
        self.live_turns.count()
    }

    /// How many conversations are followed here.
    pub fn threads(&self) -> usize {
        self.connection.router.followers()
    }

    /// How many conversations Codex has loaded here, followed or not: neither version can be told to unload one, and both keep
    /// one for half an hour after nobody follows it.
    pub fn loaded(&self) -> usize {
        self.seats.count().max(self.threads())
    }

    /// Was this thread opened here? Then no other host may have it for as long as this one lives.
    pub fn has_thread(&self, thread: &ThreadId) -> bool {
        self.seats.has(thread)
    }

    /// What commands of a thread may touch that was opened here, as Codex said it.
    pub fn confinement(&self, thread: &ThreadId) -> Option<SandboxInForce> {
        self.seats.confinement(thread)
    }

    /// Takes no new conversation from now on, for this reason; a pool ends it between turns.
    pub fn drain(&self, why: &str) {
        self.seats.drain(why);
    }

    /// Why no new conversation is taken, if none is.
    pub fn draining(&self) -> Option<String> {
        self.seats.draining()
    }

    /// Was its end decided? Then no turn begins here any more.
    pub(crate) fn is_retired(&self) -> bool {
        self.live_turns.is_retired()
    }

    /// Decides its end, unless a turn runs or somebody was promised a place; says whether it is decided.
    pub(crate) fn retire(&self) -> bool {
        self.seats.promised() == 0 && self.live_turns.retire_if_idle()
    }

    /// The threads that this host has room for.
    pub fn seats(&self) -> &Seats {
        &self.seats
    }

    /// Keeps what Codex complains of within bounds; needed only now and then.
    pub(crate) fn read_complaints(&self) {
        self.connection.process.complaints().refresh();
    }

    /// What Codex warned about at its start, before any conversation.
    pub fn warnings(&self) -> Vec<String> {
        self.connection.router.early_warnings()
    }

    /// The last lines of Codex's standard error.
    pub fn stderr_tail(&self, lines: usize) -> Vec<String> {
        self.connection.process.complaints().tail(lines)
    }

    /// How many messages came that this build does not know, and how many that were none.
    pub fn strangers(&self) -> (u64, u64) {
        self.connection.strangers()
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

    /// Who is told what commands print.
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

    /// Where what Codex complained of ends now.
    pub(crate) fn complaints_mark(&self) -> Mark {
        self.connection.process.complaints().mark()
    }

    /// What Codex complained of after a mark.
    pub(crate) fn complaints_since(&self, mark: Mark) -> Vec<String> {
        self.connection.process.complaints().since(mark)
    }

    pub(crate) fn router(&self) -> &Router {
        &self.connection.router
    }

    pub(crate) fn adopt(&self, thread: &ThreadId, queue: &Arc<Queue>) {
        self.connection.router.adopt(thread, queue);
    }

    pub(crate) fn forget(&self, queue: &Arc<Queue>) {
        self.connection.router.forget(queue);
    }

    /// Ends the process and everything below it. Sessions that still run are told that Codex is gone.
    pub async fn close(&self) {
        self.close_because("closed").await;
    }

    /// Ends the process and everything below it, for a reason that is written down.
    pub(crate) async fn close_because(&self, why: &str) {
        self.connection.process.end().await;
        self.settle(why).await;
    }

    /// Ends a wedged process and everything below it, whoever else holds this host. Whoever waits for an answer is told
    /// `why` at once, and so is every session.
    pub async fn terminate(&self, why: &str) {
        self.connection.give_up(why);
        self.connection.process.end_now().await;
        self.settle(why).await;
    }

    /// Ends the process and everything below it without asking, for a person who does not want to wait.
    pub async fn kill(&self) {
        self.connection.process.end_now().await;
        self.settle("killed").await;
    }

    /// Lets go of a kept host: the connection is closed, Codex goes on, and another engine may attach to it. Sessions are
    /// not told, since nothing happened to Codex: drop them before. A private one is left as it is, and ends with us.
    pub fn detach(&self) {
        if self.is_kept() {
            self.connection.hang_up();
            self.directory.leave();
        }
    }

    /// The process has ended: nothing is left of it, and that is written down.
    async fn settle(&self, why: &str) {
        self.directory.remove();
        if let Some(Keeping { nonce, register }) = &self.keeping {
            register.ended(nonce, why).await;
        }
    }
}

impl Drop for Host {
    /// A private host that is dropped without being closed, also half-way through a panic, leaves nothing behind.
    fn drop(&mut self) {
        match self.keeping {
            Some(_) => self.detach(),
            None => self.connection.process.kill_all(),
        }
    }
}

/// The version in what a server calls itself: `talaria/0.166.0 (Debian 12; x86_64) …`.
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
