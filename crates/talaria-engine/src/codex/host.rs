//! A host: one running `codex app-server` with many threads.
//!
//! Starting one first ends what dead owners left behind; closing one ends the process and everything below it, and so
//! does dropping it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use talaria_core::ids::{RequestId, ThreadId};
use talaria_core::version::Version;
use talaria_core::wire::call::{AccountRead, AccountReadReply, Call, InitializeReply, ThreadLoadedList};

use super::client::CallError;
use super::complaints::Mark;
use super::connection::{CALL_LIMIT, Connection};
use super::directory::HostDirectory;
use super::environment::{self, Overlay};
use super::live_turns::{LiveTurns, TurnGuard};
use super::locate::CodexBinary;
use super::process::Process;
use super::queue::Queue;
use super::router::Router;
use super::sweep;
use super::transport::{self, Incoming, Outgoing, Transport};

/// How long Codex may take until it listens. A first start on a slow disk takes seconds.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How many lines of standard error are quoted when Codex does not come up.
const QUOTED: usize = 12;

/// What to start.
#[derive(Clone, Debug)]
pub struct HostSpec {
    /// The program.
    pub binary: PathBuf,
    /// Its version.
    pub version: Version,
    /// Where Codex keeps its things; `None` leaves it to the environment.
    pub codex_home: Option<PathBuf>,
    /// Where hosts have their private directories.
    pub hosts: PathBuf,
    /// How to talk to it.
    pub transport: Transport,
    /// A directory that the npm launcher puts in front of PATH (it holds `rg`), when the launcher is not used.
    pub path_dir: Option<PathBuf>,
    /// More variables for its environment.
    pub environment: Vec<(OsString, OsString)>,
}

impl HostSpec {
    /// The usual way to start a Codex that was found.
    pub fn new(codex: &CodexBinary, codex_home: Option<PathBuf>, hosts: PathBuf) -> Self {
        Self {
            binary: codex.path.clone(),
            version: codex.version.clone(),
            codex_home,
            hosts,
            transport: if codex.version.has_unix_socket() { Transport::UnixSocket } else { Transport::Stdio },
            path_dir: codex.path_dir.clone(),
            environment: Vec::new(),
        }
    }
}

/// Why a host could not be started.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Its private directory could not be made.
    #[error("cannot prepare the directory {} for Codex: {cause}", path.display())]
    Directory {
        /// Where.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The program could not be run.
    #[error("cannot run {}: {cause}", path.display())]
    Spawn {
        /// The program.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// It did not come up.
    #[error("Codex did not start: {why}")]
    NotUp {
        /// What happened, with its last words.
        why: String,
    },
    /// It came up, but did not greet back. It was ended: a connection without a greeting is of no use.
    #[error("Codex does not take our greeting: {0}")]
    Greeting(#[from] CallError),
}

impl HostError {
    /// What a person can do about it.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::Directory { .. } => {
                "make room there, or set TALARIA_HOME to a directory that you can write"
            }
            Self::Spawn { .. } => "install Codex with `talaria setup`, or set codex.bin to where it is",
            Self::NotUp { .. } | Self::Greeting(_) => "run `talaria doctor` to see what is wrong",
        }
    }

    /// May another try end otherwise?
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::NotUp { .. } | Self::Greeting(_))
    }
}

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
}

impl Host {
    /// Starts a Codex and greets it. First ends what dead owners left behind.
    pub async fn start(spec: HostSpec) -> Result<Self, HostError> {
        sweep::sweep(&spec.hosts);
        let nonce = &uuid::Uuid::new_v4().simple().to_string()[..16];
        let directory_error = |cause| HostError::Directory { path: spec.hosts.clone(), cause };
        let directory = HostDirectory::create(&spec.hosts, nonce).map_err(directory_error)?;
        let private_tmp = directory.tmp();
        let overlay = Overlay {
            codex_home: spec.codex_home.as_deref(),
            path_dir: spec.path_dir.as_deref(),
            nonce,
            private_tmp: &private_tmp,
        };
        let mut environment = environment::compose(std::env::vars_os(), &overlay);
        environment.extend(spec.environment.iter().cloned());
        let arguments = arguments(spec.transport, &directory.socket());
        let working_directory = directory.working_directory();
        let (process, pipes) = Process::start(
            &spec.binary,
            &arguments,
            &working_directory,
            environment,
            Some(nonce),
            spec.transport,
        )
        .map_err(|cause| HostError::Spawn { path: spec.binary.clone(), cause })?;
        let started = super::descendants::started(process.pid());
        directory.record(process.pid(), started.as_deref()).map_err(directory_error)?;
        let (incoming, outgoing) = match pipes {
            Some((stdin, stdout)) => transport::stdio(stdin, stdout),
            None => connect(&process, &directory.socket()).await?,
        };
        let (connection, greeting) = Connection::open(process, incoming, outgoing).await?;
        // The program may have been replaced since it was looked at; what runs now is what it says itself.
        let version = version_in(&greeting.user_agent).unwrap_or_else(|| spec.version.clone());
        Ok(Self { connection, spec, version, greeting, directory, live_turns: LiveTurns::default() })
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

    /// Does the process run, and is the connection to it whole?
    pub fn is_alive(&self) -> bool {
        self.gone().is_none() && self.connection.process.exit_status().is_none()
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

    /// Counts a turn of this thread as running for as long as the guard lives.
    pub fn enter_turn(&self, thread: &ThreadId) -> TurnGuard {
        self.live_turns.enter(thread)
    }

    /// Does a turn of another thread run here? Then the process must not be ended because of this one.
    pub fn has_other_turns(&self, thread: &ThreadId) -> bool {
        self.live_turns.has_others(thread)
    }

    /// How many turns run here.
    pub fn turns(&self) -> usize {
        self.live_turns.count()
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
        self.connection.process.end().await;
        self.directory.remove();
    }

    /// Ends a wedged process and everything below it, whoever else holds this host. Whoever waits for an answer is told
    /// `why` at once, and so is every session.
    pub async fn terminate(&self, why: &str) {
        self.connection.give_up(why);
        self.kill().await;
    }

    /// Ends the process and everything below it without asking, for a person who does not want to wait.
    pub async fn kill(&self) {
        self.connection.process.end_now().await;
        self.directory.remove();
    }
}

impl Drop for Host {
    /// A host that is dropped without being closed, also half-way through a panic, leaves nothing behind.
    fn drop(&mut self) {
        self.connection.process.kill_all();
    }
}

/// The version in what a server calls itself: `talaria/0.166.0 (Debian 12; x86_64) …`.
fn version_in(user_agent: &str) -> Option<Version> {
    let (_, rest) = user_agent.split_once('/')?;
    rest.split_whitespace().next()?.parse().ok()
}

fn arguments(transport: Transport, socket: &Path) -> Vec<OsString> {
    let mut arguments = vec![OsString::from("app-server")];
    if transport == Transport::UnixSocket {
        let mut listen = OsString::from("unix://");
        listen.push(socket);
        arguments.extend([OsString::from("--listen"), listen]);
    }
    arguments
}

/// Connects as soon as Codex listens.
async fn connect(process: &Process, socket: &Path) -> Result<(Incoming, Outgoing), HostError> {
    let mut last_error = None;
    let attempt = async {
        loop {
            match transport::connect(socket).await {
                Ok(halves) => return Ok(halves),
                Err(error) if process.exit_status().is_none() => {
                    last_error = Some(error);
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Err(_) => return Err(HostError::NotUp { why: process.last_words().await }),
            }
        }
    };
    match tokio::time::timeout(START_LIMIT, attempt).await {
        Ok(connected) => connected,
        Err(_) => {
            let tail = process.complaints().quoted(QUOTED);
            process.end().await;
            let error = last_error.map(|error| format!(" ({error})")).unwrap_or_default();
            let why = format!("it could not be reached within {} s{error}{tail}", START_LIMIT.as_secs());
            Err(HostError::NotUp { why })
        }
    }
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
