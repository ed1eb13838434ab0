//! Fetches one page: follows redirects, each over a connection to a judged address, within limits of time and size.
//!
//! Every hop is validated, reported to the caller before its request is sent, and has a new connection: none is reused.
//! A redirect never leads from https to http. No cookies, no credentials, no proxy, no `Referer`.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, header};
use hyper_util::rt::TokioIo;
use talaria_core::config::PrivateHost;
use talaria_guard::shorten::shorten;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use url::{Host, Url};

use crate::address::{BadPageAddress, RefusedAddress, check_page_address, judge};
use crate::body::{BodyReader, Taken};
use crate::connect::{ConnectError, GuardedConnector, Network};
use crate::media::is_pdf_type;
use crate::tls::Roots;

/// Accepted types, the simplest text first.
const ACCEPT: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, \
                      application/json;q=0.7, application/xml;q=0.6, application/pdf;q=0.5, */*;q=0.1";

/// The limits of one page.
#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    /// From the first look-up to the last byte.
    pub total: Duration,
    /// Of the body, packed and unpacked.
    pub bytes: usize,
    /// The same for a body that is named a PDF file: pictures make them long, and a part of one cannot be read.
    pub pdf_bytes: usize,
    /// How many redirects are followed.
    pub redirects: usize,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self { total: Duration::from_secs(20), bytes: 5_000_000, pdf_bytes: 20_000_000, redirects: 5 }
    }
}

/// What decides about each hop.
pub struct HopRules<'a> {
    /// The hosts that may have private addresses.
    pub allow: &'a [PrivateHost],
    /// May a redirect lead here? Asked before anything about it is looked up.
    pub may_follow: &'a (dyn Fn(&Url) -> bool + Send + Sync),
    /// Called when the connection is open and nothing was sent. `Err` is why nothing is sent.
    pub before_request: &'a (dyn Fn(Url, SocketAddr) -> BoxFuture<'a, Result<(), String>> + Send + Sync),
}

impl fmt::Debug for HopRules<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HopRules").field("allow", &self.allow).finish_non_exhaustive()
    }
}

/// Final response of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedBody {
    /// Where the redirects led.
    pub url: Url,
    /// The status.
    pub status: u16,
    /// The type, as the server says it.
    pub content_type: Option<String>,
    /// The unpacked body.
    pub bytes: Vec<u8>,
    /// There was more than the limit.
    pub is_cut: bool,
}

/// Why there is no page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// An address is refused. `host` is the one of the hop.
    #[error("{}", refusal(.host, *.why))]
    Refused {
        /// The host.
        host: String,
        /// Why.
        why: RefusedAddress,
    },
    /// A redirect leads to a URL that is not read.
    #[error("it redirects to an address that is not read: {0}")]
    BadRedirect(BadPageAddress),
    /// A redirect leads from https to http.
    #[error("it redirects from https to http, which is not followed")]
    Downgrade,
    /// A redirect leads to a host that was not permitted.
    #[error("it redirects to {0}; call again with that address")]
    OtherHost(Url),
    /// Too many redirects.
    #[error("it redirects more than {0} times")]
    TooManyRedirects(usize),
    /// The caller refused the request.
    #[error("{0}")]
    Stopped(String),
    /// There is no connection.
    #[error("{0}")]
    Connect(ConnectError),
    /// The exchange broke.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The body is packed in a way that is not supported, or wrongly.
    #[error("its body cannot be unpacked ({0})")]
    Encoding(String),
    /// It takes too long.
    #[error("it did not arrive within {} s", .0.as_secs())]
    TooSlow(Duration),
}

fn refusal(host: &str, why: RefusedAddress) -> String {
    match why {
        RefusedAddress::Private => format!(
            "{host} has a private address, which is not read; the user can allow it with web.allow in the configuration \
             of Talaria"
        ),
        RefusedAddress::Never => {
            format!("{host} has an address that is not one machine's, which is not read")
        }
        RefusedAddress::Metadata => {
            format!("{host} has an address that hands out the credentials of a machine, which is never read")
        }
    }
}

/// Judges a URL whose host is an address, as the first hop would. Nothing is looked up, so a person need not be asked about what
/// can only be refused.
pub fn judge_literal(url: &Url, allow: &[PrivateHost]) -> Result<(), FetchError> {
    let address: IpAddr = match url.host() {
        Some(Host::Ipv4(address)) => address.into(),
        Some(Host::Ipv6(address)) => address.into(),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    let is_permitted = allow.iter().any(|entry| entry.matches(url));
    judge(address, is_permitted)
        .map_err(|why| FetchError::Refused { host: url.host_str().unwrap_or_default().to_owned(), why })
}

/// Fetches pages.
#[derive(Debug)]
pub struct PageFetcher {
    connector: GuardedConnector,
    limits: FetchLimits,
}

enum HopEnd {
    Page(FetchedBody),
    Redirect(String),
}

impl PageFetcher {
    /// Fetches over this network, trusting these certificates.
    pub fn new(network: Network, roots: Roots, limits: FetchLimits) -> Self {
        Self { connector: GuardedConnector::new(network, roots), limits }
    }

    /// Fetches a page. Dropping the future ends it.
    pub async fn fetch(&self, url: &Url, rules: &HopRules<'_>) -> Result<FetchedBody, FetchError> {
        let done = timeout(self.limits.total, self.follow(url.clone(), rules)).await;
        done.unwrap_or(Err(FetchError::TooSlow(self.limits.total)))
    }

    async fn follow(&self, mut url: Url, rules: &HopRules<'_>) -> Result<FetchedBody, FetchError> {
        for _ in 0..=self.limits.redirects {
            match self.hop(&url, rules).await? {
                HopEnd::Page(page) => return Ok(page),
                HopEnd::Redirect(location) => url = next_hop(&url, &location, rules)?,
            }
        }
        Err(FetchError::TooManyRedirects(self.limits.redirects))
    }

    async fn hop(&self, url: &Url, rules: &HopRules<'_>) -> Result<HopEnd, FetchError> {
        let is_permitted = rules.allow.iter().any(|entry| entry.matches(url));
        let connected = self.connector.connect(url, is_permitted).await;
        let (stream, address) = connected.map_err(|error| connect_error(url, error))?;
        (rules.before_request)(url.clone(), address).await.map_err(FetchError::Stopped)?;
        let stream = self.connector.secure(url, stream).await.map_err(|error| connect_error(url, error))?;
        let broken = |why: hyper::Error| FetchError::Broken(why.to_string());
        let mut builder = hyper::client::conn::http1::Builder::new();
        builder.max_buf_size(64 * 1024);
        let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let _driver = AbortOnDropHandle::new(tokio::spawn(connection));
        let response = sender.send_request(request(url)?).await.map_err(broken)?;
        let status = response.status().as_u16();
        let location = text_header(&response, header::LOCATION);
        if let (301 | 302 | 303 | 307 | 308, Some(location)) = (status, location) {
            return Ok(HopEnd::Redirect(location));
        }
        let content_type = text_header(&response, header::CONTENT_TYPE);
        let limit = match is_pdf_type(content_type.as_deref()) {
            true => self.limits.pdf_bytes,
            false => self.limits.bytes,
        };
        let (bytes, is_cut) = collect_body(response, limit).await?;
        Ok(HopEnd::Page(FetchedBody { url: url.clone(), status, content_type, bytes, is_cut }))
    }
}

async fn collect_body(mut response: Response<Incoming>, limit: usize) -> Result<(Vec<u8>, bool), FetchError> {
    let encoding = text_header(&response, header::CONTENT_ENCODING).unwrap_or_default();
    let unpacked = BodyReader::new(&encoding, limit);
    let mut body = unpacked.ok_or_else(|| unknown_encoding(&encoding))?;
    while let Some(frame) = response.frame().await {
        let frame = frame.map_err(|why| FetchError::Broken(why.to_string()))?;
        match body.push(&frame.into_data().unwrap_or_default()) {
            Taken::More => {}
            Taken::Full => return Ok((body.finish(), true)),
            Taken::Broken => return Err(unknown_encoding(&encoding)),
        }
    }
    Ok((body.finish(), false))
}

fn next_hop(url: &Url, location: &str, rules: &HopRules<'_>) -> Result<Url, FetchError> {
    let mut next = url.join(location).map_err(|_| FetchError::BadRedirect(BadPageAddress::NotAnUrl))?;
    check_page_address(&next).map_err(FetchError::BadRedirect)?;
    next.set_fragment(None);
    if url.scheme() == "https" && next.scheme() == "http" {
        return Err(FetchError::Downgrade);
    }
    if !(rules.may_follow)(&next) {
        return Err(FetchError::OtherHost(next));
    }
    Ok(next)
}

fn connect_error(url: &Url, error: ConnectError) -> FetchError {
    match error {
        ConnectError::Refused { why, .. } => {
            FetchError::Refused { host: url.host_str().unwrap_or_default().to_owned(), why }
        }
        other => FetchError::Connect(other),
    }
}

fn request(url: &Url) -> Result<Request<Empty<Bytes>>, FetchError> {
    let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    let made = Request::get(path)
        .header(header::HOST, host)
        .header(header::ACCEPT, ACCEPT)
        .header(header::ACCEPT_ENCODING, "gzip, deflate")
        .header(header::USER_AGENT, concat!("talaria/", env!("CARGO_PKG_VERSION")))
        .header(header::CONNECTION, "close")
        .body(Empty::new());
    made.map_err(|why| FetchError::Broken(why.to_string()))
}

/// A header as text. Servers send addresses in UTF-8, which hyper does not call text.
fn text_header(response: &Response<Incoming>, name: header::HeaderName) -> Option<String> {
    Some(String::from_utf8_lossy(response.headers().get(name)?.as_bytes()).into_owned())
}

/// The name of an encoding that is not known, as a server wrote it.
fn unknown_encoding(name: &str) -> FetchError {
    FetchError::Encoding(shorten(name, 40).into_owned())
}
