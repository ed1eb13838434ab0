//! Starts a Codex and initializes it. A kept host is recorded before and after the spawn; until it has responded to
//! `initialize` it is private, so that a failed or abandoned start leaves no process.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use talaria_codex_proto::wire::call::InitializeReply;
use tokio_util::sync::CancellationToken;

use super::{Host, HostError, Keeping};
use crate::connection::{CALL_LIMIT, Connection};
use crate::directory::{HostDirectory, HostPaths, Tenure};
use crate::host_register::{HostIntent, HostRegister, StartedProcess};
use crate::identity::OwnHosts;
use crate::process::{self, CodexProcess, Launch, Pipes};
use crate::spec::HostSpec;
use crate::sweep;
use crate::transport::{self, HostTransport, Incoming, Outgoing};
use talaria_home::boot;
use talaria_home::descendants;

/// How long Codex may take until it listens. A first start on a slow disk takes seconds.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How many lines of standard error are quoted when Codex does not start.
const QUOTED: usize = 12;

/// Starts a private host.
pub(super) async fn start(spec: HostSpec) -> Result<Host, HostError> {
    sweep::sweep(&spec.hosts);
    let nonce = mint_nonce(&spec.hosts);
    let directory = create(&spec, &nonce, Tenure::Private)?;
    let (process, pipes) = spawn(&spec, &nonce, &directory, Tenure::Private)?;
    let (connection, greeting) = greet(process, pipes, &directory).await?;
    Ok(Host::new(connection, greeting, spec, directory, None))
}

/// Starts a kept host. A failure after the intent was recorded is recorded as well.
pub(super) async fn start_kept(
    spec: HostSpec,
    register: Arc<dyn HostRegister>,
    ending: CancellationToken,
) -> Result<Host, HostError> {
    if spec.transport == HostTransport::Stdio {
        return Err(HostError::NotUp { why: format!("Codex {} ends with its owner", spec.version) });
    }
    sweep::sweep(&spec.hosts);
    let nonce = mint_nonce(&spec.hosts);
    let place = HostPaths::of(&spec.hosts, &nonce);
    let intent =
        HostIntent { nonce: nonce.clone(), socket: place.socket(), directory: place.root, key: spec.key() };
    register.intend(&intent).await?;
    let up = ending.run_until_cancelled(bring_up(&spec, &nonce, &*register)).await;
    match up.unwrap_or_else(|| Err(HostError::ending())) {
        Ok((connection, greeting, directory)) => {
            connection.process.keep();
            let keeping = Keeping { nonce, register };
            Ok(Host::new(connection, greeting, spec, directory, Some(keeping)))
        }
        Err(error) => {
            // It was killed or asked to end; when this returns, it is gone.
            process::end_carriers(&nonce).await;
            register.ended(&nonce, &error.to_string()).await;
            Err(error)
        }
    }
}

type Up = (Arc<Connection>, InitializeReply, HostDirectory);

async fn bring_up(spec: &HostSpec, nonce: &str, register: &dyn HostRegister) -> Result<Up, HostError> {
    let directory = create(spec, nonce, Tenure::Kept)?;
    let (process, pipes) = spawn(spec, nonce, &directory, Tenure::Kept)?;
    let Some(started) = descendants::start_time(process.pid()) else {
        return Err(HostError::NotUp { why: process.last_words().await });
    };
    let birth = StartedProcess { pid: process.pid(), started, boot: boot::id() };
    if let Err(error) = register.complete(nonce, &birth).await {
        process.end_now().await;
        return Err(error.into());
    }
    let (connection, greeting) = greet(process, pipes, &directory).await?;
    Ok((connection, greeting, directory))
}

/// Names a host after the id of its home, if it has one, so that all descendants of the host carry it.
fn mint_nonce(hosts: &Path) -> String {
    let home = OwnHosts::around(hosts).ids().first().cloned().unwrap_or_default();
    let random = uuid::Uuid::new_v4().simple().to_string();
    home + &random[..16]
}

fn create(spec: &HostSpec, nonce: &str, tenure: Tenure) -> Result<HostDirectory, HostError> {
    HostDirectory::create(&spec.hosts, nonce, tenure).map_err(|cause| directory_error(spec, cause))
}

fn directory_error(spec: &HostSpec, cause: std::io::Error) -> HostError {
    HostError::Directory { path: spec.hosts.clone(), cause }
}

fn spawn(
    spec: &HostSpec,
    nonce: &str,
    directory: &HostDirectory,
    tenure: Tenure,
) -> Result<(CodexProcess, Pipes), HostError> {
    let launch = Launch {
        binary: &spec.binary,
        arguments: arguments(spec, &directory.socket()),
        directory: &directory.working_directory(),
        environment: spec.environment_of(nonce, &directory.tmp()),
        nonce: Some(nonce),
        transport: spec.transport,
        stderr: (tenure == Tenure::Kept).then_some(directory.root()),
    };
    let (process, pipes) =
        CodexProcess::start(launch).map_err(|cause| HostError::Spawn { path: spec.binary.clone(), cause })?;
    let started = descendants::start_time(process.pid());
    directory.record(process.pid(), started.as_deref()).map_err(|cause| directory_error(spec, cause))?;
    Ok((process, pipes))
}

async fn greet(
    process: CodexProcess,
    pipes: Pipes,
    directory: &HostDirectory,
) -> Result<(Arc<Connection>, InitializeReply), HostError> {
    let (incoming, outgoing) = match pipes {
        Some((stdin, stdout)) => transport::stdio(stdin, stdout),
        None => connect(&process, &directory.socket()).await?,
    };
    Ok(Connection::open(process, incoming, outgoing, CALL_LIMIT).await?)
}

fn arguments(spec: &HostSpec, socket: &Path) -> Vec<OsString> {
    let mut arguments = vec![OsString::from("app-server")];
    if spec.transport == HostTransport::UnixSocket {
        let mut listen = OsString::from("unix://");
        listen.push(socket);
        arguments.extend([OsString::from("--listen"), listen]);
    }
    arguments.extend(spec.arguments.iter().cloned());
    arguments
}

/// Connects as soon as Codex listens.
async fn connect(process: &CodexProcess, socket: &Path) -> Result<(Incoming, Outgoing), HostError> {
    let mut last_error = None;
    let attempt = async {
        loop {
            match transport::connect(socket).await {
                Ok(halves) => return Ok(halves),
                Err(error) if process.end_seen().is_none() => {
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
            let tail = process.stderr().quoted(QUOTED);
            process.end().await;
            let error = last_error.map(|error| format!(" ({error})")).unwrap_or_default();
            let why = format!("it could not be reached within {} s{error}{tail}", START_LIMIT.as_secs());
            Err(HostError::NotUp { why })
        }
    }
}
