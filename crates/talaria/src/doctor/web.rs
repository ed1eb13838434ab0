//! The check of `talaria doctor` that is about the API over TCP: what is exposed, to whom, and does it answer?
//!
//! Nothing is sent: that the address takes a connection is what is checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use talaria_core::api::WebStatus;
use talaria_core::config::ListenPlan;
use tokio::net::TcpStream;

use super::Check;
use crate::engine;
use crate::settings::Settings;

/// How long the address may take to take a connection.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is exposed over TCP?
pub(super) async fn web(settings: &Settings) -> Check {
    let plan = match settings.config.web.listen.plan() {
        Ok(Some(plan)) => plan,
        Ok(None) => return Check::ok("web", "the API is not reachable over TCP; web.listen is not set"),
        Err(refusal) => return Check::problem("web", refusal.to_string(), refusal.remedy()),
    };
    let running = match engine::find_any(&settings.home).await {
        Ok(Some(client)) => client.status().await.ok(),
        _ => None,
    };
    let Some(status) = running else {
        return Check::ok("web", format!("{}; no engine is running", exposure(&plan)));
    };
    let restart = "run `talaria stop`; the next command starts an engine that reads web.listen";
    match status.web {
        None => Check::warning("web", "web.listen is set, but the engine was started before that", restart),
        Some(WebStatus { problem: Some(problem), .. }) => Check::problem("web", problem, restart),
        Some(WebStatus { url, tokens, .. }) => {
            let url = url.unwrap_or_default();
            let Some(address) = address_of(&url) else {
                return Check::problem("web", format!("the engine reports no address: {url:?}"), restart);
            };
            let connected = tokio::time::timeout(PATIENCE, TcpStream::connect(reachable(address))).await;
            let valid =
                if tokens == 1 { "1 valid token".to_owned() } else { format!("{tokens} valid tokens") };
            let detail = format!("{}; {valid}", exposure(&ListenPlan { address, ..plan }));
            match connected {
                Ok(Ok(_)) => Check::ok("web", detail),
                Ok(Err(error)) => {
                    Check::problem("web", format!("{url} takes no connection: {error}"), restart)
                }
                Err(_) => Check::problem("web", format!("{url} takes no connection"), restart),
            }
        }
    }
}

fn exposure(plan: &ListenPlan) -> String {
    let scheme = if plan.tls.is_some() { "https" } else { "http" };
    let reach = match (plan.address.ip().is_loopback(), plan.tls.is_some(), plan.trusted_proxies.is_empty()) {
        (true, _, true) => "programs on this machine can connect",
        (true, _, false) => "programs on this machine and what its proxies let through can connect",
        (false, true, _) => "everyone who reaches this machine can connect",
        (false, false, _) => "only the proxies of web.trusted_proxies and this machine can connect",
    };
    format!("{scheme}://{}: {reach}; every call needs a token", plan.address)
}

fn address_of(url: &str) -> Option<SocketAddr> {
    url.split_once("://")?.1.parse().ok()
}

/// An address of this machine for one that means all of them.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
