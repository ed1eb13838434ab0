//! Serves the API over TCP until the engine has ended.
//!
//! Each request: gate, token, limits, then the same routes as on the unix socket. A token that ends meanwhile ends what it
//! began: a request whose body has not arrived is not carried out, a stream is closed.

use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::response::Response;
use futures_util::StreamExt;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::service::TowerToHyperService;
use talaria_core::api::{Problem, ProblemCode};
use talaria_engine::engine::{Engine, TokenCall};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::limits::{OverLimit, WebLimits};
use super::listen::WebListener;
use super::patient::Patient;
use super::{caller, gate::WebGate};
use crate::notice::ServerNotice;
use crate::route::{self, Verb};
use crate::serve::{EXHAUSTED, GRACE, HEAD, converse};
use crate::{handlers, reply};

/// How many connections are served at once. They are apart from those of the unix socket.
const CONNECTIONS: usize = 512;
/// The longest head.
const HEAD_LIMIT: usize = 16 * 1024;

/// Headers of every response: a browser shows and keeps nothing of it.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CACHE_CONTROL, "no-store"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "interest-cohort=()"),
];

/// What all connections share.
struct WebServer {
    engine: Engine,
    routes: Router,
    gate: WebGate,
    trusted_proxies: Vec<IpAddr>,
    limits: WebLimits,
}

/// Serves `engine` on `listener` until it has ended. `tell` receives log messages.
pub async fn serve(engine: Engine, listener: WebListener, tell: impl Fn(ServerNotice)) {
    let WebListener { listener, tls, gate, trusted_proxies, only_proxies, .. } = listener;
    let routes = handlers::routes(engine.clone());
    let server = Arc::new(WebServer {
        engine: engine.clone(),
        routes,
        gate,
        trusted_proxies,
        limits: WebLimits::default(),
    });
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let ending = watch::Sender::new(false);
    let mut running = JoinSet::new();
    let stopped = engine.stopped();
    tokio::pin!(stopped);
    loop {
        let (stream, peer) = tokio::select! {
            () = &mut stopped => break,
            Some(_) = running.join_next() => continue,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tell(ServerNotice::Refused(error.to_string()));
                    tokio::time::sleep(EXHAUSTED).await;
                    continue;
                }
            },
        };
        let peer = peer.ip().to_canonical();
        if only_proxies && !peer.is_loopback() && !server.trusted_proxies.contains(&peer) {
            tell(ServerNotice::NotAProxy(peer));
            continue;
        }
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
            tell(ServerNotice::Full { limit: CONNECTIONS });
            continue;
        };
        let (server, tls, ending) = (Arc::clone(&server), tls.clone(), ending.subscribe());
        running.spawn(async move {
            let _place = place;
            let service = service_fn(move |request: Request<Incoming>| {
                let server = Arc::clone(&server);
                async move { Ok::<_, Infallible>(server.answer(peer, request).await) }
            });
            match tls {
                None => converse(Patient::new(stream), service, HEAD_LIMIT, ending).await,
                Some(tls) => {
                    // A peer that speaks no TLS, or too slowly, is only closed.
                    let shaken =
                        tokio::time::timeout(HEAD, tls.accept(Patient::<TcpStream>::new(stream))).await;
                    if let Ok(Ok(stream)) = shaken {
                        converse(stream, service, HEAD_LIMIT, ending).await;
                    }
                }
            }
        });
    }
    ending.send_replace(true);
    let all = async { while running.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(GRACE, all).await;
    running.shutdown().await;
}

impl WebServer {
    async fn answer(&self, peer: IpAddr, request: Request<Incoming>) -> Response {
        let mut response = match self.admit(peer, request).await {
            Ok(response) => response,
            Err(RefusedCall { problem, retry_after }) => {
                let mut response = reply::refusal(&problem);
                if let Some(wait) = retry_after {
                    let seconds = HeaderValue::from(wait.as_secs().max(1));
                    response.headers_mut().insert(header::RETRY_AFTER, seconds);
                }
                if problem.code == ProblemCode::Unauthenticated {
                    let scheme = HeaderValue::from_static("Bearer");
                    response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
                }
                response
            }
        };
        for (name, value) in HEADERS {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }

    async fn admit(&self, peer: IpAddr, request: Request<Incoming>) -> Result<Response, RefusedCall> {
        let (parts, body) = request.into_parts();
        self.gate.check(&parts)?;
        let from = caller::address(peer, &parts.headers, &self.trusted_proxies);
        let call = self.authenticate(caller::bearer(&parts.headers), from).await?;
        let now = Instant::now();
        self.limits.request(&call.id, now)?;
        let verb = if parts.method == Method::GET { Verb::Get } else { Verb::Post };
        let is_stream = route::find(verb, parts.uri.path()).is_some_and(|(route, _)| route.is_stream());
        let permit = if is_stream { Some(self.limits.stream(&call.id, now)?) } else { None };
        let mut request = Request::from_parts(parts, body);
        request.extensions_mut().insert(call.identity);
        let response = tokio::select! {
            biased;
            () = call.end.clone().reached() => return Err(ended().into()),
            response = TowerToHyperService::new(self.routes.clone()).call(request) => match response {
                Ok(response) => response,
                Err(impossible) => match impossible {},
            },
        };
        if !is_stream {
            return Ok(response);
        }
        let (head, body) = response.into_parts();
        let stream = body.into_data_stream().take_until(hold(call.end.reached(), permit));
        Ok(Response::from_parts(head, Body::from_stream(stream)))
    }

    async fn authenticate(&self, token: Option<&str>, from: IpAddr) -> Result<TokenCall, RefusedCall> {
        let place = from.to_string();
        let Some(token) = token else {
            let what = "a token is needed: `Authorization: Bearer TOKEN`";
            return Err(self.engine.refuse_stranger(what, &place).await.into());
        };
        if let Some(call) = self.engine.find_token(token, &place) {
            return Ok(call);
        }
        if let Some(wait) = self.limits.wrong(from, Instant::now()) {
            let problem = Problem::new(ProblemCode::TooMany, "too many wrong tokens from this address");
            return Err(RefusedCall { problem, retry_after: Some(wait) });
        }
        let what = "this token is not valid: it is wrong, expired or revoked";
        Err(self.engine.refuse_stranger(what, &place).await.into())
    }
}

/// Waits for an end, and keeps a value meanwhile.
async fn hold<T>(end: impl Future<Output = ()>, kept: T) {
    end.await;
    drop(kept);
}

fn ended() -> Problem {
    Problem::new(ProblemCode::Unauthenticated, "the token ended before the request was read")
}

/// A call that is not carried out.
struct RefusedCall {
    problem: Problem,
    retry_after: Option<Duration>,
}

impl From<Problem> for RefusedCall {
    fn from(problem: Problem) -> Self {
        Self { problem, retry_after: None }
    }
}

impl From<OverLimit> for RefusedCall {
    fn from(over: OverLimit) -> Self {
        let message = match over {
            OverLimit::Requests => "this token sends too many requests",
            OverLimit::Streams => "this token has too many open streams",
        };
        let problem =
            Problem::new(ProblemCode::TooMany, message).try_this("wait a moment, or close a stream");
        Self { problem, retry_after: Some(Duration::from_secs(1)) }
    }
}
