//! The API over TCP: every attack on every route of the table, and what a token may do.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talaria_core::access::{RouteNeed, TokenScope};
use talaria_core::api::NewToken;
use talaria_core::config::{ListenConfig, ListenPlan};
use talaria_server::route::{self, Route, Verb};
use talaria_server::web::{self, WebListener};
use talaria_testkit::eventually;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::openapi::statuses::message;
use crate::scene::{PATIENCE, Scene, asked};

mod rights;
mod transport;

/// An engine that is served over TCP, too.
struct WebScene {
    scene: Scene,
    address: SocketAddr,
}

/// One request over TCP.
#[derive(Clone)]
struct WebCall {
    verb: &'static str,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl WebScene {
    async fn of(scene: Scene) -> Self {
        let listen =
            ListenConfig { address: Some("127.0.0.1:0".parse().unwrap()), ..ListenConfig::default() };
        Self::planned(scene, &listen.plan().unwrap().unwrap()).await
    }

    async fn planned(scene: Scene, plan: &ListenPlan) -> Self {
        let listener = WebListener::open(plan, |path| path.into()).await.unwrap();
        let address = listener.url().split_once("://").unwrap().1.parse().unwrap();
        tokio::spawn(web::serve(scene.engine().clone(), listener, |_| {}));
        Self { scene, address }
    }

    async fn token(&self, name: &str, scopes: &[TokenScope], roots: &[&str]) -> String {
        self.token_for(name, scopes, roots, None).await
    }

    async fn token_for(
        &self,
        name: &str,
        scopes: &[TokenScope],
        roots: &[&str],
        lasts_ms: Option<u64>,
    ) -> String {
        let roots = roots.iter().map(|root| (*root).to_owned()).collect();
        let new = NewToken { name: name.to_owned(), scopes: scopes.to_vec(), roots, lasts_ms };
        self.scene.engine().create_token(new).await.unwrap().token
    }

    /// A call that would be carried out, were it not for what a test adds.
    fn call(&self, route: &Route, id: &str) -> WebCall {
        let message = message(&self.scene, route);
        let body = if message.is_null() { Vec::new() } else { remote(message).to_string().into_bytes() };
        let verb = if route.verb == Verb::Get { "GET" } else { "POST" };
        let call = WebCall { verb, path: route.path.replace("{id}", id), headers: Vec::new(), body };
        let call = call.with("host", &self.address.to_string());
        if verb == "POST" { call.with("content-type", "application/json") } else { call }
    }

    async fn send(&self, call: &WebCall) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(&call.text("close")).await.unwrap();
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        // A reset after the response is one, too: the server did not read the rest of the request.
        let _ = tokio::time::timeout(PATIENCE, read).await.expect("no response");
        parsed(&answer)
    }

    async fn expect(&self, status: u16, call: &WebCall, why: &str) -> String {
        let (answered, text) = self.send(call).await;
        assert_eq!(answered, status, "{why}: {} {}: {text}", call.verb, call.path);
        text
    }

    /// Everything that an attack could have changed.
    async fn state(&self) -> String {
        let client = self.scene.client().await;
        let status = client.status().await.unwrap();
        let tokens = client.tokens().await.unwrap().into_iter().map(|token| (token.name, token.revoked_at));
        let requests: Vec<_> = status.requests.iter().map(|request| (&request.id, request.state)).collect();
        let sessions = client.sessions(&talaria_core::api::SessionQuery::default()).await.unwrap();
        let sessions: Vec<_> = sessions.iter().map(|one| (&one.id, &one.title, one.running)).collect();
        let turns = self.scene.received("turn/start").len() + self.scene.received("turn/interrupt").len();
        let memory = client.memory_history(&talaria_core::api::MemoryHistoryQuery::default()).await.unwrap();
        format!("{requests:?} {sessions:?} {turns} {} {:?}", memory.len(), tokens.collect::<Vec<_>>())
    }
}

impl WebCall {
    fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(existing, _)| existing != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(existing, _)| existing != name);
        self
    }

    fn bearing(self, token: &str) -> Self {
        self.with("authorization", &format!("Bearer {token}"))
    }

    fn saying(mut self, body: &Value) -> Self {
        self.body = body.to_string().into_bytes();
        self
    }

    fn text(&self, connection: &str) -> Vec<u8> {
        let headers: String =
            self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!(
            "{} {} HTTP/1.1\r\nconnection: {connection}\r\ncontent-length: {}\r\n{headers}\r\n",
            self.verb,
            self.path,
            self.body.len()
        );
        [head.as_bytes(), &self.body].concat()
    }
}

/// The same message without what only clients on this machine send.
fn remote(mut message: Value) -> Value {
    if let Some(fields) = message.as_object_mut() {
        fields.remove("caller");
        if let Some(turn) = fields.get_mut("turn").and_then(Value::as_object_mut) {
            turn.remove("caller");
        }
    }
    message
}

fn parsed(answer: &[u8]) -> (u16, String) {
    let text = String::from_utf8_lossy(answer).into_owned();
    let status = text.get(9..12).and_then(|digits| digits.parse().ok());
    (status.unwrap_or_else(|| panic!("no status in {text:?}")), text)
}

fn every_scope() -> Vec<TokenScope> {
    TokenScope::all()
}

#[tokio::test]
async fn no_route_does_anything_for_a_page_a_stranger_or_an_ended_token() {
    let web = WebScene::of(Scene::asking().await).await;
    let client = web.scene.client().await;
    let task = client.start_task(&web.scene.new_task("ask")).await.unwrap();
    let ticket = asked(&client, &task.session, task.after).await;
    let right = web.token("right", &every_scope(), &[]).await;
    let revoked = web.token("revoked", &every_scope(), &[]).await;
    let expired = web.token_for("expired", &every_scope(), &[], Some(1)).await;
    client.revoke_token("revoked").await.unwrap();
    eventually("the token is expired", async || {
        let tokens = client.tokens().await.ok()?;
        tokens.iter().any(|one| one.state == talaria_core::api::TokenState::Expired).then_some(())
    })
    .await;
    let before = web.state().await;
    let port = web.address.port();
    let other_port = format!("http://127.0.0.1:{}", port.wrapping_add(1));
    for route in route::ALL {
        let is_request = [route::REQUEST, route::ANSWER].contains(route);
        let id = if is_request { ticket.to_string() } else { task.id.clone() };
        let id = if *route == route::REVOKE_TOKEN { "right".to_owned() } else { id };
        let call = web.call(route, &id);
        let full = call.clone().bearing(&right);
        web.expect(401, &call, "no token").await;
        web.expect(401, &call.clone().with("cookie", &format!("token={right}")), "a cookie").await;
        let query = WebCall { path: format!("{}?access_token={right}", call.path), ..call.clone() };
        web.expect(401, &query, "a query").await;
        for (token, why) in
            [(&revoked, "revoked"), (&expired, "expired"), (&right[..right.len() - 1].to_owned(), "cut")]
        {
            let (status, text) = web.send(&call.clone().bearing(token)).await;
            assert!([401, 429].contains(&status), "{why}: {} {text}", route.name);
            assert!(!text.contains(token.as_str()), "{why}: the token is in the response");
        }
        web.expect(421, &full.clone().with("host", &format!("evil.test:{port}")), "rebinding").await;
        web.expect(421, &full.clone().without("host"), "no host").await;
        web.expect(403, &full.clone().with("origin", "http://evil.test"), "foreign origin").await;
        web.expect(403, &full.clone().with("origin", &other_port), "another port").await;
        web.expect(403, &full.clone().with("origin", "null"), "no origin").await;
        for site in ["cross-site", "same-site"] {
            web.expect(403, &full.clone().with("sec-fetch-site", site), site).await;
        }
        web.expect(400, &full.clone().with(route::PRINCIPAL, "person:me"), "a claim").await;
        if route.verb == Verb::Post {
            for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
                web.expect(400, &full.clone().with("content-type", kind), kind).await;
            }
            web.expect(400, &full.clone().without("content-type"), "no type").await;
        }
        web.expect(400, &WebCall { verb: "HEAD", ..full.clone() }, "HEAD").await;
        let preflight = WebCall { verb: "OPTIONS", ..full.clone() }.with("origin", "http://evil.test");
        let text = web.expect(403, &preflight, "preflight").await;
        assert!(!text.to_ascii_lowercase().contains("access-control-allow"), "{text}");
    }
    assert_eq!(web.state().await, before, "something was carried out");
}

#[tokio::test]
async fn every_route_needs_the_scope_of_the_table_and_no_other_scope_replaces_it() {
    let web = WebScene::of(Scene::start().await).await;
    let before = web.state().await;
    for need in [
        RouteNeed::View,
        RouteNeed::Answer,
        RouteNeed::Start,
        RouteNeed::Shell,
        RouteNeed::Admin,
        RouteNeed::Local,
    ] {
        let is_other = |scope: &TokenScope| match need {
            RouteNeed::Answer => !scope.to_string().starts_with("answer"),
            _ => Some(*scope) != need.scope(),
        };
        let others: Vec<TokenScope> = every_scope().into_iter().filter(is_other).collect();
        let roots: &[&str] = if others.contains(&TokenScope::Admin) { &[] } else { &["/"] };
        let name = format!("{need:?}");
        let token = web.token(&name, &others, roots).await;
        for route in route::ALL.iter().filter(|route| route.needs == need) {
            let text = web.expect(403, &web.call(route, "x").bearing(&token), "the scope is missing").await;
            if let Some(scope) = need.scope() {
                assert!(text.contains(&format!("`{scope}`")), "{}: {text}", route.name);
            }
        }
        web.scene.engine().revoke_token(&name).await.unwrap();
    }
    // The tokens of this test are all that is new.
    let of_others =
        |state: &str| state.split(" [(").next().unwrap_or_default().trim_end_matches(" []").to_owned();
    assert_eq!(of_others(&web.state().await), of_others(&before));
    // What needs no scope, and what has it, is answered.
    let token = web.token("all", &every_scope(), &[]).await;
    for route in route::ALL.iter().filter(|route| route.verb == Verb::Get && !route.path.contains("{id}")) {
        let mut call = web.call(route, "").bearing(&token);
        call.path += "?words=x&name=none";
        let expected = if *route == route::SKILL { 404 } else { 200 };
        let text = web.expect(expected, &call, "a right token").await;
        assert!(text.contains("cache-control: no-store") && text.contains("nosniff"), "{text}");
    }
}

#[tokio::test]
async fn ten_thousand_wrong_tokens_are_slowed_down_and_lock_no_one_out() {
    let web = WebScene::of(Scene::start().await).await;
    let right = web.token("right", &[TokenScope::View], &[]).await;
    let wrong = right.replace(|digit: char| digit.is_ascii_digit(), "f");
    let call = web.call(&route::TASKS, "").bearing(&wrong);
    let mut stream = TcpStream::connect(web.address).await.unwrap();
    let mut statuses = [0_usize; 2];
    for _ in 0..10_000 {
        stream.write_all(&call.text("keep-alive")).await.unwrap();
        let status = read_response(&mut stream).await;
        statuses[match status {
            401 => 0,
            429 => 1,
            other => panic!("a wrong token is answered with {other}"),
        }] += 1;
    }
    // Ten are free; afterwards each needs a wait that doubles.
    assert!(statuses[0] <= 20, "{statuses:?}");
    let good = web.call(&route::TASKS, "").bearing(&right);
    web.expect(200, &good, "the right token from the same address").await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut elsewhere = socket.connect(web.address).await.unwrap();
    elsewhere.write_all(&good.text("close")).await.unwrap();
    assert_eq!(read_response(&mut elsewhere).await, 200, "from elsewhere");
    let audit =
        web.scene.client().await.audit(&talaria_core::api::AuditQuery { before: None, limit: 10_000 }).await;
    let audit = audit.unwrap();
    assert!(audit.iter().filter(|row| row.refused).count() <= 20, "{}", audit.len());
    assert!(!format!("{audit:?}").contains(&wrong));
}

/// Reads one response with a length, and returns its status.
async fn read_response(stream: &mut TcpStream) -> u16 {
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&answer).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_ascii_lowercase();
            let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if length.is_some_and(|length: usize| body.len() >= length) {
                return parsed(&answer).0;
            }
        }
        let read = tokio::time::timeout(PATIENCE, stream.read(&mut piece)).await.unwrap().unwrap();
        assert!(read > 0, "the connection was closed: {text}");
        answer.extend_from_slice(&piece[..read]);
    }
}

#[tokio::test]
async fn a_revoked_token_ends_its_stream_and_a_request_that_was_begun() {
    let web = WebScene::of(Scene::start().await).await;
    let client = web.scene.client().await;
    let (session, _) = web.scene.started(&client, "run").await;
    let token = web.token("short", &every_scope(), &[]).await;
    let follow = web.call(&route::FOLLOW, session.id.as_str()).bearing(&token);
    let mut stream = TcpStream::connect(web.address).await.unwrap();
    stream.write_all(&follow.text("close")).await.unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&answer).contains("turn_started") {
        let read = tokio::time::timeout(PATIENCE, stream.read(&mut piece)).await.unwrap().unwrap();
        answer.extend_from_slice(&piece[..read]);
    }
    // Its head is accepted; the body arrives after the revocation.
    let stop = web.call(&route::STOP, "").bearing(&token);
    let text = stop.text("close");
    let mut begun = TcpStream::connect(web.address).await.unwrap();
    begun.write_all(&text[..text.len() - 1]).await.unwrap();
    eventually("the head is accepted", async || {
        let tokens = client.tokens().await.ok()?;
        tokens.iter().find(|one| one.name == "short")?.used_at
    })
    .await;
    let at = Instant::now();
    client.revoke_token("short").await.unwrap();
    tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
    assert!(at.elapsed() < Duration::from_secs(1), "{:?}", at.elapsed());
    let _ = begun.write_all(&text[text.len() - 1..]).await;
    let mut refused = Vec::new();
    let _ = begun.read_to_end(&mut refused).await;
    assert_eq!(parsed(&refused).0, 401);
    assert!(client.status().await.is_ok(), "the engine was stopped by a revoked token");
}
