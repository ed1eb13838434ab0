//! Opens a connection to a provider: look-up, TCP, a tunnel through a proxy, TLS, HTTP/1.1.
//!
//! Every error here has the stage `NotSent`. Unlike pages that a model names, providers are named by the user, so private
//! addresses are allowed.

use std::net::IpAddr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use talaria_web::{Roots, Tls, WebStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_util::task::AbortOnDropHandle;
use url::{Host, Url};

use super::error::{TransportCause, TransportError};
use super::pool::KeptConnection;
use super::proxy::{Proxy, Route};

/// The longest head of a proxy's answer.
const MAX_PROXY_HEAD: usize = 16 * 1024;

/// Opens connections.
#[derive(Debug)]
pub(super) struct ProviderConnector {
    tls: Tls,
}

impl ProviderConnector {
    pub(super) fn new(roots: Roots) -> Self {
        Self { tls: Tls::new(roots) }
    }

    /// Opens a connection for requests to `url`. Dropping it closes it.
    pub(super) async fn open(&self, url: &Url, route: &Route) -> Result<KeptConnection, TransportError> {
        let stream: Box<dyn WebStream> = match route {
            Route::Direct => {
                let stream = dial(url).await?;
                self.secure(url, Box::new(stream)).await?
            }
            Route::Forward(proxy) => self.open_proxy(proxy).await?,
            Route::Tunnel(proxy) => {
                let mut stream = self.open_proxy(proxy).await?;
                open_tunnel(stream.as_mut(), url, proxy).await?;
                self.secure(url, stream).await?
            }
        };
        let (sender, connection) = http1::handshake::<_, Full<Bytes>>(TokioIo::new(stream))
            .await
            .map_err(|why| TransportError::not_sent(TransportCause::Connect, why.to_string()))?;
        // How a connection ends is seen by its request; between requests nothing needs to know.
        let driver = AbortOnDropHandle::new(tokio::spawn(async move { drop(connection.await) }));
        Ok(KeptConnection { sender, _driver: driver })
    }

    async fn open_proxy(&self, proxy: &Proxy) -> Result<Box<dyn WebStream>, TransportError> {
        let opened = async {
            let stream = dial(&proxy.address).await?;
            self.secure(&proxy.address, Box::new(stream)).await
        };
        opened.await.map_err(|error: TransportError| TransportError {
            cause: match error.cause {
                TransportCause::Certificate => TransportCause::Certificate,
                _ => TransportCause::Proxy,
            },
            text: format!("the proxy {}: {}", place(&proxy.address), error.text),
            ..error
        })
    }

    /// Begins TLS if the URL wants it.
    async fn secure(
        &self,
        url: &Url,
        stream: Box<dyn WebStream>,
    ) -> Result<Box<dyn WebStream>, TransportError> {
        if url.scheme() != "https" {
            return Ok(stream);
        }
        let name = server_name(url).ok_or_else(|| {
            TransportError::not_sent(TransportCause::Address, "the address has no usable host")
        })?;
        let connecting = TlsConnector::from(self.tls.settings()?).connect(name, stream);
        Ok(Box::new(connecting.await.map_err(|why| TransportError::tls(&why))?))
    }
}

async fn dial(url: &Url) -> Result<TcpStream, TransportError> {
    let port = url.port_or_known_default().unwrap_or(443);
    let addresses: Vec<_> = match url.host() {
        None => return Err(TransportError::not_sent(TransportCause::Address, "the address has no host")),
        Some(Host::Ipv4(address)) => vec![(IpAddr::from(address), port).into()],
        Some(Host::Ipv6(address)) => vec![(IpAddr::from(address), port).into()],
        Some(Host::Domain(name)) => lookup_host((name, port))
            .await
            .map_err(|why| {
                TransportError::not_sent(
                    TransportCause::Resolve,
                    format!("the host {name} is not found: {why}"),
                )
            })?
            .collect(),
    };
    let mut failure = TransportError::not_sent(TransportCause::Resolve, "the host has no address");
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                // The request is one write, and a delta that waits for more bytes would be late.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(why) => {
                let text = format!("cannot connect to {}: {why}", place(url));
                failure = TransportError::not_sent(TransportCause::Connect, text);
            }
        }
    }
    Err(failure)
}

/// Asks a proxy to carry bytes to the host of a URL.
async fn open_tunnel(stream: &mut dyn WebStream, url: &Url, proxy: &Proxy) -> Result<(), TransportError> {
    let at = place(&proxy.address);
    let bad = |text: String| TransportError::not_sent(TransportCause::Proxy, text);
    let target =
        format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(443));
    let mut head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").into_bytes();
    if let Some(login) = &proxy.login {
        head.extend_from_slice(b"Proxy-Authorization: ");
        head.extend_from_slice(login.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    stream
        .write_all(&head)
        .await
        .map_err(|why| bad(format!("the proxy {at} broke the connection: {why}")))?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        // Byte by byte: what follows the head belongs to TLS.
        let byte = stream.read_u8().await;
        answer.push(byte.map_err(|why| bad(format!("the proxy {at} closed the connection: {why}")))?);
        if answer.len() > MAX_PROXY_HEAD {
            return Err(bad(format!("the proxy {at} does not answer as a proxy")));
        }
    }
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.lines().next().unwrap_or_default();
    match status.split_whitespace().nth(1) {
        Some(code) if code.len() == 3 && code.starts_with('2') => Ok(()),
        Some("407") => Err(bad(format!("the proxy {at} wants a login: {status}"))),
        _ => Err(bad(format!("the proxy {at} refused {target}: {status}"))),
    }
}

/// Host and port of an address, which is all that messages show of it.
fn place(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn server_name(url: &Url) -> Option<ServerName<'static>> {
    match url.host()? {
        Host::Domain(name) => ServerName::try_from(name.to_owned()).ok(),
        Host::Ipv4(address) => Some(ServerName::IpAddress(IpAddr::from(address).into())),
        Host::Ipv6(address) => Some(ServerName::IpAddress(IpAddr::from(address).into())),
    }
}
