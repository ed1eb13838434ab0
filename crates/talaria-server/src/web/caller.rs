//! Who calls over TCP: the address, through proxies that are configured, and the token of the header. Pure.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};

/// The header in which proxies name who asked them.
const FORWARDED: &str = "x-forwarded-for";

/// The address of the caller. What a proxy says counts only if the proxy is a configured one; of several addresses it is
/// the last that is not a proxy's, because only that was written by one.
pub(super) fn address(peer: IpAddr, headers: &HeaderMap, proxies: &[IpAddr]) -> IpAddr {
    let peer = peer.to_canonical();
    if !proxies.contains(&peer) {
        return peer;
    }
    let values = headers.get_all(FORWARDED).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<&str> = values.flat_map(|value| value.split(',')).collect();
    let mut caller = peer;
    for name in named.into_iter().rev() {
        let Ok(address) = name.trim().parse::<IpAddr>() else { return caller };
        caller = address.to_canonical();
        if !proxies.contains(&caller) {
            return caller;
        }
    }
    caller
}

/// The token of `Authorization: Bearer`; a query or a cookie is never looked at.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let text = all.next()?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") && all.next().is_none()).then_some(token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_a_configured_proxy_says_who_asked_it() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let said = headers(&[("x-forwarded-for", "6.6.6.6, 203.0.113.9, 10.0.0.2")]);
        let proxies = [ip("10.0.0.1"), ip("10.0.0.2")];
        assert_eq!(address(ip("198.51.100.1"), &said, &proxies), ip("198.51.100.1"));
        assert_eq!(address(ip("::ffff:10.0.0.1"), &said, &proxies), ip("203.0.113.9"));
        assert_eq!(address(ip("10.0.0.1"), &headers(&[]), &proxies), ip("10.0.0.1"));
        assert_eq!(address(ip("10.0.0.1"), &headers(&[("x-forwarded-for", "me")]), &proxies), ip("10.0.0.1"));
    }

    #[test]
    fn a_token_is_in_one_header_and_nowhere_else() {
        assert_eq!(bearer(&headers(&[("authorization", "Bearer abc")])), Some("abc"));
        assert_eq!(bearer(&headers(&[("authorization", "bearer abc ")])), Some("abc"));
        assert_eq!(bearer(&headers(&[("authorization", "Basic abc")])), None);
        assert_eq!(bearer(&headers(&[("cookie", "token=abc")])), None);
        assert_eq!(bearer(&headers(&[("authorization", "Bearer a"), ("authorization", "Bearer b")])), None);
    }
}
