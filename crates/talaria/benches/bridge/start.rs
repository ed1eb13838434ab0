//! From the request for a task until `turn/start` is at Codex, with an engine and a Codex that run already, against a
//! bare client that makes the same calls: the difference is Talaria's own.

use std::path::Path;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::arrivals::{Arrival, Arrivals, now};
use crate::row;
use crate::samples::{Samples, millis};
use crate::scene::Scene;

const RUNS: usize = 100;
/// Calls of a task before its turn.
const CALLS: [&str; 4] = ["account/read", "config/read", "thread/start", "turn/start"];

pub(crate) async fn measure() {
    let mut scene = Scene::new();
    let client = scene.start().await;
    let task = scene.task("say");
    // The Codex of both is up before anything is measured.
    client.start_task(&task).await.unwrap();
    scene.rest(&client, 1).await;
    let mut arrivals = scene.arrivals();
    arrivals.until("turn/start").await;
    let mut bare = Bare::start(&scene, &scene.file("bare")).await;
    arrivals.until("initialized").await;

    let (mut ours, mut named, mut theirs) = <(Samples, Samples, Samples)>::default();
    for _ in 0..RUNS {
        let begun = now();
        client.start_task(&task).await.unwrap();
        named.take(now() - begun);
        let calls = arrivals.until("turn/start").await;
        assert_eq!(calls.iter().map(|call| call.what.as_str()).collect::<Vec<_>>(), CALLS);
        ours.take(calls.last().unwrap().at - begun);
        scene.rest(&client, 1).await;
        let begun = now();
        let sent = bare.send_a_turn(&mut arrivals).await;
        theirs.take(sent.at - begun);
    }
    ours.tell("task start until turn/start is at Codex, engine and Codex up", "-");
    theirs.tell("  a bare client with the same four calls", "-");
    row("  above the bare client: Talaria's own", &millis(ours.median() - theirs.median()), "<= 5 ms");
    named.tell("  until the caller has the name of the task", "-");
    commits(&scene).await;
    drop(bare);
    scene.close().await;
}

/// Time of one commit on the same disk in the same run: a task is stored before it is sent.
async fn commits(scene: &Scene) {
    let mut conn = crate::reference::open(&scene.file("commit.db"), crate::reference::Log::Ahead).await;
    sqlx::raw_sql("create table line (text text)").execute(&mut conn).await.unwrap();
    let mut alone = Samples::default();
    for _ in 0..RUNS {
        let begun = now();
        sqlx::query("insert into line values ('a line of text')").execute(&mut conn).await.unwrap();
        alone.take(now() - begun);
    }
    alone.tell("  for comparison: one commit of one row, alone, on this disk", "-");
}

/// The least that any client does.
struct Bare {
    socket: WebSocketStream<UnixStream>,
    _codex: tokio::process::Child,
}

impl Bare {
    async fn start(scene: &Scene, path: &Path) -> Self {
        let codex = scene.codex(path).spawn().unwrap();
        let stream = loop {
            match UnixStream::connect(path).await {
                Ok(stream) => break stream,
                Err(_) => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        };
        let (socket, _) = client_async("ws://localhost/", stream).await.unwrap();
        let mut bare = Self { socket, _codex: codex };
        let info = json!({ "name": "bench", "title": "bench", "version": "0" });
        bare.call("initialize", json!({ "clientInfo": info })).await;
        bare.socket.send(Message::text(json!({ "method": "initialized" }).to_string())).await.unwrap();
        bare
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        let call = json!({ "id": 1, "method": method, "params": params });
        self.socket.send(Message::text(call.to_string())).await.unwrap();
        loop {
            let Message::Text(text) = self.socket.next().await.unwrap().unwrap() else { continue };
            let message: Value = serde_json::from_str(&text).unwrap();
            if message.get("id").is_some() {
                return message["result"].clone();
            }
        }
    }

    async fn send_a_turn(&mut self, arrivals: &mut Arrivals) -> Arrival {
        self.call(CALLS[0], json!({})).await;
        self.call(CALLS[1], json!({ "includeLayers": false, "cwd": "/" })).await;
        let opened = self.call(CALLS[2], json!({ "cwd": "/", "approvalPolicy": "untrusted" })).await;
        let input = json!([{ "type": "text", "text": "say" }]);
        self.call(CALLS[3], json!({ "threadId": opened["thread"]["id"], "input": input })).await;
        arrivals.until(CALLS[3]).await.pop().unwrap()
    }
}
