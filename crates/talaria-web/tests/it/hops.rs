//! Every hop leads to an address that was judged, and to no other.

use talaria_core::config::PrivateHost;
use talaria_web::{BadPageAddress, FetchError, FetchLimits, RefusedAddress};

use crate::server::{Net, Server, html, redirect};

const PUBLIC: &str = "93.184.216.34";

fn refused(host: &str, why: RefusedAddress) -> Result<(), FetchError> {
    Err(FetchError::Refused { host: host.to_owned(), why })
}

#[tokio::test]
async fn a_name_is_resolved_once_and_the_judged_address_is_connected_to() {
    let server = Server::start(vec![html("<p>hello")]).await;
    // The second answer would be this machine.
    let net = Net::new(&server, &[("rebind.test", &[PUBLIC]), ("rebind.test", &["127.0.0.1"])]);
    let fetched = net.fetch("http://rebind.test/a?b=c#d").await.unwrap();
    assert_eq!((fetched.status, fetched.url.as_str()), (200, "http://rebind.test/a?b=c#d"));
    assert_eq!(
        net.log(),
        [
            "resolve rebind.test",
            "dial 93.184.216.34:80",
            "request http://rebind.test/a?b=c#d at 93.184.216.34:80"
        ]
    );
    let head = &server.heads()[0];
    assert!(head.starts_with("GET /a?b=c HTTP/1.1\r\nhost: rebind.test\r\n"), "{head}");
    assert!(!head.to_lowercase().contains("cookie") && !head.to_lowercase().contains("referer"), "{head}");
    // When it has changed its mind, the next fetch is refused.
    let net = Net { names: vec![("rebind.test", vec!["127.0.0.1"])], ..net };
    let again = net.fetch("http://rebind.test/").await.map(drop);
    assert_eq!(again, refused("rebind.test", RefusedAddress::Private));
    assert_eq!(server.heads().len(), 1);
}

#[tokio::test]
async fn one_private_address_among_public_ones_is_enough_to_refuse() {
    let server = Server::start(Vec::new()).await;
    for bad in ["10.0.0.7", "::1", "::ffff:192.168.1.1", "64:ff9b::7f00:1"] {
        let net = Net { names: vec![("mixed.test", vec![PUBLIC, bad])], ..Net::new(&server, &[]) };
        let fetched = net.fetch("https://mixed.test/").await.map(drop);
        assert_eq!(fetched, refused("mixed.test", RefusedAddress::Private), "{bad}");
        assert_eq!(net.log(), ["resolve mixed.test"], "nothing is connected to");
    }
    for literal in ["http://127.0.0.1/", "http://0x7f.1/", "http://[::1]/", "http://2130706433/"] {
        let net = Net::new(&server, &[]);
        assert!(
            matches!(net.fetch(literal).await, Err(FetchError::Refused { why: RefusedAddress::Private, .. })),
            "{literal}"
        );
        assert!(net.log().is_empty(), "{literal}");
    }
    let net = Net::new(&server, &[("localhost", &["127.0.0.1"])]);
    assert!(net.fetch("http://localhost/").await.is_err());
    assert!(server.heads().is_empty());
}

#[tokio::test]
async fn a_redirect_to_a_private_or_metadata_address_is_refused() {
    for (to, host, why) in [
        ("http://127.0.0.1:8080/admin", "127.0.0.1", RefusedAddress::Private),
        ("http://169.254.169.254/latest/meta-data/", "169.254.169.254", RefusedAddress::Metadata),
        ("http://[::ffff:a9fe:a9fe]/", "[::ffff:a9fe:a9fe]", RefusedAddress::Metadata),
        ("//inner.test/x", "inner.test", RefusedAddress::Private),
    ] {
        let server = Server::start(vec![redirect(to)]).await;
        let net = Net::new(&server, &[("a.test", &[PUBLIC]), ("inner.test", &["10.0.0.1"])]);
        assert_eq!(net.fetch("http://a.test/").await.map(drop), refused(host, why), "{to}");
        assert_eq!(server.heads().len(), 1, "{to}");
    }
}

#[tokio::test]
async fn redirects_are_resolved_anew_counted_and_never_lead_to_less_protection() {
    let server = Server::start(vec![redirect("/b"), redirect("http://c.test/c"), html("end")]).await;
    let net = Net::new(&server, &[("a.test", &[PUBLIC]), ("a.test", &["8.8.8.8"]), ("c.test", &["9.9.9.9"])]);
    let fetched = net.fetch("http://a.test/a").await.unwrap();
    assert_eq!(fetched.url.as_str(), "http://c.test/c");
    let requests: Vec<String> = net.log().into_iter().filter(|line| line.starts_with("request")).collect();
    assert_eq!(
        requests,
        [
            "request http://a.test/a at 93.184.216.34:80",
            "request http://a.test/b at 8.8.8.8:80",
            "request http://c.test/c at 9.9.9.9:80"
        ]
    );

    let server = Server::start((0..9).map(|_| redirect("/again")).collect()).await;
    let net = Net { names: vec![("a.test", vec![PUBLIC]); 9], ..Net::new(&server, &[]) };
    assert_eq!(net.fetch("http://a.test/").await, Err(FetchError::TooManyRedirects(5)));
    assert_eq!(server.heads().len(), 6);

    for (to, error) in [
        ("ftp://a.test/", FetchError::BadRedirect(BadPageAddress::Scheme)),
        ("http://u:p@a.test/", FetchError::BadRedirect(BadPageAddress::UserInfo)),
        ("http://metadata.google.internal/", FetchError::BadRedirect(BadPageAddress::Metadata)),
        ("http://[", FetchError::BadRedirect(BadPageAddress::NotAnUrl)),
    ] {
        let server = Server::start(vec![redirect(to)]).await;
        let net = Net::new(&server, &[("a.test", &[PUBLIC])]);
        assert_eq!(net.fetch("http://a.test/").await, Err(error), "{to}");
    }
}

#[tokio::test]
async fn a_redirect_to_a_host_that_nobody_permitted_is_named_and_not_looked_up() {
    let server = Server::start(vec![redirect("http://other.test/x?y")]).await;
    let net = Net::new(&server, &[("a.test", &[PUBLIC]), ("other.test", &[PUBLIC])]);
    let only = |url: &url::Url| url.host_str() == Some("a.test");
    let fetched = net.fetch_within("http://a.test/", FetchLimits::default(), &[], only).await;
    assert_eq!(
        fetched.unwrap_err().to_string(),
        "it redirects to http://other.test/x?y; call again with that address"
    );
    assert!(!net.log().contains(&"resolve other.test".to_owned()), "{:?}", net.log());
}

#[tokio::test]
async fn an_allowed_host_may_be_private_and_its_redirects_may_not() {
    let server = Server::start(vec![html("wiki"), redirect("http://10.0.0.9/")]).await;
    let net = Net { names: vec![("wiki.corp", vec!["10.0.0.8"]); 2], ..Net::new(&server, &[]) };
    let allow = [PrivateHost { host: "wiki.corp".to_owned(), port: Some(80) }];
    let fetch = |url: &'static str| net.fetch_within(url, FetchLimits::default(), &allow, |_| true);
    assert_eq!(fetch("http://wiki.corp/").await.unwrap().bytes, b"wiki");
    assert_eq!(fetch("http://wiki.corp/").await.map(drop), refused("10.0.0.9", RefusedAddress::Private));
    let net = Net { names: vec![("wiki.corp", vec!["10.0.0.8"])], ..net };
    let other_port =
        net.fetch_within("http://wiki.corp:8080/", FetchLimits::default(), &allow, |_| true).await;
    assert_eq!(other_port.map(drop), refused("wiki.corp", RefusedAddress::Private));
}
