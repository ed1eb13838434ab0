//! Which proxy a request passes, from the words of the environment: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`.
//!
//! Decides, and connects nothing. A server on loopback is never reached over a proxy: for the proxy, loopback is another
//! machine. Passwords of proxies are in no message.

use std::fmt;
use std::net::IpAddr;

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper_util::client::proxy::matcher::Matcher;
use url::Url;

use super::error::{TransportCause, TransportError};

/// The proxies of an environment.
pub struct ProxySettings {
    matcher: Matcher,
}

impl ProxySettings {
    /// No proxy.
    pub fn none() -> Self {
        Self::from_variables(|_| None)
    }

    /// Reads the variables of an environment. Small letters win, as in other programs.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let read = |name: &str| {
            let value = variable(&name.to_lowercase()).or_else(|| variable(name));
            value.map(|value| value.trim().to_owned()).unwrap_or_default()
        };
        let matcher = Matcher::builder()
            .all(read("ALL_PROXY"))
            .http(read("HTTP_PROXY"))
            .https(read("HTTPS_PROXY"))
            .no(read("NO_PROXY"))
            .build();
        Self { matcher }
    }

    pub(super) fn route(&self, url: &Url) -> Result<Route, TransportError> {
        let bad = |text: String| TransportError::not_sent(TransportCause::Proxy, text);
        if is_loopback(url) {
            return Ok(Route::Direct);
        }
        let uri: Uri = url.as_str().parse().map_err(|_| {
            TransportError::not_sent(TransportCause::Address, "the address cannot be requested")
        })?;
        let Some(proxy) = self.matcher.intercept(&uri) else { return Ok(Route::Direct) };
        let scheme = proxy.uri().scheme_str().unwrap_or("http");
        if !matches!(scheme, "http" | "https") {
            return Err(bad(format!(
                "the proxy of the environment speaks {scheme}, and only http and https proxies are supported"
            )));
        }
        let host =
            proxy.uri().host().ok_or_else(|| bad("the proxy of the environment has no host".to_owned()))?;
        let port = proxy.uri().port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
        let address = Url::parse(&format!("{scheme}://{host}:{port}/"))
            .map_err(|_| bad("the proxy of the environment is not an address".to_owned()))?;
        let proxy = Proxy { address, login: proxy.basic_auth().cloned() };
        Ok(match url.scheme() {
            "https" => Route::Tunnel(proxy),
            _ => Route::Forward(proxy),
        })
    }
}

impl fmt::Debug for ProxySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxySettings")
    }
}

/// A proxy.
#[derive(Clone)]
pub(super) struct Proxy {
    /// Scheme, host and port alone.
    pub(super) address: Url,
    pub(super) login: Option<HeaderValue>,
}

/// The way to a provider.
#[derive(Clone)]
pub(super) enum Route {
    /// No proxy.
    Direct,
    /// The proxy reads the request and sends it on (http addresses).
    Forward(Proxy),
    /// The proxy carries bytes (https addresses).
    Tunnel(Proxy),
}

impl Route {
    /// What may share a connection.
    pub(super) fn pool_key(&self, url: &Url) -> String {
        let origin = url.origin().ascii_serialization();
        match self {
            Self::Direct => origin,
            Self::Forward(proxy) | Self::Tunnel(proxy) => format!("{origin} over {}", proxy.address),
        }
    }

    /// The target in the first line of the request.
    pub(super) fn request_target(&self, url: &Url) -> String {
        match self {
            Self::Forward(_) => url.as_str().to_owned(),
            Self::Direct | Self::Tunnel(_) => match url.query() {
                Some(query) => format!("{}?{query}", url.path()),
                None => url.path().to_owned(),
            },
        }
    }

    /// The login of a proxy that reads the request.
    pub(super) fn plain_login(&self) -> Option<HeaderValue> {
        match self {
            Self::Forward(proxy) => proxy.login.clone(),
            Self::Direct | Self::Tunnel(_) => None,
        }
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(url::Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> ProxySettings {
        ProxySettings::from_variables(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn route(variables: &[(&str, &str)], url: &str) -> String {
        match settings(variables).route(&Url::parse(url).unwrap()) {
            Ok(Route::Direct) => "direct".to_owned(),
            Ok(Route::Forward(proxy)) => format!("forward {}", proxy.address),
            Ok(Route::Tunnel(proxy)) => format!("tunnel {}", proxy.address),
            Err(error) => error.text,
        }
    }

    #[test]
    fn the_variables_mean_what_they_mean_elsewhere() {
        let both = [("HTTPS_PROXY", "http://p:3128"), ("HTTP_PROXY", "http://q:8080")];
        assert_eq!(route(&both, "https://api.example.com/v1"), "tunnel http://p:3128/");
        assert_eq!(route(&both, "http://models.example.com/v1"), "forward http://q:8080/");
        assert_eq!(route(&[("https_proxy", "p:3128")], "https://api.example.com/"), "tunnel http://p:3128/");
        assert_eq!(route(&[("ALL_PROXY", "http://p:1")], "https://api.example.com/"), "tunnel http://p:1/");
        assert_eq!(route(&[], "https://api.example.com/"), "direct");
    }

    #[test]
    fn loopback_and_excepted_hosts_are_reached_directly() {
        let with = |no| [("HTTPS_PROXY", "http://p:1"), ("HTTP_PROXY", "http://p:1"), ("NO_PROXY", no)];
        assert_eq!(route(&with(""), "http://127.0.0.1:11434/v1"), "direct");
        assert_eq!(route(&with(""), "http://localhost:11434/v1"), "direct");
        assert_eq!(route(&with("example.com"), "https://api.example.com/v1"), "direct");
        assert_eq!(route(&with("10.0.0.0/8"), "http://10.1.2.3:8000/v1"), "direct");
        assert_eq!(route(&with("10.0.0.0/8"), "http://192.168.1.2:8000/v1"), "forward http://p:1/");
    }

    #[test]
    fn a_proxy_that_is_not_supported_is_an_error_without_its_password() {
        let said = route(&[("ALL_PROXY", "socks5://me:secret@p:1080")], "https://api.example.com/");
        assert!(said.contains("socks5") && !said.contains("secret"), "{said}");
    }
}
