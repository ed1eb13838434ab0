//! Posts something to an HTTP server: resolve, check the address, connect to exactly that address, send, look at the
//! status.
//!
//! A name is resolved once and every address behind it is judged before anything is sent, so that no name can lead to
//! this machine or its network without permission, not even by changing its mind in between. Redirects are not
//! followed and no proxy is used, because both would lead past that check. At most 4 KiB of an answer are looked at.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, header};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use talaria_core::config::NotifyConfig;
use talaria_core::notice::{Fault, Reach, reach};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_util::task::AbortOnDropHandle;
use url::{Host, Url};

use super::tls::{Roots, Tls};
use super::{Limits, NotifyError, Receipt};

/// How much of an answer is looked at.
const ANSWER: usize = 4 * 1024;
/// Of what is looked at, how many characters stand in an error.
const QUOTED: usize = 160;

/// Posts to HTTP servers.
#[derive(Debug)]
pub(super) struct Poster {
    limits: Limits,
    tls: Tls,
}

/// What is posted.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) content_type: &'static str,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: String,
}

impl Poster {
    pub(super) fn new(limits: Limits, roots: Roots) -> Self {
        Self { limits, tls: Tls::new(roots) }
    }

    /// Posts once; the receipt says the status.
    pub(super) async fn post(
        &self,
        url: &Url,
        post: Post,
        config: &NotifyConfig,
    ) -> Result<Receipt, NotifyError> {
        let exchange = async {
            let stream = timeout(self.limits.connect, self.connect(url, config))
                .await
                .map_err(|_| NotifyError::passing("the server cannot be reached in time"))??;
            match url.scheme() {
                "https" => {
                    let name = server_name(url)?;
                    let connecting = TlsConnector::from(self.tls.settings()?).connect(name, stream).await;
                    let stream = connecting.map_err(|why| NotifyError::passing(format!("TLS: {why}")))?;
                    exchange(stream, url, post).await
                }
                _ => exchange(stream, url, post).await,
            }
        };
        let done = timeout(self.limits.http, exchange).await;
        done.unwrap_or_else(|_| Err(NotifyError::passing("the server does not answer in time")))
    }

    async fn connect(&self, url: &Url, config: &NotifyConfig) -> Result<TcpStream, NotifyError> {
        let mut failure = NotifyError::passing("the server has no address");
        for address in addresses(url, config).await? {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(why) => failure = NotifyError::passing(format!("cannot connect: {why}")),
            }
        }
        Err(failure)
    }
}

/// Gives every address behind a URL, all of them allowed.
async fn addresses(url: &Url, config: &NotifyConfig) -> Result<Vec<SocketAddr>, NotifyError> {
    let port = url.port_or_known_default().unwrap_or(443);
    let check = |address: IpAddr| match (reach(address), config.is_permitted(url)) {
        (Reach::Public, _) | (Reach::Private, true) => Ok(()),
        (Reach::Private, false) => {
            Err("the host has a private address: list it in notify.allow_private if it is meant")
        }
        (Reach::Never, _) => Err("the host has an address that nothing is sent to"),
    };
    match url.host() {
        None => Err(NotifyError::permanent("the address has no host")),
        Some(Host::Ipv4(address)) => {
            check(address.into()).map_err(NotifyError::permanent)?;
            Ok(vec![(address, port).into()])
        }
        Some(Host::Ipv6(address)) => {
            check(address.into()).map_err(NotifyError::permanent)?;
            Ok(vec![(address, port).into()])
        }
        Some(Host::Domain(name)) => {
            let found = tokio::net::lookup_host((name, port)).await;
            let found = found.map_err(|why| NotifyError::passing(format!("the host is not found: {why}")))?;
            let found: Vec<SocketAddr> = found.collect();
            // One private address among public ones is enough: nobody knows which one would be used next time. It may
            // pass, because a hotel's network answers for every name until one has paid.
            found.iter().try_for_each(|address| check(address.ip())).map_err(NotifyError::passing)?;
            Ok(found)
        }
    }
}

async fn exchange<S>(stream: S, url: &Url, post: Post) -> Result<Receipt, NotifyError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let broken = |why: hyper::Error| NotifyError::passing(format!("the exchange broke off: {why}"));
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
        _ => said(response).await.map_or_else(String::new, |said| format!(": {said}")),
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
    made.map_err(|_| NotifyError::permanent("the request cannot be written: a header holds what it must not"))
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

/// Reads the beginning of what a server says about an error; whatever goes wrong, the status is what counts.
async fn said(mut response: Response<Incoming>) -> Option<String> {
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

fn server_name(url: &Url) -> Result<ServerName<'static>, NotifyError> {
    let invalid = || NotifyError::permanent("the host has no name that a certificate could have");
    match url.host().ok_or_else(invalid)? {
        Host::Domain(name) => ServerName::try_from(name.to_owned()).map_err(|_| invalid()),
        Host::Ipv4(address) => Ok(ServerName::IpAddress(IpAddr::from(address).into())),
        Host::Ipv6(address) => Ok(ServerName::IpAddress(IpAddr::from(address).into())),
    }
}
