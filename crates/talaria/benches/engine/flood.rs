//! A turn of 100,000 notifications through host, router, turn machine, store, socket and renderer, against reading and
//! parsing them alone.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use talaria_testkit::app_server::directive::{expect, repeat};
use tokio::net::UnixStream;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

use crate::memory::Memory;
use crate::play::{self, completed, on_thread, said};
use crate::row;
use crate::scene::{Layout, Scene};

const NOTIFICATIONS: u64 = 100_000;
/// Everything that disturbs a run makes it slower: the best of these counts.
const RUNS: usize = 7;
const LAYOUT: Layout = Layout { hosts: 1, threads: 100 };

pub(crate) async fn measure() {
    speed().await;
    memory().await;
}

/// `exec` as a person calls it, with an engine and a Codex that run already; the baseline starts Codex and greets it. The
/// rest is measured with an empty turn and subtracted on both sides.
async fn speed() {
    let mut full =
        Scene::scripted(&play::codex([flood(), said("done"), completed("completed")]), LAYOUT).await;
    let mut empty = Scene::scripted(&play::codex([said("done"), completed("completed")]), LAYOUT).await;
    full.start().await;
    empty.start().await;
    let output = exec(&full).output().unwrap();
    let lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
    let mut best = [Duration::MAX; 4];
    for _ in 0..RUNS {
        let taken = [ours(&full), ours(&empty), bare(&full, NOTIFICATIONS).await, bare(&empty, 0).await];
        best.iter_mut().zip(taken).for_each(|(best, taken)| *best = taken.min(*best));
    }
    let [ours, ours_empty, bare, bare_empty] = best.map(|time| time.as_secs_f64());
    let (ours, bare) = (ours - ours_empty, bare - bare_empty);
    let rate = NOTIFICATIONS as f64 / ours / 1e3;
    let figure = format!("{NOTIFICATIONS} notifications to --json: of bare reading ({rate:.0} k/s)");
    row(&figure, &format!("{:.2}", ours / bare), "<= 2.00");
    row("  of bare reading: time", &format!("{:.0} ms", bare * 1e3), "-");
    row("  exec with an empty turn", &format!("{:.0} ms", ours_empty * 1e3), "-");
    row("  events printed, text kept whole", &format!("{lines} {}", whole(&output.stdout)), "all text");
    full.close().await;
    empty.close().await;
}

fn flood() -> Value {
    let delta =
        on_thread("item/agentMessage/delta", json!({ "itemId": "msg_1", "delta": "a few words $n " }));
    repeat(NOTIFICATIONS, delta["send"].clone())
}

fn exec(scene: &Scene) -> Command {
    scene.command(&["exec", "--json", "go"])
}

fn ours(scene: &Scene) -> Duration {
    let begun = Instant::now();
    assert!(exec(scene).stdout(Stdio::null()).status().unwrap().success());
    begun.elapsed()
}

/// Checks that no piece of text was lost, whatever was joined on the way.
fn whole(output: &[u8]) -> &'static str {
    let mut text = String::new();
    for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let event: Value = serde_json::from_slice(line).unwrap();
        if event["type"] == "text_delta" {
            text += event["delta"].as_str().unwrap();
        }
    }
    let whole: String = (0..NOTIFICATIONS).map(|n| format!("a few words {n} ")).collect();
    if text == whole { "whole" } else { "NOT WHOLE" }
}

async fn bare(scene: &Scene, deltas: u64) -> Duration {
    let begun = Instant::now();
    let read = read_and_parse(scene.codex(), &scene.socket()).await;
    assert!(read > deltas && read < deltas + 20, "{read} messages");
    begun.elapsed()
}

/// The least that any client does: start Codex, greet it, run the turn, parse the envelope of each message. Returns
/// their number.
async fn read_and_parse(codex: &Path, path: &Path) -> u64 {
    let _ = std::fs::remove_file(path);
    let listen = format!("unix://{}", path.display());
    let mut child = tokio::process::Command::new(codex)
        .args(["app-server", "--listen", &listen])
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let stream = loop {
        match UnixStream::connect(path).await {
            Ok(stream) => break stream,
            Err(_) => tokio::time::sleep(Duration::from_millis(2)).await,
        }
    };
    let (mut socket, _) = client_async("ws://localhost/", stream).await.unwrap();
    let requests = [
        json!({"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "b", "title": "b", "version": "0"}}}),
        json!({"method": "initialized"}),
        json!({"id": 2, "method": "thread/start", "params": {"cwd": "/"}}),
        json!({"id": 3, "method": "turn/start", "params": {"threadId": "t", "input": []}}),
    ];
    for request in requests {
        socket.send(Message::text(request.to_string())).await.unwrap();
    }
    let mut read = 0;
    while let Some(Ok(Message::Text(text))) = socket.next().await {
        read += 1;
        let envelope: Envelope<'_> = serde_json::from_str(&text).unwrap();
        std::hint::black_box((envelope.id, envelope.params, envelope.result, envelope.error));
        if envelope.method == Some("turn/completed") {
            break;
        }
    }
    child.kill().await.unwrap();
    read
}

/// What any reader of JSON-RPC must find at least; the parts stay raw.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a str>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// What command and engine take when the command has shown all of it and the turn still runs.
async fn memory() {
    let mut scene = Scene::scripted(&play::codex([flood(), expect("nothing")]), LAYOUT).await;
    scene.start().await;
    let mut command = exec(&scene).stdout(Stdio::piped()).spawn().unwrap();
    let last = format!("a few words {} ", NOTIFICATIONS - 1);
    let mut lines = BufReader::new(command.stdout.take().unwrap()).lines();
    lines.find(|line| line.as_ref().unwrap().contains(&last)).unwrap().unwrap();
    Memory::tell(Memory::of([command.id()]), "exec when it has shown them", "< 40 MB");
    Memory::tell(scene.engine_memory(), "engine when it has handed them on", "< 40 MB");
    scene.close().await;
    // Its turn was interrupted with the engine.
    command.wait().unwrap();
}
