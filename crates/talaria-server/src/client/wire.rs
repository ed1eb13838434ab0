//! One request on one connection: a unix socket is cheap to open, and a fresh one is never half dead.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use talaria_core::api::Problem;
use talaria_core::principal::Principal;
use tokio::net::UnixStream;
use tokio::task::JoinHandle;

use super::ClientError;
use crate::route::{self, Verb};

/// The longest answer that is read.
const ANSWER_LIMIT: usize = 256 * 1024 * 1024;
/// The longest refusal that is read.
const PROBLEM_LIMIT: usize = 1024 * 1024;
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);

/// A request, ready to be sent; it can be sent again.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) verb: Verb,
    /// The path with its query.
    pub(crate) target: String,
    /// JSON, or nothing.
    pub(crate) body: Bytes,
    /// The number of the last event that is known, for a stream.
    pub(crate) last_event: Option<i64>,
    /// On whose behalf it is asked, if not on that of the person who owns the engine.
    pub(crate) principal: Option<Principal>,
}

/// A connection, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Connection(JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sends a question and returns the beginning of the answer, if it is one and not a refusal.
pub(crate) async fn ask(
    socket: &Path,
    question: &Question,
) -> Result<(Response<Incoming>, Connection), ClientError> {
    let stream = tokio::time::timeout(CONNECT, open(socket))
        .await
        .map_err(|_| ClientError::Broken("it does not accept connections".to_owned()))??;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // How the connection ends is seen by the code that reads the answer.
    let connection = Connection(tokio::spawn(async move { drop(connection.await) }));
    let response = sender.send_request(question.request()?).await?;
    if response.status().is_success() {
        return Ok((response, connection));
    }
    let status = response.status();
    let body = Limited::new(response.into_body(), PROBLEM_LIMIT).collect().await;
    let body = body.map_err(|error| ClientError::Broken(error.to_string()))?.to_bytes();
    Err(match serde_json::from_slice::<Problem>(&body) {
        Ok(problem) => ClientError::Problem(problem),
        Err(_) => ClientError::Broken(format!("it answered {status} without a reason")),
    })
}

/// Reads a whole answer.
pub(crate) async fn read<T: DeserializeOwned>(response: Response<Incoming>) -> Result<T, ClientError> {
    let body = Limited::new(response.into_body(), ANSWER_LIMIT).collect().await;
    let body = body.map_err(|error| ClientError::Broken(error.to_string()))?.to_bytes();
    // An empty body means "done".
    let text = if body.is_empty() { &b"null"[..] } else { &body };
    serde_json::from_slice(text)
        .map_err(|error| ClientError::Broken(format!("its answer is not understood: {error}")))
}

impl Question {
    pub(crate) fn get(target: String) -> Self {
        Self { verb: Verb::Get, target, body: Bytes::new(), last_event: None, principal: None }
    }

    pub(crate) fn post(target: String, body: Bytes) -> Self {
        Self { verb: Verb::Post, target, body, last_event: None, principal: None }
    }

    fn request(&self) -> Result<Request<Full<Bytes>>, ClientError> {
        let method = match self.verb {
            Verb::Get => Method::GET,
            Verb::Post => Method::POST,
        };
        let mut request = Request::builder().method(method).uri(&self.target).header(HOST, "talaria");
        if self.verb == Verb::Post {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(last) = self.last_event {
            request = request.header(ACCEPT, "text/event-stream").header("last-event-id", last);
        }
        if let Some(principal) = &self.principal {
            request = request.header(route::PRINCIPAL, route::percent_encoded(&principal.to_string()));
        }
        request
            .body(Full::new(self.body.clone()))
            .map_err(|error| ClientError::Broken(format!("the question cannot be written: {error}")))
    }
}

/// Connects to the engine, if it is ours.
async fn open(socket: &Path) -> Result<UnixStream, ClientError> {
    let refused = |why: String| ClientError::Refused { socket: socket.to_owned(), why };
    let stream = match UnixStream::connect(socket).await {
        Ok(stream) => stream,
        Err(error) => {
            return Err(match error.kind() {
                ErrorKind::NotFound | ErrorKind::ConnectionRefused => ClientError::NotRunning,
                ErrorKind::PermissionDenied => refused(error.to_string()),
                _ => ClientError::Broken(error.to_string()),
            });
        }
    };
    // The content may contain secrets: it is for our own engine only.
    let theirs = stream.peer_cred()?.uid();
    let own = rustix::process::getuid().as_raw();
    if theirs != own {
        return Err(refused(format!("user {theirs} listens there, not you (user {own})")));
    }
    Ok(stream)
}
