//! Commands that a person waits for: `exec` in a new conversation, `exec --resume`, `status` and `--version`, each as a
//! separate process, against a raw client that does the least on the same Codex and the same model.
//!
//! Engine and Codex run already. The raw client is a connection inside this process, so the difference contains the start
//! of our process too; `--version` shows how much that is.

use std::process::Stdio;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use talaria_scripted::Reply;
use talaria_testkit::Codex;
use tokio::net::UnixStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::row;
use crate::scene::{Layout, Scene};

const RUNS: usize = 30;
const LAYOUT: Layout = Layout { hosts: 1, threads: 100 };

pub(crate) async fn measure() {
    for codex in Codex::both() {
        compare(&codex).await;
    }
}

async fn compare(codex: &Codex) {
    let mut scene = Scene::real(codex, LAYOUT).await;
    scene.model.route(|_| Some(Reply::say("Done.")));
    scene.start().await;
    let mut raw = RawClient::start(&scene).await;
    // Both Codex processes have opened a conversation before anything counts.
    let resumed = session_of(&exec(&scene, &["--json", "say"]));
    let thread = raw.open(&scene).await;
    raw.run_turn(&thread).await;

    let [mut new, mut raw_new, mut again, mut raw_again, mut status, mut version] = [const { Vec::new() }; 6];
    for _ in 0..RUNS {
        new.push(time(|| drop(exec(&scene, &["--quiet", "say"]))));
        let begun = Instant::now();
        let opened = raw.open(&scene).await;
        raw.run_turn(&opened).await;
        raw_new.push(begun.elapsed());
        again.push(time(|| drop(exec(&scene, &["--quiet", "--resume", &resumed, "say"]))));
        let begun = Instant::now();
        raw.run_turn(&thread).await;
        raw_again.push(begun.elapsed());
        status.push(time(|| run(&scene, &["status"])));
        version.push(time(|| run(&scene, &["--version"])));
    }
    let name = |what: &str| format!("codex {}: {what}", codex.version);
    tell(&name("exec in a new conversation"), &mut new, &mut raw_new, "<= 5 ms");
    tell(&name("exec --resume"), &mut again, &mut raw_again, "<= 5 ms");
    row(&name("status"), &millis(median(&mut status)), "5 ms");
    row(&name("--version"), &millis(median(&mut version)), "10 ms");
    drop(raw);
    scene.close().await;
}

/// Prints both medians, and what is above the raw client.
fn tell(figure: &str, ours: &mut [Duration], raw: &mut [Duration], aim: &str) {
    let (ours, raw) = (median(ours), median(raw));
    row(figure, &millis(ours), "-");
    row("  a raw client with the same calls", &millis(raw), "-");
    row("  above the raw client", &format!("{:.1} ms", (ours.as_secs_f64() - raw.as_secs_f64()) * 1e3), aim);
}

fn exec(scene: &Scene, arguments: &[&str]) -> String {
    let output = scene.command(&[&["exec"], arguments].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stdout).unwrap()
}

fn run(scene: &Scene, arguments: &[&str]) {
    assert!(scene.command(arguments).stdout(Stdio::null()).status().unwrap().success());
}

/// The session that the outcome line of `exec --json` names.
fn session_of(lines: &str) -> String {
    let outcome: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    outcome["session"].as_str().unwrap().to_owned()
}

fn time(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// The least that any client of Codex does, on its own Codex with the settings of the scene.
struct RawClient {
    socket: WebSocketStream<UnixStream>,
    _codex: tokio::process::Child,
}

impl RawClient {
    async fn start(scene: &Scene) -> Self {
        let path = scene.socket();
        let codex = scene.spawn_codex(&path);
        let stream = loop {
            match UnixStream::connect(&path).await {
                Ok(stream) => break stream,
                Err(_) => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        };
        let (socket, _) = client_async("ws://localhost/", stream).await.unwrap();
        let mut raw = Self { socket, _codex: codex };
        let info = json!({ "name": "bench", "title": "bench", "version": "0" });
        raw.call("initialize", json!({ "clientInfo": info })).await;
        raw.socket.send(Message::text(json!({ "method": "initialized" }).to_string())).await.unwrap();
        raw
    }

    /// Opens a thread in its own directory.
    async fn open(&mut self, scene: &Scene) -> String {
        let settings =
            json!({ "cwd": scene.directory(), "approvalPolicy": "untrusted", "sandbox": "read-only" });
        self.call("thread/start", settings).await["thread"]["id"].as_str().unwrap().to_owned()
    }

    /// Runs a turn to its end.
    async fn run_turn(&mut self, thread: &str) {
        let input = json!([{ "type": "text", "text": "say" }]);
        self.call("turn/start", json!({ "threadId": thread, "input": input })).await;
        while self.next().await["method"] != "turn/completed" {}
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        let call = json!({ "id": 1, "method": method, "params": params });
        self.socket.send(Message::text(call.to_string())).await.unwrap();
        loop {
            let mut message = self.next().await;
            if message.get("id").is_some() {
                return message["result"].take();
            }
        }
    }

    async fn next(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.next().await.unwrap().unwrap() {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }
}
