//! Opens the address of `[web] listen`, with its certificate.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use talaria_core::config::ListenPlan;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::error::WebError;
use super::gate::{Transport, WebGate};
use super::tls;

/// An open address.
pub struct WebListener {
    pub(super) listener: TcpListener,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) gate: WebGate,
    pub(super) trusted_proxies: Vec<IpAddr>,
    /// Whether only proxies may connect: others would send their tokens in the clear.
    pub(super) only_proxies: bool,
    address: SocketAddr,
}

impl WebListener {
    /// Opens what was planned. `user_path` resolves paths as they are written in the configuration.
    pub async fn open(plan: &ListenPlan, user_path: impl Fn(&str) -> PathBuf) -> Result<Self, WebError> {
        let tls = match &plan.tls {
            Some((cert, key)) => Some(tls::acceptor(&user_path(cert), &user_path(key))?),
            None => None,
        };
        let failed = |source| WebError::Address { address: plan.address, source };
        let listener = TcpListener::bind(plan.address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let transport = match (&tls, plan.trusted_proxies.is_empty()) {
            (_, false) => Transport::Proxied,
            (Some(_), true) => Transport::Tls,
            (None, true) => Transport::Plain,
        };
        let only_proxies = tls.is_none() && !address.ip().is_loopback();
        Ok(Self {
            listener,
            gate: WebGate::new(address, &plan.names, transport),
            trusted_proxies: plan.trusted_proxies.iter().map(IpAddr::to_canonical).collect(),
            only_proxies,
            tls,
            address,
        })
    }

    /// Where it can be reached.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }
}
