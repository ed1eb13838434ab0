//! Refuses, before any route, token or body, requests for another host, and those that a web page of someone else
//! made a browser send. Pure.
//!
//! A name that resolves to this machine (DNS rebinding) is stopped by the exact list of hosts, not by comparing `Origin`
//! with `Host`; a form or a `no-cors` request by the content type, `Origin` and `Sec-Fetch-Site`. Nothing here permits
//! anything: a request that passes still needs a token.

use std::net::SocketAddr;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, header};
use talaria_core::api::{Problem, ProblemCode};

use crate::route;

/// Which hosts and origins are this engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WebGate {
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// Who ends TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// No one.
    Plain,
    /// The engine.
    Tls,
    /// Perhaps a proxy.
    Proxied,
}

impl WebGate {
    /// `address` is the one that was opened, `names` are the configured ones.
    pub(super) fn new(address: SocketAddr, names: &[String], transport: Transport) -> Self {
        let port = address.port();
        let mut hosts: Vec<String> =
            ["localhost", "127.0.0.1", "[::1]"].iter().map(|host| format!("{host}:{port}")).collect();
        if !address.ip().is_unspecified() {
            hosts.push(address.to_string());
        }
        for name in names {
            hosts.push(name.clone());
            if !name.contains(':') {
                hosts.push(format!("{name}:{port}"));
            }
        }
        hosts.sort();
        hosts.dedup();
        let schemes: &[&str] = match transport {
            Transport::Plain => &["http"],
            Transport::Tls => &["https"],
            Transport::Proxied => &["http", "https"],
        };
        let origins =
            hosts.iter().flat_map(|host| schemes.iter().map(move |scheme| format!("{scheme}://{host}")));
        Self { origins: origins.collect(), hosts }
    }

    /// Refuses what is not for this engine or was not sent by a program of its user.
    pub(super) fn check(&self, request: &Parts) -> Result<(), Problem> {
        let headers = &request.headers;
        let host = single(headers, &header::HOST)?.map(str::to_ascii_lowercase);
        let authority = request.uri.authority().map(|authority| authority.as_str().to_ascii_lowercase());
        let is_ours = |host: &String| self.hosts.contains(host);
        if !host.as_ref().is_some_and(is_ours) || !authority.as_ref().is_none_or(is_ours) {
            return Err(Problem::new(ProblemCode::Misdirected, "this engine is not known by that host name")
                .try_this("use the address of web.listen, or add the name to web.names in config.toml"));
        }
        if let Some(origin) = single(headers, &header::ORIGIN)?
            && !self.origins.iter().any(|own| own == origin)
        {
            return Err(foreign());
        }
        if let Some(site) = single(headers, &HeaderName::from_static("sec-fetch-site"))?
            && !matches!(site, "same-origin" | "none")
        {
            return Err(foreign());
        }
        if headers.contains_key(route::PRINCIPAL) {
            let message =
                format!("the header {} is only for clients on the machine of the engine", route::PRINCIPAL);
            return Err(Problem::new(ProblemCode::BadRequest, message)
                .try_this("leave it out: over TCP the token says who it is"));
        }
        if request.method != Method::GET && request.method != Method::POST {
            return Err(Problem::new(ProblemCode::BadRequest, "only GET and POST are possible"));
        }
        if request.method == Method::POST && !is_json(single(headers, &header::CONTENT_TYPE)?) {
            return Err(Problem::new(
                ProblemCode::BadRequest,
                "a POST needs the content type application/json",
            ));
        }
        Ok(())
    }
}

fn foreign() -> Problem {
    Problem::new(ProblemCode::Forbidden, "a web page of another origin sent this")
}

fn is_json(content_type: Option<&str>) -> bool {
    let kind = content_type.and_then(|text| text.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// The value of a header that may occur once.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Problem> {
    let bad = || Problem::new(ProblemCode::BadRequest, format!("the header {name} cannot be read"));
    let mut all = headers.get_all(name).iter();
    let first = all.next().map(|value| value.to_str().map_err(|_| bad())).transpose()?;
    if all.next().is_some() { Err(bad()) } else { Ok(first) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn gate(transport: Transport) -> WebGate {
        let names = ["box.example".to_owned(), "two.example:8443".to_owned()];
        WebGate::new("127.0.0.1:7717".parse().unwrap(), &names, transport)
    }

    fn ask(verb: &str, uri: &str, headers: &[(&str, &str)]) -> Result<(), ProblemCode> {
        let mut request = Request::builder().method(verb).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        gate(Transport::Plain).check(&parts).map_err(|problem| problem.code)
    }

    #[test]
    fn only_whole_names_of_this_engine_are_accepted() {
        for host in [
            "127.0.0.1:7717",
            "localhost:7717",
            "LOCALHOST:7717",
            "[::1]:7717",
            "box.example",
            "box.example:7717",
            "two.example:8443",
        ] {
            assert_eq!(ask("GET", "/v1/info", &[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "127.0.0.1",
            "127.0.0.1:7718",
            "evil.example:7717",
            "localhost.evil.example:7717",
            "two.example",
            "box.example.evil",
            "box.example:1",
            "",
            "127.0.0.1:7717,evil",
        ] {
            assert_eq!(ask("GET", "/v1/info", &[("host", host)]), Err(ProblemCode::Misdirected), "{host}");
        }
        assert_eq!(ask("GET", "/v1/info", &[]), Err(ProblemCode::Misdirected));
        let two = [("host", "127.0.0.1:7717"), ("host", "evil.example")];
        assert_eq!(ask("GET", "/v1/info", &two), Err(ProblemCode::BadRequest));
        let other = ask("GET", "http://evil.example/v1/info", &[("host", "127.0.0.1:7717")]);
        assert_eq!(other, Err(ProblemCode::Misdirected));
    }

    #[test]
    fn what_a_foreign_page_sends_is_refused() {
        let own = ("host", "127.0.0.1:7717");
        for origin in [
            "http://evil.example",
            "null",
            "http://127.0.0.1:7718",
            "https://127.0.0.1:7717",
            "http://127.0.0.1:7717.evil",
            "",
        ] {
            assert_eq!(
                ask("GET", "/v1/info", &[own, ("origin", origin)]),
                Err(ProblemCode::Forbidden),
                "{origin}"
            );
        }
        assert_eq!(ask("GET", "/v1/info", &[own, ("origin", "http://127.0.0.1:7717")]), Ok(()));
        for (site, expected) in [
            ("cross-site", Err(ProblemCode::Forbidden)),
            ("same-site", Err(ProblemCode::Forbidden)),
            ("same-origin", Ok(())),
            ("none", Ok(())),
        ] {
            assert_eq!(ask("GET", "/v1/info", &[own, ("sec-fetch-site", site)]), expected, "{site}");
        }
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "application/jsonp",
            "",
        ] {
            let refused = ask("POST", "/v1/stop", &[own, ("content-type", kind)]);
            assert_eq!(refused, Err(ProblemCode::BadRequest), "{kind}");
        }
        assert_eq!(
            ask("POST", "/v1/stop", &[own, ("content-type", "application/json; charset=utf-8")]),
            Ok(())
        );
        assert_eq!(ask("POST", "/v1/stop", &[own]), Err(ProblemCode::BadRequest));
        for verb in ["HEAD", "OPTIONS", "PUT", "TRACE"] {
            assert_eq!(ask(verb, "/v1/info", &[own]), Err(ProblemCode::BadRequest), "{verb}");
        }
        let claim = [own, (route::PRINCIPAL, "person:me")];
        assert_eq!(ask("GET", "/v1/info", &claim), Err(ProblemCode::BadRequest));
    }
}
