//! Sends a rendered request over HTTP/1.1 and returns the response as it arrives. The only part of this crate with I/O.
//!
//! One request is on a connection at a time; connections are kept for the next request. Dropping a response, or the future
//! that waits for one, closes its connection at once. Nothing is retried here, with one exception: a kept connection that
//! the server has closed before anything was written is replaced. Every other failure says how far the request got
//! (`TransportStage`), and the attempt machine decides.
//!
//! Keys are in no error, log or `Debug` output: only this module joins them with a request.

mod connect;
mod error;
mod key;
mod key_mask;
mod key_source;
mod pool;
mod proxy;
mod response;

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::SendRequest;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Request, header};
use tokio::time::timeout;
use url::Url;

use crate::profile::StreamLimits;
use crate::rendered::RenderedRequest;
use connect::ProviderConnector;
use pool::{ConnectionPool, KeptConnection};

pub use error::{TransportCause, TransportError, TransportStage};
pub use key::{ApiKey, BadApiKey, KeyHeader};
pub use key_source::KeyState;
pub use proxy::ProxySettings;
pub use response::{ModelBody, ModelResponse};
pub use talaria_web::Roots;

/// How long each stage of a request may take, and how large a response may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportLimits {
    /// Look-up, connection, proxy and TLS together.
    pub connect: Duration,
    /// From the end of the request to the whole head of the response.
    pub headers: Duration,
    /// Between any two pieces of the body.
    pub idle: Duration,
    /// The whole body.
    pub bytes: u64,
}

impl From<StreamLimits> for TransportLimits {
    fn from(limits: StreamLimits) -> Self {
        Self {
            connect: Duration::from_secs(20),
            headers: limits.headers,
            idle: limits.bytes,
            bytes: 512 * 1024 * 1024,
        }
    }
}

/// Where a request is sent, and how.
#[derive(Clone, Copy, Debug)]
pub struct ModelEndpoint<'a> {
    /// The provider's base URL, without a slash at the end.
    pub base_url: &'a str,
    /// The key and the header that carries it.
    pub key: Option<(&'a ApiKey, KeyHeader)>,
    /// Which proxies are used.
    pub proxies: &'a ProxySettings,
    /// The limits.
    pub limits: TransportLimits,
}

/// Sends model requests; one for the whole process, shared by all conversations.
#[derive(Debug)]
pub struct ModelTransport {
    connector: ProviderConnector,
    pool: ConnectionPool,
}

impl ModelTransport {
    /// Trusts these certificates.
    pub fn new(roots: Roots) -> Self {
        Self { connector: ProviderConnector::new(roots), pool: ConnectionPool::default() }
    }

    /// Sends a request and returns the response with its head read. A status that is an error is a response.
    ///
    /// `on_sending` is called right before the first byte is written, and once more if a kept connection turned out to be
    /// closed: from then on the provider may have the request.
    pub async fn send(
        &self,
        request: &RenderedRequest,
        endpoint: ModelEndpoint<'_>,
        on_sending: &mut (dyn FnMut() + Send),
    ) -> Result<ModelResponse, TransportError> {
        let url = Url::parse(&format!("{}{}", endpoint.base_url, request.path))
            .map_err(|why| TransportError::not_sent(TransportCause::Address, why.to_string()))?;
        let route = endpoint.proxies.route(&url)?;
        let message = build(request, &url, &route, endpoint.key)?;
        let key = route.pool_key(&url);
        while let Some(kept) = self.pool.take(&key).await {
            on_sending();
            match self.exchange(kept, message.clone(), &key, endpoint).await {
                Err(error) if error.stage == TransportStage::NotSent => {}
                other => return other,
            }
        }
        let connecting = self.connector.open(&url, &route);
        let opened = timeout(endpoint.limits.connect, connecting).await;
        let opened = opened.map_err(|_| {
            let text = format!("no connection within {} s", endpoint.limits.connect.as_secs_f32());
            TransportError::not_sent(TransportCause::TimedOut, text)
        })??;
        on_sending();
        self.exchange(opened, message, &key, endpoint).await
    }

    async fn exchange(
        &self,
        mut connection: KeptConnection,
        message: Request<Full<Bytes>>,
        key: &str,
        endpoint: ModelEndpoint<'_>,
    ) -> Result<ModelResponse, TransportError> {
        let limits = endpoint.limits;
        let sending = send_message(&mut connection.sender, message);
        let response = timeout(limits.headers, sending).await.map_err(|_| TransportError {
            stage: TransportStage::Sent,
            cause: TransportCause::TimedOut,
            text: format!("no response within {} s", limits.headers.as_secs_f32()),
        })??;
        Ok(ModelResponse::new(response, connection, self.pool.slot(key), &endpoint))
    }
}

async fn send_message(
    sender: &mut SendRequest<Full<Bytes>>,
    message: Request<Full<Bytes>>,
) -> Result<hyper::Response<hyper::body::Incoming>, TransportError> {
    sender.try_send_request(message).await.map_err(|mut failed| {
        // hyper returns the message if no byte of it was written.
        let stage = match failed.take_message() {
            Some(_) => TransportStage::NotSent,
            None => TransportStage::Sent,
        };
        TransportError::broken(stage, &failed.into_error())
    })
}

fn build(
    request: &RenderedRequest,
    url: &Url,
    route: &proxy::Route,
    key: Option<(&ApiKey, KeyHeader)>,
) -> Result<Request<Full<Bytes>>, TransportError> {
    let bad = |text: String| TransportError::not_sent(TransportCause::Address, text);
    let mut headers = hyper::HeaderMap::new();
    headers.insert(header::HOST, host_header(url).map_err(bad)?);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
    headers
        .insert(header::USER_AGENT, HeaderValue::from_static(concat!("talaria/", env!("CARGO_PKG_VERSION"))));
    for (name, value) in &request.headers {
        let name = HeaderName::try_from(name.as_str())
            .map_err(|_| bad(format!("\"{name}\" is not a name of a header")))?;
        let value = HeaderValue::try_from(value.as_str()).map_err(|_| {
            bad(format!("the value of the header {name} has characters that HTTP does not allow"))
        })?;
        headers.insert(name, value);
    }
    if let Some((key, place)) = key {
        headers.insert(place.name(), key.header_value(place));
    }
    if let Some(login) = route.plain_login() {
        headers.insert(header::PROXY_AUTHORIZATION, login);
    }
    let mut message = Request::new(Full::new(Bytes::from(request.body.clone())));
    *message.method_mut() =
        request.method.parse().map_err(|_| bad(format!("\"{}\" is not a method", request.method)))?;
    *message.uri_mut() =
        route.request_target(url).parse().map_err(|_| bad("the address cannot be requested".to_owned()))?;
    *message.headers_mut() = headers;
    Ok(message)
}

fn host_header(url: &Url) -> Result<HeaderValue, String> {
    let host = url.host_str().ok_or("the address has no host")?;
    let text = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    HeaderValue::try_from(text).map_err(|_| "the host cannot be named in a request".to_owned())
}
