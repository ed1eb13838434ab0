//! The transport: stages of failure, limits, connections that are kept and closed, TLS, proxies, and no key in any text.

use std::sync::atomic::Ordering;
use std::time::Duration;

use talaria_agent::transport::{
    ApiKey, KeyHeader, ModelEndpoint, ModelResponse, ModelTransport, ProxySettings, TransportCause,
    TransportError, TransportLimits, TransportStage,
};
use talaria_scripted::{Gate, Reply, ScriptedModel, SseFraming, StreamCut};
use talaria_web::Roots;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::peers::{KeepingServer, proxy, reply, request, tls_for};

const KEY: &str = "sk-very-secret-0123456789";
const LIMITS: TransportLimits = TransportLimits {
    connect: Duration::from_secs(30),
    headers: Duration::from_secs(30),
    idle: Duration::from_secs(30),
    bytes: 1_000_000,
};

/// Far more than anything here takes: it only ends a test that hangs.
const PATIENCE: Duration = Duration::from_secs(120);

fn transport() -> ModelTransport {
    ModelTransport::new(Roots::Only(Vec::new()))
}

async fn send_to(transport: &ModelTransport, base: &str) -> Result<ModelResponse, TransportError> {
    send_with(transport, base, &ProxySettings::none(), LIMITS).await
}

async fn send_with(
    transport: &ModelTransport,
    base: &str,
    proxies: &ProxySettings,
    limits: TransportLimits,
) -> Result<ModelResponse, TransportError> {
    let key = ApiKey::parse(KEY).unwrap();
    let endpoint = ModelEndpoint { base_url: base, key: Some((&key, KeyHeader::Bearer)), proxies, limits };
    let sent = transport.send(&request("{\"model\":\"m\"}"), endpoint, &mut || {}).await;
    if let Err(error) = &sent {
        assert!(!format!("{error} {error:?}").contains(KEY), "{error:?}");
    }
    sent
}

async fn read(response: ModelResponse) -> Result<Vec<u8>, TransportError> {
    let mut body = response.body;
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn what(error: &TransportError) -> (TransportStage, TransportCause) {
    (error.stage, error.cause)
}

#[tokio::test]
async fn a_request_arrives_whole_and_with_its_key() {
    let mut server = KeepingServer::start(vec![reply("hello")]).await;
    let response = send_to(&transport(), &format!("http://{}/v1", server.address)).await.unwrap();
    assert_eq!((response.status, response.header("content-length")), (200, Some("5")));
    assert!(!format!("{response:?}").contains(KEY));
    assert_eq!(read(response).await.unwrap(), b"hello");
    let asked = server.next().await;
    assert!(asked.starts_with("POST /v1/responses HTTP/1.1\r\n"), "{asked}");
    for line in [
        &format!("authorization: Bearer {KEY}"),
        "x-extra: 1",
        "accept: text/event-stream",
        "content-type: application/json",
        &format!("host: {}", server.address),
    ] {
        assert!(asked.contains(&format!("{line}\r\n")), "{line} is missing in {asked}");
    }
    assert!(asked.ends_with("{\"model\":\"m\"}"), "{asked}");
}

#[tokio::test]
async fn a_connection_is_kept_when_its_body_was_read_and_closed_when_it_was_not() {
    let server = KeepingServer::start(vec![reply("one"), reply("two"), reply("three"), reply("four")]).await;
    let (transport, base) = (transport(), format!("http://{}/v1", server.address));
    for _ in 0..2 {
        read(send_to(&transport, &base).await.unwrap()).await.unwrap();
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1, "the second request opened a connection");
    drop(send_to(&transport, &base).await.unwrap());
    read(send_to(&transport, &base).await.unwrap()).await.unwrap();
    assert_eq!(
        server.connections.load(Ordering::SeqCst),
        2,
        "a body that was not read blocks its connection"
    );
}

#[tokio::test]
async fn a_kept_connection_that_the_server_closed_is_replaced() {
    // After the first reply the server has no more for the second request on the connection, and closes.
    let server = KeepingServer::start(vec![reply("ok"), Vec::new(), reply("again")]).await;
    let (transport, base) = (transport(), format!("http://{}/v1", server.address));
    read(send_to(&transport, &base).await.unwrap()).await.unwrap();
    let error = send_to(&transport, &base).await.unwrap_err();
    assert_eq!(
        what(&error),
        (TransportStage::Sent, TransportCause::Closed),
        "a written request is not repeated"
    );
    assert_eq!(read(send_to(&transport, &base).await.unwrap()).await.unwrap(), b"again");
    assert_eq!(server.connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_failure_says_how_far_the_request_got() {
    let transport = transport();
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let error = send_to(&transport, &format!("http://{closed}/v1")).await.unwrap_err();
    assert_eq!(what(&error), (TransportStage::NotSent, TransportCause::Connect));
    assert!(error.text.contains(&closed.to_string()), "{error}");

    let model = ScriptedModel::start().await.unwrap();
    model.play([
        Reply::raw_http(),
        Reply::raw_http().bytes("HTTP/1.1 200 OK\r\ncontent-len").drop_stream(),
        Reply::raw_http().bytes("this is not HTTP at all\r\n\r\n"),
        Reply::say("half").drop_stream(),
        Reply::say("whole").cut_after(40, StreamCut::Clean),
    ]);
    let base = model.base_url();
    let error = send_to(&transport, &base).await.unwrap_err();
    assert_eq!(what(&error), (TransportStage::Sent, TransportCause::Closed));
    let error = send_to(&transport, &base).await.unwrap_err();
    assert_eq!(what(&error), (TransportStage::Sent, TransportCause::Closed));
    let error = send_to(&transport, &base).await.unwrap_err();
    assert_eq!(what(&error), (TransportStage::Sent, TransportCause::Protocol), "{error}");
    let error = read(send_to(&transport, &base).await.unwrap()).await.unwrap_err();
    assert_eq!(what(&error), (TransportStage::Body, TransportCause::Closed), "{error}");
    assert_eq!(
        read(send_to(&transport, &base).await.unwrap()).await.unwrap().len(),
        40,
        "an end of HTTP is no error"
    );
}

#[tokio::test]
async fn a_status_is_a_response_whose_body_is_bounded() {
    let model = ScriptedModel::start().await.unwrap();
    model.play([
        Reply::refuse(403, "permission_error", "not in your region").header("retry-after", "9"),
        Reply::html(502, "x".repeat(100_000)),
    ]);
    let response = send_to(&transport(), &model.base_url()).await.unwrap();
    assert_eq!((response.status, response.header("retry-after")), (403, Some("9")));
    assert!(response.body.read_text(10_000).await.contains("not in your region"));
    let page = send_to(&transport(), &model.base_url()).await.unwrap();
    assert_eq!(page.body.read_text(10_000).await.len(), 10_000);
}

#[tokio::test]
async fn silence_and_size_have_limits() {
    let model = ScriptedModel::start().await.unwrap();
    model.play([
        Reply::raw_http().stall(),
        // A head that never ends, although bytes keep coming.
        (0..2000).fold(Reply::raw_http().bytes("HTTP/1.1 200 OK\r\n"), |reply, _| {
            reply.pause(Duration::from_millis(5)).bytes("x: y\r\n")
        }),
        Reply::say("half").stall(),
        Reply::say("x".repeat(5000)),
        Reply::say("slow but alive").framing(SseFraming {
            piece: Some(200),
            pace: Some(Duration::from_millis(5)),
            ..SseFraming::default()
        }),
    ]);
    let (transport, none, base) = (transport(), ProxySettings::none(), model.base_url());
    let short = Duration::from_millis(100);
    let limited = TransportLimits { headers: short, ..LIMITS };
    for _ in 0..2 {
        let error = send_with(&transport, &base, &none, limited).await.unwrap_err();
        assert_eq!(what(&error), (TransportStage::Sent, TransportCause::TimedOut));
    }
    let limited = TransportLimits { idle: short, ..LIMITS };
    let error = read(send_with(&transport, &base, &none, limited).await.unwrap()).await.unwrap_err();
    assert_eq!(what(&error), (TransportStage::Body, TransportCause::TimedOut));
    let limited = TransportLimits { bytes: 3000, ..LIMITS };
    let error = read(send_with(&transport, &base, &none, limited).await.unwrap()).await.unwrap_err();
    assert_eq!(what(&error), (TransportStage::Body, TransportCause::TooLarge));
    let whole = read(send_to(&transport, &base).await.unwrap()).await.unwrap();
    assert!(String::from_utf8(whole).unwrap().contains("response.completed"), "a trickle is not silence");
}

#[tokio::test]
async fn dropping_a_response_or_a_waiting_request_closes_the_connection_at_once() {
    let model = ScriptedModel::start().await.unwrap();
    let gate = Gate::new();
    model.play([Reply::say("half").stall(), Reply::raw_http().gate(&gate)]);
    let (transport, base) = (transport(), model.base_url());
    // No limit of the transport can close a connection before the test gives up. How soon it is closed is measured in the
    // bench of the loop.
    let day = Duration::from_secs(24 * 3600);
    let limits = TransportLimits { headers: day, idle: day, ..LIMITS };
    let none = ProxySettings::none();
    let closed = async |count| {
        let all = tokio::time::timeout(PATIENCE, model.wait_for_closed_streams(count)).await;
        assert!(all.is_ok(), "connection {count} is still open");
    };
    let mut response = send_with(&transport, &base, &none, limits).await.unwrap();
    response.body.next().await.unwrap();
    drop(response);
    closed(1).await;
    {
        let waiting = send_with(&transport, &base, &none, limits);
        tokio::select! {
            _ = waiting => panic!("the server has not answered"),
            () = gate.reached() => {}
        }
    }
    closed(2).await;
}

#[tokio::test]
async fn a_certificate_is_checked_and_the_error_says_what_is_wrong_with_it() {
    let (tls, certificate) = tls_for("localhost");
    let server = KeepingServer::with(Some(tls), vec![reply("secure")]).await;
    let port = server.address.port();
    let trusting = ModelTransport::new(Roots::Only(vec![certificate.clone()]));
    let response = send_to(&trusting, &format!("https://localhost:{port}/v1")).await.unwrap();
    assert_eq!(read(response).await.unwrap(), b"secure");

    let error = send_to(&trusting, &format!("https://127.0.0.1:{port}/v1")).await.unwrap_err();
    assert_eq!(what(&error), (TransportStage::NotSent, TransportCause::Certificate));
    assert!(error.text.contains("another name"), "{error}");
    let (_, other) = tls_for("elsewhere.test");
    let distrusting = ModelTransport::new(Roots::Only(vec![other]));
    let error = send_to(&distrusting, &format!("https://localhost:{port}/v1")).await.unwrap_err();
    assert_eq!(what(&error), (TransportStage::NotSent, TransportCause::Certificate));
    assert!(error.text.contains("issuer is unknown"), "{error}");
    assert_eq!(error.to_failure().class.as_str(), "certificate");

    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = plain.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = plain.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    });
    let error = send_to(&trusting, &format!("https://localhost:{port}/v1")).await.unwrap_err();
    assert_eq!(what(&error), (TransportStage::NotSent, TransportCause::Tls), "{error}");
}

#[tokio::test]
async fn a_proxy_carries_https_in_a_tunnel_and_http_as_a_request() {
    let (tls, certificate) = tls_for("provider.test");
    let secure = KeepingServer::with(Some(tls), vec![reply("secure")]).await;
    let (address, mut heads) = proxy(Ok(secure.address)).await;
    let with = |address: String| {
        ProxySettings::from_variables(move |name| {
            matches!(name, "HTTPS_PROXY" | "HTTP_PROXY").then(|| format!("http://me:pass-word@{address}"))
        })
    };
    let proxies = with(address.to_string());
    let trusting = ModelTransport::new(Roots::Only(vec![certificate]));
    let response = send_with(&trusting, "https://provider.test/v1", &proxies, LIMITS).await.unwrap();
    assert_eq!(read(response).await.unwrap(), b"secure");
    let head = heads.recv().await.unwrap();
    assert!(head.starts_with("CONNECT provider.test:443 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("Proxy-Authorization: Basic ") && !head.contains(KEY), "{head}");

    let plain = KeepingServer::start(vec![reply("plain")]).await;
    let (address, mut heads) = proxy(Ok(plain.address)).await;
    let proxies = with(address.to_string());
    let response = send_with(&trusting, "http://provider.test/v1", &proxies, LIMITS).await.unwrap();
    assert_eq!(read(response).await.unwrap(), b"plain");
    assert!(heads.recv().await.unwrap().starts_with("POST http://provider.test/v1/responses HTTP/1.1\r\n"));

    let (address, _heads) = proxy(Err("HTTP/1.1 407 Proxy Authentication Required")).await;
    let proxies = with(address.to_string());
    let error = send_with(&trusting, "https://provider.test/v1", &proxies, LIMITS).await.unwrap_err();
    assert_eq!(what(&error), (TransportStage::NotSent, TransportCause::Proxy));
    assert!(error.text.contains("407") && !error.text.contains("pass-word"), "{error}");
    let error = send_with(&trusting, "https://provider.test/v1", &with("127.0.0.1:1".to_owned()), LIMITS)
        .await
        .unwrap_err();
    assert_eq!(what(&error), (TransportStage::NotSent, TransportCause::Proxy));
    assert!(error.text.starts_with("the proxy 127.0.0.1:1: cannot connect"), "{error}");
}

#[tokio::test]
async fn a_finished_body_leaves_its_connection_for_the_next_request() {
    let stream = |rest: &str| {
        format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\ndata\r\n{rest}").into_bytes()
    };
    let server = KeepingServer::start(vec![stream("0\r\n\r\n"), stream("0\r\n\r\n")]).await;
    let (transport, base) = (transport(), format!("http://{}/v1", server.address));
    let mut first = send_to(&transport, &base).await.unwrap();
    assert_eq!(first.body.next().await.unwrap().unwrap().as_ref(), b"data");
    first.body.finish();
    // The rest is drained by a task of its own, which runs when this one waits.
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    read(send_to(&transport, &base).await.unwrap()).await.unwrap();
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[test]
fn keys_are_read_without_their_line_end_and_shown_nowhere() {
    let key = ApiKey::parse(&format!(" {KEY}\n")).unwrap();
    assert_eq!(key, ApiKey::parse(KEY).unwrap());
    assert!(!format!("{key:?}").contains("secret"));
    assert!(ApiKey::parse("  \n").is_err() && ApiKey::parse("two\nlines").is_err());
}

#[tokio::test]
async fn a_key_that_the_server_repeats_is_masked_in_headers_and_body() {
    let model = ScriptedModel::start().await.unwrap();
    let echo = format!("bad key {KEY}, really {KEY}!");
    model.push(Reply::refuse(401, "invalid_api_key", &echo).header("x-echo", KEY));
    let response = send_to(&transport(), &model.base_url()).await.unwrap();
    assert_eq!(response.header("x-echo"), Some("[key]"));
    let body = String::from_utf8(read(response).await.unwrap()).unwrap();
    assert!(body.contains("bad key [key], really [key]!") && !body.contains(KEY), "{body}");
}

#[tokio::test]
async fn a_key_that_is_a_usual_word_does_not_change_answers() {
    let refusal = |body: &str| {
        let head = format!("HTTP/1.1 401 Unauthorized\r\nx-echo: {body}\r\ncontent-length: {}", body.len());
        format!("{head}\r\n\r\n{body}").into_bytes()
    };
    for (key, answer, in_answer, in_error) in [
        ("test", "cargo test", "cargo test", "cargo test"),
        ("ollama", "ask ollama", "ask ollama", "ask [key]"),
        ("0123456789abcde", "0123456789abcde", "0123456789abcde", "[key]"),
        ("0123456789abcdef", "0123456789abcdef", "[key]", "[key]"),
    ] {
        let server = KeepingServer::start(vec![reply(answer), refusal(answer)]).await;
        let (transport, base) = (transport(), format!("http://{}/v1", server.address));
        let api_key = ApiKey::parse(key).unwrap();
        for expected in [in_answer, in_error] {
            let endpoint = ModelEndpoint {
                base_url: &base,
                key: Some((&api_key, KeyHeader::Bearer)),
                proxies: &ProxySettings::none(),
                limits: LIMITS,
            };
            let response = transport.send(&request("{}"), endpoint, &mut || {}).await.unwrap();
            if response.status == 401 {
                assert_eq!(response.header("x-echo"), Some(expected), "{key}");
            }
            assert_eq!(String::from_utf8(read(response).await.unwrap()).unwrap(), expected, "{key}");
        }
    }
}
