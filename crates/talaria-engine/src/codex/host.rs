//! A host: one running `codex app-server` with many threads.
//!
//! One task reads the socket and never waits for anybody; one task writes. Closing a host ends the process and
//! everything below it. When Codex goes by itself, every waiting call and every session is told why.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use talaria_core::event::Started;
use talaria_core::frame::{Decoded, Frame};
use talaria_core::ids::{RequestId, ThreadId};
use talaria_core::project;
use talaria_core::version::Version;
use talaria_core::wire::call::{
    AccountRead, AccountReadReply, Call, Capabilities, ClientInfo, ConfigRead, EffectiveConfig, Initialize,
    InitializeReply, ThreadStart,
};
use tokio::sync::mpsc;

use super::client::{CallError, Client};
use super::directory::HostDirectory;
use super::environment::{self, Overlay};
use super::locate::CodexBinary;
use super::process::Process;
use super::queue::{Delivery, Queue};
use super::router::Router;
use super::transport::{self, Incoming, Outgoing, Transport};
use super::{sweep, trust};

/// How long Codex may take until it listens. A first start on a slow disk takes seconds.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How long an ordinary request may take.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(30);
/// How long the exit status may come after the end of the connection.
const EXIT_GRACE: Duration = Duration::from_millis(500);

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
    shared: Arc<Shared>,
    version: Version,
    greeting: InitializeReply,
    directory: HostDirectory,
}

#[derive(Debug)]
struct Shared {
    process: Process,
    client: Client,
    router: Router,
    tally: Tally,
    gone: OnceLock<String>,
}

/// Counts of what came in that could not be used.
#[derive(Debug, Default)]
struct Tally {
    unknown: AtomicU64,
    corrupt: AtomicU64,
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
        let (process, pipes) =
            Process::start(&spec.binary, &arguments, &working_directory, environment, spec.transport)
                .map_err(|cause| HostError::Spawn { path: spec.binary.clone(), cause })?;
        let started = super::descendants::started(process.pid());
        directory.record(process.pid(), started.as_deref()).map_err(directory_error)?;
        let (incoming, outgoing) = match pipes {
            Some((stdin, stdout)) => transport::stdio(stdin, stdout),
            None => connect(&process, &directory.socket()).await?,
        };
        let (sender, receiver) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            process,
            client: Client::new(sender),
            router: Router::default(),
            tally: Tally::default(),
            gone: OnceLock::new(),
        });
        tokio::spawn(read(incoming, Arc::clone(&shared)));
        tokio::spawn(write(outgoing, receiver));
        let mut unfinished = Unfinished(Some(Arc::clone(&shared)));
        let greeting = match greet(&shared.client).await {
            Ok(greeting) => greeting,
            Err(error) => {
                shared.process.end().await;
                return Err(error.into());
            }
        };
        unfinished.0 = None;
        Ok(Self { shared, version: spec.version, greeting, directory })
    }

    /// The pid of the process.
    pub fn pid(&self) -> i32 {
        self.shared.process.pid()
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
        self.shared.gone.get().map(String::as_str)
    }

    /// What Codex warned about at its start, before any conversation.
    pub fn warnings(&self) -> Vec<String> {
        self.shared.router.early_warnings()
    }

    /// The last lines of Codex's standard error.
    pub fn stderr_tail(&self, lines: usize) -> Vec<String> {
        self.shared.process.stderr_tail(lines)
    }

    /// How many messages came that this build does not know, and how many that were none.
    pub fn strangers(&self) -> (u64, u64) {
        let tally = &self.shared.tally;
        (tally.unknown.load(Ordering::Relaxed), tally.corrupt.load(Ordering::Relaxed))
    }

    /// Sends a request and waits for the answer, for an ordinary time.
    pub async fn call<C: Call>(&self, params: &C) -> Result<C::Reply, CallError> {
        self.shared.client.call(params, CALL_LIMIT).await
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
        let git_root = trust::git_root(Path::new(&start.cwd));
        trust::add_where_needed(&mut start, &config, git_root.as_deref());
        let reply = self.call(&start).await?;
        let started = project::started(reply, self.version.to_string());
        let queue = self.shared.router.follow(started.thread.clone());
        Ok((started, queue))
    }

    /// Answers a request of Codex.
    pub(crate) fn respond(&self, id: &RequestId, result: &Value) {
        self.shared.client.respond(id, result);
    }

    pub(crate) fn adopt(&self, thread: &ThreadId, queue: &Arc<Queue>) {
        self.shared.router.adopt(thread, queue);
    }

    pub(crate) fn forget(&self, queue: &Arc<Queue>) {
        self.shared.router.forget(queue);
    }

    /// Ends the process and everything below it. Sessions that still run are told that Codex is gone.
    pub async fn close(&self) {
        self.shared.process.end().await;
        self.directory.remove();
    }

    /// Ends the process and everything below it without asking, for a person who does not want to wait.
    pub async fn kill(&self) {
        self.shared.process.end_now().await;
        self.directory.remove();
    }
}

impl Drop for Host {
    /// A host that is dropped without being closed, also half-way through a panic, leaves nothing behind.
    fn drop(&mut self) {
        self.shared.process.kill_all();
    }
}

/// A start that is given up half-way: the tasks hold the process, so nobody else would end it.
struct Unfinished(Option<Arc<Shared>>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            shared.process.kill_all();
        }
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
    let attempt = async {
        loop {
            match transport::connect(socket).await {
                Ok(halves) => return Ok(halves),
                Err(_) if process.exit_status().is_none() => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Err(_) => return Err(HostError::NotUp { why: last_words(process).await }),
            }
        }
    };
    match tokio::time::timeout(START_LIMIT, attempt).await {
        Ok(connected) => connected,
        Err(_) => {
            let tail = quoted(&process.stderr_tail(5));
            process.end().await;
            let why = format!("it did not listen within {} s{tail}", START_LIMIT.as_secs());
            Err(HostError::NotUp { why })
        }
    }
}

async fn greet(client: &Client) -> Result<InitializeReply, CallError> {
    let greeting = Initialize {
        client_info: ClientInfo {
            name: "talaria".to_owned(),
            title: "Talaria".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        capabilities: Capabilities { experimental_api: true },
    };
    let reply = client.call(&greeting, CALL_LIMIT).await?;
    client.notify("initialized");
    Ok(reply)
}

/// Reads to the end of the connection. Nothing in the loop waits for a consumer.
async fn read(mut incoming: Incoming, shared: Arc<Shared>) {
    let end = loop {
        match incoming.next().await {
            Ok(message) => shared.take(message.decode()),
            Err(why) => break why,
        }
    };
    // Closing our half also tells a Codex that only stopped talking.
    drop(incoming);
    shared.process.wait(EXIT_GRACE).await;
    let why = match shared.process.exit_status() {
        Some(_) => last_words(&shared.process).await,
        None => end,
    };
    let why = shared.gone.get_or_init(|| why).clone();
    shared.client.fail_all(&why);
    shared.router.deliver(Delivery::Gone(why));
}

impl Shared {
    fn take(&self, message: Decoded<'_>) {
        match message {
            Decoded::Known(Frame::Response { id, result }) => {
                self.client.resolve(&id, result.map(RawValue::to_owned));
            }
            Decoded::Known(Frame::Notification(notification)) => {
                self.router.deliver(Delivery::Notification(notification));
            }
            Decoded::Known(Frame::Request { id, request }) => {
                self.router.deliver(Delivery::Request { id, request });
            }
            Decoded::Unknown(unknown) => {
                self.tally.unknown.fetch_add(1, Ordering::Relaxed);
                if let Some(id) = &unknown.id {
                    self.client.refuse(id, &unknown.method);
                }
                self.router.deliver(Delivery::Unknown(unknown));
            }
            Decoded::Corrupt(corrupt) => {
                self.tally.corrupt.fetch_add(1, Ordering::Relaxed);
                self.router.deliver(Delivery::Corrupt(corrupt));
            }
        }
    }
}

/// Writes until nobody sends any more, or Codex does not take it.
async fn write(mut outgoing: Outgoing, mut messages: mpsc::UnboundedReceiver<String>) {
    while let Some(message) = messages.recv().await {
        if outgoing.send(message).await.is_err() {
            // The reader learns of the end by itself and says why.
            return;
        }
    }
}

/// How the process ended, in a sentence, with the last lines of its standard error.
async fn last_words(process: &Process) -> String {
    let how = match process.exit_status() {
        Some(status) => format!("Codex ended unexpectedly ({status})"),
        None => "Codex ended unexpectedly".to_owned(),
    };
    // The last lines may still be in the pipe.
    process.drain(EXIT_GRACE).await;
    format!("{how}{}", quoted(&process.stderr_tail(5)))
}

fn quoted(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n  {line}")).collect()
}
