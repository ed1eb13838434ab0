//! The keys of `[web]` with which the engine can be reached over TCP: address, names, certificate, proxies.
//!
//! Owns their notation, and which combinations are refused ([`ListenConfig::plan`]): an address that others can reach needs
//! TLS or a proxy that is named. Opens nothing.

use std::net::{IpAddr, SocketAddr};

use toml_edit::Item;

use super::Config;
use super::bridge::texts;
use super::keys::{Wrong, text};

/// The keys as they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListenConfig {
    /// The address; unset: none.
    pub address: Option<SocketAddr>,
    /// Further names under which requests may arrive; in small letters, with a port or without.
    pub names: Vec<String>,
    /// File with the certificate chain, as written.
    pub tls_cert: Option<String>,
    /// File with its key, as written.
    pub tls_key: Option<String>,
    /// Proxies whose forwarded headers count.
    pub trusted_proxies: Vec<IpAddr>,
}

/// The address that the engine opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenPlan {
    /// The address; port 0 lets the system choose.
    pub address: SocketAddr,
    /// Further names under which requests may arrive.
    pub names: Vec<String>,
    /// Certificate and key, as written; `None` without TLS.
    pub tls: Option<(String, String)>,
    /// Proxies whose forwarded headers count.
    pub trusted_proxies: Vec<IpAddr>,
}

/// Why nothing is opened, although an address is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ListenRefusal {
    /// Others could read tokens on the way.
    #[error("web.listen is an address that others can reach, without TLS and without a trusted proxy")]
    Open,
    /// One of the two files is missing.
    #[error("web.tls_cert and web.tls_key belong together: one of them is not set")]
    HalfTls,
}

impl ListenRefusal {
    /// What to do next.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Open => "set web.tls_cert and web.tls_key, or web.trusted_proxies, or listen on 127.0.0.1",
            Self::HalfTls => "set both, or neither",
        }
    }
}

impl ListenConfig {
    /// What to open; `None` if nothing is asked for.
    pub fn plan(&self) -> Result<Option<ListenPlan>, ListenRefusal> {
        let Some(address) = self.address else { return Ok(None) };
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(cert), Some(key)) => Some((cert.clone(), key.clone())),
            (None, None) => None,
            _ => return Err(ListenRefusal::HalfTls),
        };
        if !address.ip().is_loopback() && tls.is_none() && self.trusted_proxies.is_empty() {
            return Err(ListenRefusal::Open);
        }
        let (names, trusted_proxies) = (self.names.clone(), self.trusted_proxies.clone());
        Ok(Some(ListenPlan { address, names, tls, trusted_proxies }))
    }
}

/// Reads `web.listen`.
pub(super) fn address(item: &Item) -> Result<SocketAddr, Wrong> {
    let text = text(item)?;
    text.trim().parse().map_err(|_| Wrong {
        message: format!("{text:?} is not an address with a port"),
        hint: Some("write listen = \"127.0.0.1:7717\"".to_owned()),
        start: None,
    })
}

/// Reads `web.names`.
pub(super) fn names(item: &Item, config: &mut Config) -> Vec<Wrong> {
    let mut given = Vec::new();
    let mut wrong = texts(item, &mut given);
    for name in given {
        let name = name.trim().to_ascii_lowercase();
        let (host, port) =
            name.split_once(':').map_or((name.as_str(), None), |(host, port)| (host, Some(port)));
        let is_host = !host.is_empty()
            && host.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.'));
        if is_host && port.is_none_or(|port| port.parse::<u16>().is_ok()) {
            config.web.listen.names.push(name);
        } else {
            let message = format!("{name:?} is not a host name; no scheme, path or pattern is possible");
            let hint = Some("write names = [\"talaria.example.org\"]".to_owned());
            wrong.push(Wrong { message, hint, start: None });
        }
    }
    wrong
}

/// Reads `web.trusted_proxies`.
pub(super) fn trusted_proxies(item: &Item, config: &mut Config) -> Vec<Wrong> {
    let mut given = Vec::new();
    let mut wrong = texts(item, &mut given);
    for proxy in given {
        match proxy.trim().parse() {
            Ok(address) => config.web.listen.trusted_proxies.push(address),
            Err(_) => wrong.push(Wrong {
                message: format!("{proxy:?} is not an address"),
                hint: Some(
                    "write the address from which the proxy connects, such as \"127.0.0.1\"".to_owned(),
                ),
                start: None,
            }),
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn plan(text: &str) -> Result<Option<ListenPlan>, ListenRefusal> {
        let parsed = parse(&format!("[web]\n{text}")).unwrap();
        assert_eq!(parsed.problems, []);
        parsed.config.web.listen.plan()
    }

    #[test]
    fn an_address_that_others_reach_needs_tls_or_a_proxy() {
        assert_eq!(plan(""), Ok(None));
        assert!(matches!(plan("listen = \"127.0.0.1:0\""), Ok(Some(_))));
        assert!(matches!(plan("listen = \"[::1]:7717\""), Ok(Some(_))));
        for open in ["0.0.0.0:7717", "[::]:7717", "192.0.2.7:80", "[::ffff:192.0.2.7]:80"] {
            assert_eq!(plan(&format!("listen = \"{open}\"")), Err(ListenRefusal::Open), "{open}");
        }
        let tls = "listen = \"0.0.0.0:7717\"\ntls_cert = \"c\"";
        assert_eq!(plan(tls), Err(ListenRefusal::HalfTls));
        assert!(plan(&format!("{tls}\ntls_key = \"k\"")).unwrap().unwrap().tls.is_some());
        assert!(plan("listen = \"0.0.0.0:1\"\ntrusted_proxies = [\"192.0.2.1\"]").unwrap().is_some());
    }

    #[test]
    fn a_name_is_a_host_and_nothing_more() {
        let parsed = parse(
            "[web]\nlisten = \"localhost:1\"\nnames = [\"Box.example\", \"a:1\", \"*\", \"http://a\", \"\"]\ntrusted_proxies = [\"10.0.0.0/8\"]\n",
        );
        let parsed = parsed.unwrap();
        assert_eq!(parsed.config.web.listen.names, ["box.example", "a:1"]);
        assert_eq!(parsed.config.web.listen.address, None);
        assert_eq!(parsed.problems.len(), 5, "{:?}", parsed.problems);
    }
}
