//! Connects to the host of a URL: resolve once, judge every address, connect to exactly a judged one.
//!
//! A name that changes its mind between the check and the connection leads nowhere, because it is not asked twice. No proxy
//! is used: it would resolve the name itself. Called by `fetch` for every hop and by the engine's notifications.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use url::{Host, Url};

use crate::address::{RefusedAddress, judge};
use crate::tls::{Roots, Tls, TlsSettingsError};

/// A connection, with TLS or without.
pub trait WebStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> WebStream for T {}

type Resolve = dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync;
type Dial = dyn Fn(SocketAddr) -> BoxFuture<'static, io::Result<TcpStream>> + Send + Sync;

/// How names become addresses, and addresses connections.
#[derive(Clone)]
pub struct Network {
    resolve: Arc<Resolve>,
    dial: Arc<Dial>,
}

impl Network {
    /// The network of this machine.
    pub fn system() -> Self {
        Self::new(
            |name, port| Box::pin(async move { Ok(tokio::net::lookup_host((name, port)).await?.collect()) }),
            |address| Box::pin(TcpStream::connect(address)),
        )
    }

    /// Resolves and connects with these functions.
    pub fn new(
        resolve: impl Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync + 'static,
        dial: impl Fn(SocketAddr) -> BoxFuture<'static, io::Result<TcpStream>> + Send + Sync + 'static,
    ) -> Self {
        Self { resolve: Arc::new(resolve), dial: Arc::new(dial) }
    }
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Network")
    }
}

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The URL names no host.
    #[error("the URL has no host")]
    NoHost,
    /// An address of the host is refused. `is_literal`: the URL names the address itself.
    #[error("{}", refusal_text(*.why))]
    Refused {
        /// Why.
        why: RefusedAddress,
        /// The URL names the address itself.
        is_literal: bool,
    },
    /// The name cannot be resolved.
    #[error("the host is not found: {0}")]
    NotFound(String),
    /// The name has no address.
    #[error("the host has no address")]
    NoAddress,
    /// No connection.
    #[error("cannot connect: {0}")]
    Unreachable(String),
    /// No certificate can carry the name of this host.
    #[error("the host has no name that a certificate could have")]
    NoCertificateName,
    /// TLS failed.
    #[error("TLS: {0}")]
    Tls(String),
    /// TLS cannot begin.
    #[error(transparent)]
    Settings(#[from] TlsSettingsError),
}

fn refusal_text(why: RefusedAddress) -> &'static str {
    match why {
        RefusedAddress::Private => "the host has a private address",
        RefusedAddress::Never => "the host has an address that is not one machine's",
        RefusedAddress::Metadata => "the host has an address that hands out the credentials of a machine",
    }
}

/// Connects to hosts whose addresses are allowed.
#[derive(Debug)]
pub struct GuardedConnector {
    network: Network,
    tls: Tls,
}

impl GuardedConnector {
    /// Connects over this network and trusts these certificates.
    pub fn new(network: Network, roots: Roots) -> Self {
        Self { network, tls: Tls::new(roots) }
    }

    /// Connects to the host of a URL. `is_permitted` says that it may be private.
    pub async fn connect(
        &self,
        url: &Url,
        is_permitted: bool,
    ) -> Result<(TcpStream, SocketAddr), ConnectError> {
        let mut failure = ConnectError::NoAddress;
        for address in self.addresses(url, is_permitted).await? {
            match (self.network.dial)(address).await {
                Ok(stream) => return Ok((stream, address)),
                Err(why) => failure = ConnectError::Unreachable(why.to_string()),
            }
        }
        Err(failure)
    }

    /// Starts TLS if the URL requires it.
    pub async fn secure(&self, url: &Url, stream: TcpStream) -> Result<Box<dyn WebStream>, ConnectError> {
        if url.scheme() != "https" {
            return Ok(Box::new(stream));
        }
        let name = server_name(url)?;
        let connecting = TlsConnector::from(self.tls.settings()?).connect(name, stream).await;
        Ok(Box::new(connecting.map_err(|why| ConnectError::Tls(why.to_string()))?))
    }

    /// Returns every address of the host of a URL, all of them allowed.
    async fn addresses(&self, url: &Url, is_permitted: bool) -> Result<Vec<SocketAddr>, ConnectError> {
        let port = url.port_or_known_default().unwrap_or(443);
        let check = |address: IpAddr, is_literal: bool| {
            judge(address, is_permitted).map_err(|why| ConnectError::Refused { why, is_literal })
        };
        match url.host() {
            None => Err(ConnectError::NoHost),
            Some(Host::Ipv4(address)) => {
                check(address.into(), true)?;
                Ok(vec![(address, port).into()])
            }
            Some(Host::Ipv6(address)) => {
                check(address.into(), true)?;
                Ok(vec![(address, port).into()])
            }
            Some(Host::Domain(name)) => {
                let found = (self.network.resolve)(name.to_owned(), port).await;
                let found = found.map_err(|why| ConnectError::NotFound(why.to_string()))?;
                // One private address among public ones is enough: which one is used next time is not known.
                found.iter().try_for_each(|address| check(address.ip(), false))?;
                Ok(found)
            }
        }
    }
}

fn server_name(url: &Url) -> Result<ServerName<'static>, ConnectError> {
    match url.host().ok_or(ConnectError::NoHost)? {
        Host::Domain(name) => {
            ServerName::try_from(name.to_owned()).map_err(|_| ConnectError::NoCertificateName)
        }
        Host::Ipv4(address) => Ok(ServerName::IpAddress(IpAddr::from(address).into())),
        Host::Ipv6(address) => Ok(ServerName::IpAddress(IpAddr::from(address).into())),
    }
}
