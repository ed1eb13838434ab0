//! Accepts connections and serves them, within limits, until the engine has ended.
//!
//! No behaviour of a peer may block the engine or another peer: heads and bodies have size and time limits, the number
//! of connections is limited, and at shutdown a client that has not finished after a moment is cut off.

use std::convert::Infallible;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use talaria_core::api::{Problem, ProblemCode};
use talaria_engine::engine::Engine;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::notice::ServerNotice;
use crate::{bind, handlers, peer, reply};

/// How many connections are served at once.
const CONNECTIONS: usize = 256;
/// How many more get that response at once; beyond that they are only closed.
const TURNED_AWAY: usize = 64;
/// How long a head may take, and how long a connection may be idle.
pub(crate) const HEAD: Duration = Duration::from_secs(10);
/// The longest head.
const HEAD_LIMIT: usize = 64 * 1024;
/// How long what was begun may take when the engine has ended.
pub(crate) const GRACE: Duration = Duration::from_secs(2);
/// How long to wait after the system refused a connection: it is out of something.
pub(crate) const EXHAUSTED: Duration = Duration::from_millis(100);
/// How often someone looks whether the socket is still there.
const LOOK: Duration = Duration::from_secs(5);

/// Serves `engine` on `listener` until it has ended, then removes the socket. `tell` receives log messages.
pub async fn serve(engine: Engine, listener: UnixListener, tell: impl Fn(ServerNotice)) {
    let routes = handlers::routes(engine.clone());
    let mut socket = Socket::of(listener);
    let mut connections = Connections::new();
    let mut look = tokio::time::interval(LOOK);
    let stopped = engine.stopped();
    tokio::pin!(stopped);
    loop {
        tokio::select! {
            () = &mut stopped => break,
            Some(_) = connections.running.join_next() => {}
            _ = look.tick() => socket.restore(&tell),
            accepted = socket.listener.accept() => match accepted {
                Ok((stream, _)) => connections.take(stream, &engine, &routes, &tell),
                Err(error) => {
                    tell(ServerNotice::Refused(error.to_string()));
                    tokio::time::sleep(EXHAUSTED).await;
                }
            }
        }
    }
    socket.remove();
    connections.finish().await;
}

/// Everything that is connected.
struct Connections {
    running: JoinSet<()>,
    own: u32,
    room: Arc<Semaphore>,
    lobby: Arc<Semaphore>,
    ending: watch::Sender<bool>,
}

impl Connections {
    fn new() -> Self {
        Self {
            running: JoinSet::new(),
            own: rustix::process::geteuid().as_raw(),
            room: Arc::new(Semaphore::new(CONNECTIONS)),
            lobby: Arc::new(Semaphore::new(TURNED_AWAY)),
            ending: watch::Sender::new(false),
        }
    }

    fn take(&mut self, stream: UnixStream, engine: &Engine, routes: &Router, tell: &impl Fn(ServerNotice)) {
        if let Some(notice) = peer::turned_away(self.own, stream.peer_cred().map(|peer| peer.uid())) {
            tell(notice);
            return;
        }
        let ending = self.ending.subscribe();
        if let Ok(place) = Arc::clone(&self.room).try_acquire_owned() {
            let (engine, routes) = (engine.clone(), routes.clone());
            self.running.spawn(async move {
                let identity = peer::identify(&engine, &stream);
                let routes = TowerToHyperService::new(routes);
                let service = service_fn(move |mut request: Request<Incoming>| {
                    request.extensions_mut().insert(identity.clone());
                    routes.call(request)
                });
                converse(stream, service, HEAD_LIMIT, ending).await;
                drop(place);
            });
            return;
        }
        tell(ServerNotice::Full { limit: CONNECTIONS });
        if let Ok(place) = Arc::clone(&self.lobby).try_acquire_owned() {
            self.running.spawn(async move {
                let full = converse(stream, service_fn(full), HEAD_LIMIT, ending);
                // It only has to read one sentence.
                let _ = tokio::time::timeout(GRACE, full).await;
                drop(place);
            });
        }
    }

    /// Lets running requests finish, for a moment.
    async fn finish(mut self) {
        self.ending.send_replace(true);
        let all = async { while self.running.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(GRACE, all).await;
        self.running.shutdown().await;
    }
}

/// Serves one connection to its end. Its result is ignored: the peer has it, or is gone.
pub(crate) async fn converse<I, S>(
    stream: I,
    service: S,
    head_limit: usize,
    mut ending: watch::Receiver<bool>,
) where
    I: AsyncRead + AsyncWrite + Unpin,
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(head_limit);
    let connection = http.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => {}
        _ = ending.changed() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

async fn full(_: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let problem = Problem::new(ProblemCode::Overloaded, "the engine has reached its connection limit");
    Ok(reply::refusal(&problem.try_this("end some of the commands that follow a conversation")))
}

/// The socket, and what it looks like while no one has touched it.
struct Socket {
    listener: UnixListener,
    path: Option<PathBuf>,
    file: Option<(u64, u64)>,
}

impl Socket {
    fn of(listener: UnixListener) -> Self {
        let path = listener.local_addr().ok().and_then(|at| at.as_pathname().map(Path::to_owned));
        let file = path.as_deref().and_then(file_at);
        Self { listener, path, file }
    }

    /// Recreates the socket if it was removed: an unreachable engine would lock its home indefinitely.
    fn restore(&mut self, tell: &impl Fn(ServerNotice)) {
        let Some(path) = self.path.as_deref().filter(|path| !path.exists()) else { return };
        let made = bind(path).map(|listener| *self = Self::of(listener));
        tell(ServerNotice::Removed(made.map_err(|error| error.to_string())));
    }

    /// Removes the file, if it is still this socket's.
    fn remove(self) {
        if let Some(path) = self.path.filter(|path| self.file.is_some() && file_at(path) == self.file) {
            // If it remains, the next engine replaces it.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn file_at(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}
