//! Posts something to an HTTP server and looks at the status.
//!
//! The connection is `talaria_web`'s, which resolves a name once, checks every address of it and connects only to a
//! checked one, so that no name can lead to this machine or its network without permission. Redirects are not followed and
//! no proxy is used, because both would bypass that check. At most 4 KiB of a response are read.

use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, header};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use talaria_core::config::NotifyConfig;
use talaria_core::notice::Fault;
use talaria_web::{ConnectError, GuardedConnector, Network, RefusedAddress, Roots, WebStream};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use super::{NotifyError, Receipt, SendTimeouts};

/// How much of an answer is looked at.
const ANSWER: usize = 4 * 1024;
/// How many characters of the response an error quotes.
const QUOTED: usize = 160;

/// Posts to HTTP servers.
#[derive(Debug)]
pub(super) struct Poster {
    limits: SendTimeouts,
    connector: GuardedConnector,
}

/// Body of the request.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) content_type: &'static str,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: String,
}

impl Poster {
    pub(super) fn new(limits: SendTimeouts, roots: Roots) -> Self {
        Self { limits, connector: GuardedConnector::new(Network::system(), roots) }
    }

    /// Posts once; the receipt says the status.
    pub(super) async fn post(
        &self,
        url: &Url,
        post: Post,
        config: &NotifyConfig,
    ) -> Result<Receipt, NotifyError> {
        let exchange = async {
            let connecting = self.connector.connect(url, config.is_permitted(url));
            let (stream, _) = timeout(self.limits.connect, connecting)
                .await
                .map_err(|_| NotifyError::passing("the server cannot be reached in time"))?
                .map_err(|error| connect_error(&error))?;
            let stream = self.connector.secure(url, stream).await.map_err(|error| connect_error(&error))?;
            exchange(stream, url, post).await
        };
        let done = timeout(self.limits.http, exchange).await;
        done.unwrap_or_else(|_| Err(NotifyError::passing("the server does not answer in time")))
    }
}

/// Whether another attempt makes sense, and what a person does about it.
fn connect_error(error: &ConnectError) -> NotifyError {
    match error {
        ConnectError::Refused { why, is_literal } => {
            let message = match why {
                RefusedAddress::Private => {
                    "the host has a private address: list it in notify.allow_private if that is intended"
                }
                RefusedAddress::Never | RefusedAddress::Metadata => "the host has a forbidden address",
            };
            // A refused address may be temporary: a captive portal answers for every name until the user has
            // logged in.
            if *is_literal { NotifyError::permanent(message) } else { NotifyError::passing(message) }
        }
        ConnectError::NoHost | ConnectError::NoCertificateName => NotifyError::permanent(error.to_string()),
        ConnectError::NotFound(_)
        | ConnectError::NoAddress
        | ConnectError::Unreachable(_)
        | ConnectError::Tls(_)
        | ConnectError::Settings(_) => NotifyError::passing(error.to_string()),
    }
}

async fn exchange(stream: Box<dyn WebStream>, url: &Url, post: Post) -> Result<Receipt, NotifyError> {
    let broken = |why: hyper::Error| NotifyError::passing(format!("the connection broke: {why}"));
    let request = request(url, post)?;
    let mut builder = hyper::client::conn::http1::Builder::new();
    builder.max_buf_size(64 * 1024);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let _driver = AbortOnDropHandle::new(tokio::spawn(connection));
    let response = sender.send_request(request).await.map_err(broken)?;
    let status = response.status().as_u16();
    let Some(fault) = Fault::of_status(status, retry_after(&response)) else {
        return Ok(Receipt { note: format!("HTTP {status}") });
    };
    let hint = match status {
        300..=399 => "; redirects are not followed, name the final address".to_owned(),
        _ => read_excerpt(response).await.map_or_else(String::new, |said| format!(": {said}")),
    };
    Err(NotifyError::new(fault, format!("HTTP {status}{hint}")))
}

fn request(url: &Url, post: Post) -> Result<Request<Full<Bytes>>, NotifyError> {
    let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    let mut request = Request::post(path)
        .header(header::HOST, host)
        .header(header::CONTENT_TYPE, post.content_type)
        .header(header::USER_AGENT, concat!("talaria/", env!("CARGO_PKG_VERSION")))
        .header(header::CONNECTION, "close");
    for (name, value) in post.headers {
        request = request.header(name, value);
    }
    let made = request.body(Full::new(Bytes::from(post.body)));
    made.map_err(|_| {
        NotifyError::permanent("the request cannot be written: a header contains an invalid character")
    })
}

/// Reads a wish for patience: seconds, or a time.
fn retry_after(response: &Response<Incoming>) -> Option<Duration> {
    let text = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Duration::try_from(at.duration_since(Timestamp::now())).ok()
}

/// Reads the beginning of an error response; if that fails, the status alone is reported.
async fn read_excerpt(mut response: Response<Incoming>) -> Option<String> {
    let mut bytes = Vec::new();
    let reading = async {
        while let Some(Ok(frame)) = response.frame().await {
            let data = frame.into_data().unwrap_or_default();
            bytes.extend_from_slice(&data[..data.len().min(ANSWER - bytes.len())]);
            if bytes.len() >= ANSWER {
                break;
            }
        }
    };
    // Who trickles gets no more time for it.
    timeout(Duration::from_secs(1), reading).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then(|| line.chars().take(QUOTED).collect())
}
