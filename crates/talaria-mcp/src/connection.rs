//! One server that is connected: how it is started, what it lists, and its calls.
//!
//! Dropping a connection ends it: a program gets the end of its input and its keeper does the rest, a session over HTTP is
//! deleted. What a program prints on its standard error goes to the log, masked and bounded.

use std::error::Error;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ClientRequest,
    Implementation, JsonObject, ServerResult, Tool,
};
use rmcp::service::{PeerRequestOptions, RunningService, serve_client};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::{RoleClient, ServiceError};
use talaria_agent::transport::{ModelTransport, TransportError, TransportStage};
use talaria_guard::plain::one_line;
use talaria_guard::redact::redact;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::keeper::MARK;
use crate::launch::{LaunchWay, ServerKeeper, ServerLaunch};

/// How long the program of a server may take to end.
const ENDING: Duration = Duration::from_secs(3);
/// The most lines of a server that are logged, and the longest one, in bytes.
const MOST_LINES: u32 = 500;
const LONGEST_LINE: u64 = 4 * 1024;
/// The longest words of a server or a system that are quoted.
const LONGEST_WORDS: usize = 400;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ServerFailure {
    /// It does not start, or answers wrongly.
    #[error("it does not start: {0}")]
    Start(String),
    /// It takes too long.
    #[error("it did not answer within {} s; connect_timeout sets how long it may take", .0.as_secs_f32())]
    Slow(Duration),
    /// The engine ends.
    #[error("Talaria is stopping")]
    Closing,
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallFailure {
    /// The server never had it.
    #[error("{0}")]
    NotSent(String),
    /// The server refused it.
    #[error("the server says: {0}")]
    Refused(String),
    /// It may have taken effect: no result came in time.
    #[error("no result within {} s; timeout of the server sets how long a call may take", .0.as_secs_f32())]
    TimedOut(Duration),
    /// It may have taken effect: the server ended, or the connection broke.
    #[error("the server ended or the connection broke while the call ran: {0}")]
    Gone(String),
    /// It may have taken effect: the turn was stopped.
    #[error("the turn was stopped while the call ran")]
    Stopped,
}

/// A connected server.
pub(crate) struct ServerConnection {
    service: RunningService<RoleClient, ClientConfig>,
    /// Ends when the program of the server has.
    program: Option<JoinHandle<String>>,
    tools: Vec<Tool>,
}

impl ServerConnection {
    /// Starts or addresses a server and lists its tools.
    pub(crate) async fn open(
        launch: &ServerLaunch,
        keeper: &ServerKeeper,
        transport: &Arc<ModelTransport>,
    ) -> Result<Self, ServerFailure> {
        let opened = timeout(launch.start_limit, async {
            let (service, program) = connect(launch, keeper, transport).await?;
            let has_tools = service.peer_info().is_none_or(|info| info.capabilities.tools.is_some());
            let tools = match has_tools {
                true => service.list_all_tools().await.map_err(|error| failed(launch, &error))?,
                false => Vec::new(),
            };
            Ok(Self { service, program, tools })
        });
        opened.await.unwrap_or(Err(ServerFailure::Slow(launch.start_limit)))
    }

    /// Its tools, as it listed them when it was started.
    pub(crate) fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Whether it has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.is_transport_closed()
    }

    /// Calls a tool. `stopped` ends the waiting; the server is asked to stop as well.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        limit: Duration,
        stopped: impl Future<Output = ()>,
    ) -> Result<CallToolResult, CallFailure> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = self.service.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let mut handle = sent.map_err(|error| call_failure(&error))?;
        tokio::pin!(stopped);
        let failure = tokio::select! {
            answer = &mut handle.rx => return match answer {
                Ok(Ok(ServerResult::CallToolResult(result))) => Ok(result),
                Ok(Ok(_)) => Err(CallFailure::Refused("it answered with something else than a result".to_owned())),
                Ok(Err(error)) => Err(call_failure(&error)),
                Err(_) => Err(CallFailure::Gone("no answer came".to_owned())),
            },
            () = tokio::time::sleep(limit) => CallFailure::TimedOut(limit),
            () = &mut stopped => CallFailure::Stopped,
        };
        // A server that is gone needs no word.
        let _ = handle.cancel(Some("the client no longer waits".to_owned())).await;
        Err(failure)
    }

    /// Ends it and waits until its program is gone.
    pub(crate) async fn close(self) {
        // A task that panicked has closed its side too.
        let _ = self.service.cancel().await;
        if let Some(program) = self.program {
            // Its keeper kills it before that.
            let _ = timeout(ENDING, program).await;
        }
    }
}

async fn connect(
    launch: &ServerLaunch,
    keeper: &ServerKeeper,
    transport: &Arc<ModelTransport>,
) -> Result<(RunningService<RoleClient, ClientConfig>, Option<JoinHandle<String>>), ServerFailure> {
    // Nothing that a server may ask of its client is offered: no sampling, no roots, no questions.
    let client = ClientConfig::new(
        ClientCapabilities::default(),
        Implementation::new("talaria", env!("CARGO_PKG_VERSION")),
    );
    match &launch.way {
        LaunchWay::Program { argv, environment, cwd } => {
            if !Path::new(cwd).is_dir() {
                return Err(ServerFailure::Start(format!("there is no directory {cwd}")));
            }
            let mark = format!("server-{}", &launch.digest()[..16]);
            let mut command = Command::new(&keeper.program);
            command.args(&keeper.arguments).args(argv).env_clear().envs(environment);
            command.env(MARK, format!("{mark}-{}", std::process::id())).current_dir(cwd).process_group(0);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().map_err(|error| ServerFailure::Start(error.to_string()))?;
            let streams = (child.stdout.take(), child.stdin.take(), child.stderr.take());
            let (Some(output), Some(input), Some(errors)) = streams else {
                return Err(ServerFailure::Start("it has no standard streams".to_owned()));
            };
            let last_words = tokio::spawn(log_errors(launch.clone(), errors, child));
            match serve_client(client, (output, input)).await {
                Ok(service) => Ok((service, Some(last_words))),
                Err(error) => {
                    drop(error);
                    // Its streams are closed: its keeper ends it, and what it printed says why.
                    Err(ServerFailure::Start(match last_words.await {
                        Ok(words) if !words.is_empty() => words,
                        _ => "it ended before it answered".to_owned(),
                    }))
                }
            }
        }
        LaunchWay::Address { url, headers, proxies } => {
            let http =
                crate::http::ServerHttp::new(Arc::clone(transport), headers, proxies, launch.call_limit);
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            let http = StreamableHttpClientTransport::with_client(http, config);
            let service = serve_client(client, http).await.map_err(|error| failed(launch, &error))?;
            Ok((service, None))
        }
    }
}

/// Logs what a server prints, and how it ended. Returns its last line.
async fn log_errors(launch: ServerLaunch, errors: ChildStderr, mut child: Child) -> String {
    let name = launch.name.clone();
    let mut reader = BufReader::new(errors);
    let (mut lines, mut last) = (0, String::new());
    loop {
        let mut line = Vec::new();
        match (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let text = masked(&launch, &String::from_utf8_lossy(&line));
        if text.is_empty() {
            continue;
        }
        lines += 1;
        match lines {
            ..=MOST_LINES => tracing::info!("MCP server {name}: {text}"),
            _ if lines == MOST_LINES + 1 => {
                tracing::info!("MCP server {name}: what it prints from here on is left out");
            }
            _ => {}
        }
        last = text;
    }
    if let Ok(status) = child.wait().await {
        tracing::info!("MCP server {name} has ended: {status}");
    }
    last
}

/// Words of a server on one line, without secrets.
fn masked(launch: &ServerLaunch, text: &str) -> String {
    let mut text = one_line(text.trim()).to_string();
    for secret in launch.secrets() {
        text = text.replace(&secret, "[masked]");
    }
    redact(&text).into_owned()
}

fn failed(launch: &ServerLaunch, error: &dyn Error) -> ServerFailure {
    let text = masked(launch, &innermost(error));
    ServerFailure::Start(text.chars().take(LONGEST_WORDS).collect())
}

/// The words of an error and of what it wraps, unless they are repeated.
fn innermost(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(inner) = next {
        let words = inner.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        next = inner.source();
    }
    text
}

fn call_failure(error: &ServiceError) -> CallFailure {
    let short = |text: String| redact(&one_line(&text)).chars().take(LONGEST_WORDS).collect::<String>();
    match error {
        ServiceError::McpError(error) => CallFailure::Refused(short(error.message.to_string())),
        ServiceError::TransportSend(error) if was_not_sent(error) => {
            CallFailure::NotSent(short(innermost(error)))
        }
        error => CallFailure::Gone(short(innermost(error))),
    }
}

/// Whether it is certain that no byte of a request was sent.
fn was_not_sent(error: &DynamicTransportError) -> bool {
    let http = error.error.downcast_ref::<StreamableHttpError<TransportError>>();
    matches!(http, Some(StreamableHttpError::Client(error)) if error.stage == TransportStage::NotSent)
        || matches!(http, Some(StreamableHttpError::AuthRequired(_)))
}
