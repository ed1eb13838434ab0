//! The listener: answers each request with the next reply and records the requests.
//!
//! A reply is taken from the first route that claims the request, else from the front of the queue. When both have
//! nothing, the client gets a 500 that says so and [`ScriptedModel::unscripted`] shows the request: a script that is
//! too short must never look like a model that has nothing to say.

use std::collections::VecDeque;
use std::io::Result;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::http::{self, Request};
use crate::rendering::Rendering;
use crate::step::{Answer, HttpBody};
use crate::stream;
use crate::{ModelRequest, Reply, ScriptedFamily};

/// The model that the tools of [`Reply`] belong to: in the catalogue of both versions, and not in code mode.
const MODEL: &str = "gpt-5.5";

type Route = Box<dyn Fn(&ModelRequest) -> Option<Reply> + Send>;

/// A running model server on loopback; it stops, with every stream it holds, when dropped.
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: JoinHandle<()>,
}

struct Shared {
    script: Mutex<Script>,
    /// The number of requests seen: what waiters watch.
    seen: watch::Sender<usize>,
    /// The number of streams whose client closed the connection before the end.
    left: watch::Sender<usize>,
    /// Turns true when the server is dropped, so that open streams end with it.
    stopped: watch::Sender<bool>,
}

#[derive(Default)]
struct Script {
    routes: Vec<Route>,
    queue: VecDeque<Reply>,
    requests: Vec<ModelRequest>,
    unscripted: Vec<ModelRequest>,
    strays: Vec<String>,
}

impl ScriptedModel {
    /// Starts a server on a free loopback port.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script: Mutex::default(),
            seen: watch::Sender::new(0),
            left: watch::Sender::new(0),
            stopped: watch::Sender::new(false),
        });
        let listener = tokio::spawn(accept(listener, shared.clone()));
        Ok(Self { address, shared, listener })
    }

    /// Returns the `base_url` for the provider in Codex's `config.toml`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Appends a reply to the queue that all requests share.
    pub fn push(&self, reply: Reply) {
        self.shared.script().queue.push_back(reply);
    }

    /// Appends a whole script to the queue.
    pub fn play(&self, script: impl IntoIterator<Item = Reply>) {
        self.shared.script().queue.extend(script);
    }

    /// Adds a chooser that is tried before the queue; of several, the first that answers wins.
    ///
    /// It must not call back into this server.
    pub fn route(&self, choose: impl Fn(&ModelRequest) -> Option<Reply> + Send + 'static) {
        self.shared.script().routes.push(Box::new(choose));
    }

    /// Returns every request for a reply so far, in the order of arrival.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.shared.script().requests.clone()
    }

    /// Waits until `count` requests have arrived, then returns them.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<ModelRequest> {
        // The sender lives in `self`, so the channel cannot close while we wait.
        let _ = self.shared.seen.subscribe().wait_for(|seen| *seen >= count).await;
        self.requests()
    }

    /// Waits until the clients of `count` streams have closed their connection before the end.
    pub async fn wait_for_closed_streams(&self, count: usize) {
        let _ = self.shared.left.subscribe().wait_for(|left| *left >= count).await;
    }

    /// Returns the requests for which the script had no reply.
    pub fn unscripted(&self) -> Vec<ModelRequest> {
        self.shared.script().unscripted.clone()
    }

    /// Returns the other requests, such as `GET /v1/models`.
    pub fn strays(&self) -> Vec<String> {
        self.shared.script().strays.clone()
    }

    /// Returns the number of queued replies that are not used yet.
    pub fn unused(&self) -> usize {
        self.shared.script().queue.len()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.listener.abort();
        self.shared.stopped.send_replace(true);
    }
}

impl Shared {
    fn script(&self) -> MutexGuard<'_, Script> {
        // A route that panicked is the test's own failure; the record is still good.
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn choose(&self, asked: Asked) -> (usize, Option<Reply>) {
        let mut script = self.script();
        let number = script.requests.len() + 1;
        let Asked { family, headers, body, text } = asked;
        let request = ModelRequest { number, family, headers, body, text };
        let routed = script.routes.iter().find_map(|route| route(&request));
        let reply = routed.or_else(|| script.queue.pop_front());
        if reply.is_none() {
            script.unscripted.push(request.clone());
        }
        script.requests.push(request);
        drop(script);
        self.seen.send_replace(number);
        (number, reply)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        tokio::spawn(serve(stream, shared.clone()));
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    let mut stopped = shared.stopped.subscribe();
    tokio::select! {
        // A client that disconnects half-way is ordinary: there is no one to report to.
        _ = answer(&mut stream, &shared) => {}
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
}

/// A request for a reply, without its number.
struct Asked {
    family: ScriptedFamily,
    headers: Vec<(String, String)>,
    body: Value,
    text: String,
}

async fn answer(stream: &mut TcpStream, shared: &Shared) -> Result<()> {
    let (reader, mut writer) = stream.split();
    let mut reader = BufReader::new(reader);
    let request = Request::read(&mut reader).await?;
    let target = format!("{} {}", request.method, request.path);
    let family = ScriptedFamily::of_path(&request.path).filter(|_| request.method == "POST");
    let Some(family) = family else {
        shared.script().strays.push(target.clone());
        let (status, body) = match target.as_str() {
            "GET /v1/models" => {
                (200, json!({ "object": "list", "data": [{ "id": MODEL, "object": "model" }] }))
            }
            _ => (404, error(&format!("the scripted model does not serve {target}"))),
        };
        return http::respond_json(&mut writer, status, &[], &body).await;
    };
    let body: Value = match serde_json::from_slice(&request.body) {
        Ok(body) => body,
        Err(cause) => {
            let encoding = request.header("content-encoding").unwrap_or("none");
            let why = format!("the body is not JSON (content-encoding {encoding}): {cause}");
            return http::respond_json(&mut writer, 400, &[], &error(&why)).await;
        }
    };
    let text = String::from_utf8_lossy(&request.body).into_owned();
    let asked = Asked { family, headers: request.headers, body: body.clone(), text };
    let (number, reply) = shared.choose(asked);
    tokio::select! {
        done = write_reply(&mut writer, family, number, &body, reply) => done,
        () = client_gone(&mut reader) => {
            shared.left.send_modify(|left| *left += 1);
            Ok(())
        }
    }
}

async fn write_reply<W: AsyncWrite + Unpin>(
    writer: &mut W,
    family: ScriptedFamily,
    number: usize,
    request: &Value,
    reply: Option<Reply>,
) -> Result<()> {
    let request_id = (family.request_id_header().to_owned(), format!("req_{number}"));
    match reply.map(|reply| reply.0) {
        Some(Answer::Stream(mut answer)) => {
            // Codex prints the id of a request in its own messages, which its scripts do not expect.
            if family != ScriptedFamily::Responses {
                answer.headers.push(request_id);
            }
            let rendering = Rendering::new(family, number, request, &answer);
            if answer.as_json || request["stream"] == false {
                let body = stream::whole(rendering, &answer);
                return http::respond_json(writer, 200, &answer.headers, &body).await;
            }
            http::start_stream(writer, &answer.headers).await?;
            stream::play(writer, rendering, &answer).await
        }
        Some(Answer::Http { status, mut headers, body }) => match body {
            HttpBody::Json(body) => http::respond_json(writer, status, &headers, &body).await,
            HttpBody::Text { content_type, text } => {
                http::respond(writer, status, &headers, &content_type, &text).await
            }
            HttpBody::Error { code, message } => {
                headers.push(request_id);
                let body = family.error_body(status, &code, &message, number);
                http::respond_json(writer, status, &headers, &body).await
            }
        },
        Some(Answer::Raw(steps)) => stream::play_raw(writer, &steps).await,
        None => {
            let why = format!("the script has no reply for request {number}");
            http::respond_json(writer, 500, &[], &error(&why)).await
        }
    }
}

async fn client_gone<R: AsyncRead + Unpin>(reader: &mut R) {
    let mut scratch = [0; 256];
    while matches!(reader.read(&mut scratch).await, Ok(length) if length > 0) {}
}

fn error(message: &str) -> Value {
    json!({ "error": { "type": "scripted_model", "message": message } })
}
