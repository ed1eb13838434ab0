//! Every route is called in every situation that can be played on a scripted Codex: it answers with a status that the
//! document names, and each status that the document names was seen, or `ELSEWHERE` says where it is produced. Those that
//! exist only over TCP are in `web`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use talaria_core::api::{Dirty, ImportFrom, ImportHow, Kind, Notify, Prune};
use talaria_core::event::Event;
use talaria_server::route::{self, Route, Verb};
use talaria_testkit::{ApiDocument, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::scene::{Scene, asked, running, until};

/// Statuses that a scripted Codex does not produce, and the tests that do.
const ELSEWHERE: [(&str, u16, &str); 8] = [
    ("shell", 200, "shell::what_a_command_prints_arrives_and_its_end_is_the_last"),
    ("diff", 200, "the engine's tasks::trees"),
    ("apply", 200, "the engine's tasks::trees"),
    ("discard", 200, "the engine's tasks::trees"),
    ("stop_background", 200, "the engine's background"),
    ("stop_background", 409, "the engine's background"),
    ("stop_background", 502, "Codex refuses to stop a command; the table of routes names it"),
    ("import_memory", 409, "entries change faster than they are written; the table of routes names it"),
];
/// Nothing is broken here: `reply` tests that these refusals are written so.
const BROKEN: u16 = 500;

struct Stage {
    scene: Scene,
    document: ApiDocument,
    seen: BTreeMap<&'static str, BTreeSet<u16>>,
}

/// A call of a route.
struct Call {
    route: Route,
    id: String,
    query: String,
    principal: Option<&'static str>,
    body: Vec<u8>,
}

impl Call {
    fn of(route: Route, id: &str) -> Self {
        Self { route, id: id.to_owned(), query: String::new(), principal: None, body: Vec::new() }
    }

    fn with(mut self, body: &Value) -> Self {
        self.body = body.to_string().into_bytes();
        self
    }

    fn text(&self) -> Vec<u8> {
        let verb = if self.route.verb == Verb::Get { "GET" } else { "POST" };
        let path = self.route.path.replace("{id}", &self.id) + &self.query;
        let principal =
            self.principal.map(|who| format!("{}: {who}\r\n", route::PRINCIPAL)).unwrap_or_default();
        let length = self.body.len();
        let head = format!(
            "{verb} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{principal}content-length: {length}\r\n\r\n"
        );
        [head.as_bytes(), &self.body].concat()
    }
}

impl Stage {
    /// Calls, and returns the status. One that the document does not name fails the test.
    async fn call(&mut self, call: Call) -> u16 {
        let mut stream = UnixStream::connect(&self.scene.socket).await.unwrap();
        stream.write_all(&call.text()).await.unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        let status: u16 = std::str::from_utf8(&head[9..]).unwrap().parse().unwrap();
        let verb = if call.route.verb == Verb::Get { "get" } else { "post" };
        let named = self.document.statuses(verb, call.route.path);
        assert!(
            named.contains(&status),
            "{} answers {status}; the document names {named:?}",
            call.route.name
        );
        self.seen.entry(call.route.name).or_default().insert(status);
        status
    }

    async fn expect(&mut self, status: u16, call: Call) {
        let (name, body) = (call.route.name, String::from_utf8_lossy(&call.body).into_owned());
        assert_eq!(self.call(call).await, status, "{name} {body}");
    }

    fn message(&self, route: &Route) -> Value {
        message(&self.scene, route)
    }

    fn valid(&self, route: Route, id: &str) -> Call {
        let message = self.message(&route);
        if message.is_null() { Call::of(route, id) } else { Call::of(route, id).with(&message) }
    }
}

/// A message that the route understands.
pub(crate) fn message(scene: &Scene, route: &Route) -> Value {
    let turn = json!(scene.turn("more"));
    let caller = json!(scene.turn("").caller);
    match route.name {
        "stop" | "discard" | "stop_background" => json!({}),
        "start_session" => json!(scene.new_session(Kind::Exec, "x")),
        "start_turn" | "send" => turn,
        "say" => json!({ "text": "more", "when": "now" }),
        "interrupt" => json!({ "by": "user" }),
        "compact" => json!({ "caller": caller }),
        "change_permissions" => json!({ "mode": "auto" }),
        "fork" => json!({ "point": "last" }),
        "undo" => json!({}),
        "retry" => json!({ "input": [], "caller": caller }),
        "rename" => json!({ "title": "another title" }),
        "shell" => json!({ "cwd": "/", "command": "ls", "caller": caller }),
        "prune" => json!(Prune { keep: Some(0), dry_run: true, ..Prune::default() }),
        "answer" => json!({ "answer": { "decision": "accept" }, "by": "user" }),
        "start_task" => json!(scene.new_task("x")),
        "offers" => json!({ "cwd": "/", "caller": caller }),
        "change_memory" => json!({ "op": "add", "scope": "user", "text": "likes herons", "cwd": "/" }),
        "import_memory" => json!({ "program": "codex", "how": "preview_undo" }),
        "change_skills" => json!({ "op": "archive", "name": "haiku", "cwd": "/" }),
        "call_tool" => {
            json!({ "tool": "talaria_memory", "arguments": { "operations": [{ "op": "read" }] } })
        }
        "notify" => json!(Notify { dry_run: true, ..Notify::default() }),
        "import" => {
            json!({ "path": "", "from": ImportFrom::Hermes, "how": ImportHow::PreviewUndo, "run": "x" })
        }
        "create_token" => json!({ "name": "more", "scopes": ["view"] }),
        "apply" | "revoke_token" => Value::Null,
        other if route.verb == Verb::Post => panic!("nothing says what {other} is sent"),
        _ => Value::Null,
    }
}

/// The same message for a missing Codex.
fn without_codex(mut message: Value) -> Value {
    let place =
        if message.get("turn").is_some() { &mut message["turn"]["caller"] } else { &mut message["caller"] };
    place["codex"] = json!("/nowhere/codex");
    message
}

#[tokio::test]
async fn every_route_answers_with_statuses_that_the_document_names() {
    let scene = Scene::asking().await;
    let mut stage = Stage { scene, document: ApiDocument::committed(), seen: BTreeMap::new() };
    let client = stage.scene.client().await;
    let first = client.start_task(&stage.scene.new_task("ask")).await.unwrap();
    let ticket = asked(&client, &first.session, first.after).await;
    stage.scene.another_asking_codex();
    let second = client.start_task(&stage.scene.new_task("ask")).await.unwrap();
    asked(&client, &second.session, second.after).await;
    stage.scene.another_codex();
    let third = stage.scene.started(&client, "run").await.0;
    let common = &first.session.as_str()[..4];
    let id_of = |route: &Route| {
        let is_request = [route::REQUEST, route::ANSWER].contains(route);
        if is_request { ticket.to_string() } else { first.id.clone() }
    };
    let has_id = |route: &&Route| route.path.contains("{id}");

    // Who calls, and what is sent.
    for route in route::ALL {
        let call = stage.valid(*route, &id_of(route));
        stage.expect(400, Call { principal: Some("nobody"), ..call }).await;
        let call = stage.valid(*route, &id_of(route));
        let refused = if *route == route::INFO { 200 } else { 403 };
        stage.expect(refused, Call { principal: Some("token:x"), ..call }).await;
        if route.verb == Verb::Post && ![route::APPLY, route::REVOKE_TOKEN].contains(route) {
            let garbage = Call { body: b"{]".to_vec(), ..Call::of(*route, &id_of(route)) };
            stage.expect(400, garbage).await;
        }
    }

    // The id.
    for route in route::ALL.iter().filter(has_id) {
        let call = stage.valid(*route, "zzzz");
        stage.expect(404, call).await;
        let several = if id_of(route) == ticket.as_str() { "req-" } else { common };
        if ![route::STOP_BACKGROUND, route::REVOKE_TOKEN].contains(route) {
            let call = stage.valid(*route, several);
            stage.expect(409, call).await;
        }
    }
    for route in [route::SESSIONS, route::TASKS] {
        stage.expect(404, Call { query: "?before=zzzz".to_owned(), ..Call::of(route, "") }).await;
        let query = format!("?before={common}");
        stage.expect(409, Call { query, ..Call::of(route, "") }).await;
    }
    for (session, status) in [("zzzz", 404), (common, 409)] {
        let mut message = stage.message(&route::SHELL);
        message["session"] = json!(session);
        stage.expect(status, Call::of(route::SHELL, "").with(&message)).await;
        let query = format!("?session={session}");
        stage.expect(status, Call { query, ..Call::of(route::MEMORY, "") }).await;
    }

    // Read-only routes.
    stage.scene.add_skill("haiku");
    stage.expect(404, Call { query: "?name=none".to_owned(), ..Call::of(route::SKILL, "") }).await;
    for route in route::ALL.iter().filter(|route| route.verb == Verb::Get && **route != route::DIFF) {
        stage
            .expect(
                200,
                Call { query: "?words=ask&name=haiku".to_owned(), ..Call::of(*route, &id_of(route)) },
            )
            .await;
    }

    // Requests that conflict with the current state.
    for route in [route::DIFF, route::APPLY, route::DISCARD] {
        let call = stage.valid(route, &first.id);
        stage.expect(409, call).await;
    }
    // A turn runs in the third; in the first none has ended.
    for (route, id) in [(route::FORK, &first.session), (route::UNDO, &third.id), (route::RETRY, &third.id)] {
        let call = stage.valid(route, id.as_str());
        stage.expect(409, call).await;
    }
    for route in [route::START_TURN, route::COMPACT] {
        let call = stage.valid(route, third.id.as_str());
        stage.expect(409, call).await;
    }
    let mut in_worktree = stage.scene.new_task("x");
    // No git repository.
    in_worktree.cwd = stage.scene.home.path().to_str().unwrap().to_owned();
    in_worktree.worktree = Some(Dirty::Refuse);
    in_worktree.sandbox = Some(talaria_core::policy::Sandbox::WorkspaceWrite);
    stage.expect(409, Call::of(route::START_TASK, "").with(&json!(in_worktree))).await;
    let mut stale = stage.message(&route::ANSWER);
    stale["digest"] = json!("of another question");
    stage.expect(422, Call::of(route::ANSWER, ticket.as_str()).with(&stale)).await;

    // Requests that take effect, and conflict when repeated.
    for (route, status) in [(route::SAY, 200), (route::SEND, 200), (route::INTERRUPT, 204)] {
        let call = stage.valid(route, if route == route::SEND { &first.id } else { third.id.as_str() });
        stage.expect(status, call).await;
    }
    let mut follow = client.follow(third.id.as_str(), third.after).await.unwrap();
    until(&mut follow, |event| matches!(event, Event::Outcome(_))).await;
    for status in [200, 409] {
        let call = stage.valid(route::ANSWER, ticket.as_str());
        stage.expect(status, call).await;
    }
    let call = stage.valid(route::INTERRUPT, second.session.as_str());
    stage.expect(204, call).await;
    let mut follow = client.follow(second.session.as_str(), second.after).await.unwrap();
    until(&mut follow, |event| matches!(event, Event::Outcome(_))).await;

    // A missing Codex, and an existing one.
    let calls = [
        (route::START_SESSION, ""),
        (route::START_TASK, ""),
        (route::OFFERS, ""),
        (route::SHELL, ""),
        (route::START_TURN, third.id.as_str()),
        (route::COMPACT, third.id.as_str()),
        (route::RETRY, third.id.as_str()),
        (route::SEND, second.id.as_str()),
    ];
    for (route, id) in calls {
        let message = without_codex(stage.message(&route));
        stage.expect(502, Call::of(route, id).with(&message)).await;
    }
    let call = stage.valid(route::RENAME, third.id.as_str());
    stage.expect(200, call).await;
    for route in [route::FORK, route::CHANGE_PERMISSIONS] {
        let call = stage.valid(route, third.id.as_str());
        stage.expect(200, call).await;
    }
    let call = stage.valid(route::COMPACT, third.id.as_str());
    stage.expect(200, call).await;
    let compacted = client.session(third.id.as_str()).await.unwrap().info.last_seq;
    eventually("it is shortened", async || {
        let detail = client.session(third.id.as_str()).await.ok()?;
        detail.turns.last()?.settled_at
    })
    .await;
    let call = stage.valid(route::START_TURN, third.id.as_str());
    stage.expect(200, call).await;
    for route in [route::START_SESSION, route::START_TASK] {
        stage.scene.another_codex();
        let call = stage.valid(route, "");
        stage.expect(200, call).await;
    }
    for (wish, status) in [
        (json!({ "op": "remove", "entry": "nothing like it" }), 404),
        (json!({ "op": "undo", "revision": 99 }), 409),
        (json!({ "op": "add", "scope": "world", "text": "x", "cwd": "/" }), 400),
    ] {
        stage.expect(status, Call::of(route::CHANGE_MEMORY, "").with(&wish)).await;
    }
    for (route, status) in [
        (route::CREATE_TOKEN, 200),
        (route::CREATE_TOKEN, 409),
        (route::REVOKE_TOKEN, 200),
        (route::REVOKE_TOKEN, 409),
    ] {
        let call = stage.valid(route, "more");
        stage.expect(status, call).await;
    }
    let unknown = Call::of(route::CALL_TOOL, "").with(&json!({ "tool": "talaria_nothing" }));
    stage.expect(404, unknown).await;
    for route in [
        route::OFFERS,
        route::PRUNE,
        route::NOTIFY,
        route::IMPORT,
        route::CHANGE_MEMORY,
        route::IMPORT_MEMORY,
        route::CHANGE_SKILLS,
        route::CALL_TOOL,
    ] {
        let call = stage.valid(route, "");
        stage.expect(200, call).await;
    }
    stage.scene.add_skill("haiku");
    for (wish, status) in [
        (json!({ "op": "accept", "proposal": "skp-none" }), 404),
        (json!({ "op": "restore", "archived": "haiku" }), 409),
    ] {
        stage.expect(status, Call::of(route::CHANGE_SKILLS, "").with(&wish)).await;
    }
    running(&client, &third.id, compacted).await;
    let call = stage.valid(route::INTERRUPT, third.id.as_str());
    stage.expect(204, call).await;
    for route in [route::RETRY, route::UNDO] {
        eventually("nothing runs", async || {
            let detail = client.session(third.id.as_str()).await.ok()?;
            detail.turns.iter().all(|turn| turn.settled_at.is_some()).then_some(())
        })
        .await;
        let call = stage.valid(route, third.id.as_str());
        stage.expect(200, call).await;
    }

    // No room.
    let mut flood = Vec::new();
    for _ in 0..256 {
        flood.push(UnixStream::connect(&stage.scene.socket).await.unwrap());
    }
    for route in route::ALL {
        let call = stage.valid(*route, &id_of(route));
        stage.expect(503, call).await;
    }
    drop(flood);
    eventually("there is room again", async || client.status().await.ok()).await;
    let call = stage.valid(route::STOP, "");
    stage.expect(200, call).await;

    for route in route::ALL {
        let verb = if route.verb == Verb::Get { "get" } else { "post" };
        let mut expected = stage.document.statuses(verb, route.path);
        assert!(expected.remove(&BROKEN), "{}", route.name);
        for code in route::REMOTE_REFUSALS {
            assert!(expected.remove(&route::status(code).as_u16()), "{}", route.name);
        }
        let elsewhere = ELSEWHERE.iter().filter(|(name, ..)| *name == route.name);
        for (_, status, test) in elsewhere {
            assert!(expected.remove(status), "{} does not answer {status} in {test}", route.name);
        }
        assert_eq!(stage.seen[route.name], expected, "{}: seen, named by the document", route.name);
    }
}
