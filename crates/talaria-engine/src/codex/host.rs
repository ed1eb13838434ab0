//! A host: one running `codex app-server` with many threads.
//!
//! Starting one first ends what dead owners left behind; closing one ends the process and everything below it, and so
//! does dropping it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use talaria_core::event::Started;
use talaria_core::ids::{RequestId, ThreadId};
use talaria_core::project;
use talaria_core::version::Version;
use talaria_core::wire::call::{
    AccountRead, AccountReadReply, Call, ConfigRead, EffectiveConfig, InitializeReply, ThreadStart,
};

use super::client::CallError;
use super::connection::{CALL_LIMIT, Connection};
use super::directory::HostDirectory;
use super::environment::{self, Overlay};
use super::locate::CodexBinary;
use super::process::Process;
use super::queue::Queue;
use super::transport::{self, Incoming, Outgoing, Transport};
use super::{sweep, trust};

/// How long Codex may take until it listens. A first start on a slow disk takes seconds.
const START_LIMIT: Duration = Duration::from_secs(30);
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
    /// It came up, but did not greet back.
    #[error("Codex does not take our greeting: {0}")]
    Greeting(#[from] CallError),
}

/// A running Codex.
#[derive(Debug)]
pub struct Host {
    connection: Arc<Connection>,
    version: Version,
    greeting: InitializeReply,
    directory: HostDirectory,
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
        environment.extend(spec.environment);
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
        Ok(Self { connection, version: spec.version, greeting, directory })
    }

    /// The pid of the process.
    pub fn pid(&self) -> i32 {
        self.connection.process.pid()
    }

    /// The version of Codex.
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

    /// What Codex warned about at its start, before any conversation.
    pub fn warnings(&self) -> Vec<String> {
        self.connection.router.early_warnings()
    }

    /// The last lines of Codex's standard error.
    pub fn stderr_tail(&self, lines: usize) -> Vec<String> {
        self.connection.process.stderr_tail(lines)
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

    /// Starts a thread, without letting Codex write its configuration.
    pub(crate) async fn start_thread(
        &self,
        mut start: ThreadStart,
    ) -> Result<(Started, Arc<Queue>), CallError> {
        let read = ConfigRead { cwd: start.cwd.clone(), include_layers: false };
        let config = match self.call(&read).await {
            Ok(reply) => reply.config,
            // A Codex that cannot tell its configuration: what is known is what we ask for ourselves.
            Err(CallError::Refused { .. }) => EffectiveConfig::default(),
            Err(error) => return Err(error),
        };
        let git_roots = trust::git_roots(Path::new(&start.cwd));
        trust::add_where_needed(&mut start, &config, &git_roots);
        let reply = self.call(&start).await?;
        let started = project::started(reply, self.version.to_string());
        let queue = self.connection.router.follow(started.thread.clone());
        Ok((started, queue))
    }

    /// Answers a request of Codex.
    pub(crate) fn respond(&self, id: &RequestId, result: &Value) {
        self.connection.client.respond(id, result);
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
            let tail = process.quoted_stderr();
            process.end().await;
            let error = last_error.map(|error| format!(" ({error})")).unwrap_or_default();
            let why = format!("it could not be reached within {} s{error}{tail}", START_LIMIT.as_secs());
            Err(HostError::NotUp { why })
        }
    }
}
