//! Extracts the parts of a request: a body, a query, an id. Invalid ones are refused with a message.

use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use talaria_core::access::{Identity, RouteNeed};
use talaria_core::api::{Problem, ProblemCode};
use talaria_core::principal::{BadPrincipal, Principal};
use talaria_engine::engine::Engine;

use crate::reply;
use crate::route::{self, BODY_LIMIT, Verb};

/// How long a body may take.
const BODY: Duration = Duration::from_secs(30);
/// The longest page.
pub(crate) const PAGE: usize = 10_000;

/// A request that is not understood.
#[derive(Debug)]
pub(crate) struct BadRequest(String);

impl IntoResponse for BadRequest {
    fn into_response(self) -> Response {
        reply::refusal(&Problem::new(ProblemCode::BadRequest, self.0))
    }
}

/// A body of JSON.
pub(crate) struct Given<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Given<T> {
    type Rejection = BadRequest;

    async fn from_request(request: Request, _: &S) -> Result<Self, BadRequest> {
        let body = tokio::time::timeout(BODY, to_bytes(request.into_body(), BODY_LIMIT)).await;
        let body = body.map_err(|_| BadRequest("the message did not arrive in time".to_owned()))?;
        let unread = |_| BadRequest(format!("the message is incomplete, or longer than {BODY_LIMIT} bytes"));
        let given = serde_json::from_slice(&body.map_err(unread)?);
        given.map(Self).map_err(|error| BadRequest(format!("the message is not understood: {error}")))
    }
}

/// The query string.
pub(crate) struct Asked<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = BadRequest;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, BadRequest> {
        let query = Query::try_from_uri(&parts.uri);
        query.map(|Query(asked)| Self(asked)).map_err(|error| BadRequest(error.body_text()))
    }
}

/// The id in the path.
pub(crate) struct Id(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = BadRequest;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, BadRequest> {
        let path = Path::from_request_parts(parts, state).await;
        path.map(|Path(id)| Self(id)).map_err(|error| BadRequest(error.body_text()))
    }
}

/// The engine, for the caller of this connection. Who that is was established from its process; the header can only lower
/// what it may do. A caller without any right learns why, whatever it asks, and may ask only who the engine is.
pub(crate) struct Of(pub(crate) Engine);

impl FromRequestParts<Engine> for Of {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, engine: &Engine) -> Result<Self, Response> {
        let identity = parts.extensions.get::<Identity>().cloned();
        let unknown = || reply::refusal(&Problem::new(ProblemCode::Internal, "the peer was not identified"));
        let mut identity = identity.ok_or_else(unknown)?;
        if let Some(claim) = parts.headers.get(route::PRINCIPAL) {
            identity = identity.claiming(&parse_principal(claim).map_err(IntoResponse::into_response)?);
        }
        let engine = engine.for_caller(identity);
        let verb = if parts.method == Method::GET { Verb::Get } else { Verb::Post };
        let (name, needs, id) = match route::find(verb, parts.uri.path()) {
            Some((route, id)) => (route.name, route.needs, id),
            // No scope is enough for what the table does not have, such as HEAD.
            None => ("unknown", RouteNeed::Local, None),
        };
        if name != route::INFO.name {
            engine.admit(name, needs, id.as_deref()).await.map_err(|problem| reply::refusal(&problem))?;
        }
        Ok(Self(engine))
    }
}

fn parse_principal(header: &HeaderValue) -> Result<Principal, BadRequest> {
    let bad = || BadRequest(format!("the header {} names no principal", route::PRINCIPAL));
    let text = route::percent_decoded(header.to_str().map_err(|_| bad())?).ok_or_else(bad)?;
    text.parse().map_err(|error: BadPrincipal| BadRequest(error.to_string()))
}

/// Which numbered rows are requested.
#[derive(Debug, Deserialize)]
#[serde(default)]
pub(crate) struct NumberedRange {
    pub(crate) after: i64,
    limit: usize,
}

impl Default for NumberedRange {
    fn default() -> Self {
        Self { after: 0, limit: 1000 }
    }
}

impl NumberedRange {
    pub(crate) fn limit(&self) -> usize {
        self.limit.min(PAGE)
    }
}

/// Words to be found.
#[derive(Debug, Deserialize)]
pub(crate) struct Words {
    pub(crate) words: String,
    #[serde(default = "some")]
    limit: usize,
}

fn some() -> usize {
    50
}

impl Words {
    pub(crate) fn limit(&self) -> usize {
        self.limit.min(PAGE)
    }
}

/// Start position of a stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct From {
    after: i64,
}

impl From {
    /// `Last-Event-ID` takes precedence over the query: a reader that reconnects sends both.
    pub(crate) fn last_received(&self, headers: &HeaderMap) -> Result<i64, BadRequest> {
        let after = match headers.get("last-event-id") {
            Some(value) => value.to_str().ok().and_then(|text| text.trim().parse().ok()),
            None => Some(self.after),
        };
        let bad = || BadRequest("an event's number is a whole number from 0".to_owned());
        after.filter(|after| *after >= 0).ok_or_else(bad)
    }
}
