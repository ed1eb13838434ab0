//! rmcp's HTTP, over the transport of the model loop: the same certificates, proxies and limits, and no second HTTP client.
//!
//! Owns how a message of MCP becomes a request, and what a status means. A redirect is an error: the headers of the
//! configuration belong to the address of the configuration.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use hyper::header::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use talaria_agent::rendered::{PrefixDigest, RenderedRequest};
use talaria_agent::transport::{
    ModelBody, ModelEndpoint, ModelResponse, ModelTransport, ProxySettings, TransportError, TransportLimits,
};

const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const CONNECT: Duration = Duration::from_secs(20);
/// A stream on which a server may say something later is open for as long as the server is used.
const STANDING: Duration = Duration::from_secs(24 * 60 * 60);
/// The largest response.
const MOST_BYTES: u64 = 32 * 1024 * 1024;
/// The most of an error that is quoted.
const MOST_ERROR: usize = 500;

type HttpResult<T> = Result<T, StreamableHttpError<TransportError>>;

/// The HTTP of one server.
#[derive(Clone)]
pub(crate) struct ServerHttp {
    transport: Arc<ModelTransport>,
    headers: Arc<BTreeMap<String, String>>,
    proxies: Arc<ProxySettings>,
    /// How long a server may take to answer.
    limit: Duration,
}

impl ServerHttp {
    pub(crate) fn new(
        transport: Arc<ModelTransport>,
        headers: &BTreeMap<String, String>,
        proxies: &BTreeMap<String, String>,
        limit: Duration,
    ) -> Self {
        let proxies = ProxySettings::from_variables(|name| proxies.get(name).cloned());
        Self { transport, headers: Arc::new(headers.clone()), proxies: Arc::new(proxies), limit }
    }

    async fn send(
        &self,
        method: &'static str,
        uri: &str,
        body: Vec<u8>,
        more: Vec<(String, String)>,
        idle: Duration,
    ) -> HttpResult<ModelResponse> {
        let own = self.headers.iter().map(|(name, value)| (name.to_lowercase(), value.clone()));
        let headers = own.chain(more).collect();
        let prefix = PrefixDigest::of(&[]);
        let request = RenderedRequest {
            method,
            path: String::new(),
            headers,
            body,
            prefix,
            spans: Vec::new(),
            left_out: Vec::new(),
        };
        let limits = TransportLimits { connect: CONNECT, headers: self.limit, idle, bytes: MOST_BYTES };
        let endpoint = ModelEndpoint { base_url: uri, key: None, proxies: &self.proxies, limits };
        let response = self.transport.send(&request, endpoint, &mut || {}).await;
        let response = response.map_err(StreamableHttpError::Client)?;
        if response.status == 401 {
            let header = response.header("www-authenticate").unwrap_or_default().to_owned();
            return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(header)));
        }
        Ok(response)
    }
}

impl StreamableHttpClient for ServerHttp {
    type Error = TransportError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<StreamableHttpPostResponse> {
        let body = serde_json::to_vec(&message)?;
        let mut headers = header_texts(custom_headers);
        headers.push(("accept".to_owned(), format!("{JSON}, {EVENTS}")));
        headers.extend(session_id.as_ref().map(|id| (SESSION.to_owned(), id.to_string())));
        let response = self.send("POST", &uri, body, headers, self.limit).await?;
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        match response.status {
            202 | 204 => return Ok(StreamableHttpPostResponse::Accepted),
            404 if session_id.is_some() => return Err(StreamableHttpError::SessionExpired),
            200..=299 => {}
            status => return Err(status_error(status, response.body).await),
        }
        let session = response.header(SESSION).map(str::to_owned);
        let kind = response.header("content-type").unwrap_or_default().to_ascii_lowercase();
        if kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(response.body), session));
        }
        let text = whole(response.body).await?;
        match serde_json::from_slice::<ServerJsonRpcMessage>(&text) {
            Ok(message) if kind.starts_with(JSON) => Ok(StreamableHttpPostResponse::Json(message, session)),
            _ if !is_request => Ok(StreamableHttpPostResponse::Accepted),
            Ok(_) => Err(StreamableHttpError::UnexpectedContentType(Some(kind))),
            Err(error) => Err(StreamableHttpError::Deserialize(error)),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<()> {
        let mut headers = header_texts(custom_headers);
        headers.push((SESSION.to_owned(), session_id.to_string()));
        let response = self.send("DELETE", &uri, Vec::new(), headers, self.limit).await?;
        match response.status {
            // A server need not support it.
            200..=299 | 404 | 405 => Ok(()),
            status => Err(status_error(status, response.body).await),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<BoxStream<'static, Result<Sse, SseError>>> {
        let mut headers = header_texts(custom_headers);
        headers.push(("accept".to_owned(), EVENTS.to_owned()));
        headers.extend(session_id.map(|id| (SESSION.to_owned(), id.to_string())));
        headers.extend(last_event_id.map(|id| (LAST_EVENT.to_owned(), id)));
        let response = self.send("GET", &uri, Vec::new(), headers, STANDING).await?;
        match response.status {
            405 => return Err(StreamableHttpError::ServerDoesNotSupportSse),
            404 => return Err(StreamableHttpError::SessionExpired),
            200..=299 => {}
            status => return Err(status_error(status, response.body).await),
        }
        let kind = response.header("content-type").unwrap_or_default().to_owned();
        if !kind.to_ascii_lowercase().starts_with(EVENTS) {
            return Err(StreamableHttpError::UnexpectedContentType(Some(kind)));
        }
        Ok(events(response.body))
    }
}

fn header_texts(headers: HashMap<HeaderName, HeaderValue>) -> Vec<(String, String)> {
    let text = |(name, value): (HeaderName, HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    headers.into_iter().filter_map(text).collect()
}

async fn whole(mut body: ModelBody) -> HttpResult<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await.map_err(StreamableHttpError::Client)? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn events(body: ModelBody) -> BoxStream<'static, Result<Sse, SseError>> {
    let pieces = futures_util::stream::unfold(Some(body), |body| async move {
        let mut body = body?;
        match body.next().await {
            Ok(Some(piece)) => Some((Ok(piece), Some(body))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    });
    SseStream::from_bytes_stream(pieces).boxed()
}

async fn status_error(status: u16, body: ModelBody) -> StreamableHttpError<TransportError> {
    let text = body.read_text(MOST_ERROR).await;
    let text = talaria_guard::plain::one_line(&text);
    let words = if text.is_empty() { format!("HTTP {status}") } else { format!("HTTP {status}: {text}") };
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(words))
}
