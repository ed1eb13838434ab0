//! The stand-in plays its transcript over both transports, faults included.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use talaria_testkit::app_server::directive::{
    close, exit, expect_answer, huge, ignore_signals, notify, on, raw, raw_bytes, repeat, reply_error, send,
    spawn, stderr,
};
use talaria_testkit::app_server::{
    AppServer, InstalledAppServer, THREAD, agent_delta, complete_turn, start_turn,
};
use talaria_testkit::{CodexHome, Marker, RawCodex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio_tungstenite::tungstenite::Message;

#[tokio::test]
async fn it_says_the_version_it_was_given() {
    let home = CodexHome::with_config("");
    let server = AppServer::script([]).version("0.99.0").install(home.root());
    let output = Command::new(&server.codex).arg("--version").output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "codex-cli 0.99.0\n");
}

#[tokio::test]
async fn over_stdio_it_plays_a_turn_and_logs_what_it_heard() {
    let home = CodexHome::with_config("");
    let mut script = start_turn();
    script.push(send(json!({ "id": 0, "method": "item/tool/call", "params": {} })));
    script.push(expect_answer(0));
    script.push(repeat(1000, agent_delta("part $n ")));
    script.extend(complete_turn("whole"));
    let server = AppServer::ready(script).install(home.root());
    let mut client = RawCodex::spawn(&server.codex, &home);
    let thread = client.start_thread(&home, "never").await;
    assert_eq!(thread, THREAD);
    let turn = client.turn(&thread, "go").await;
    assert_eq!(turn["status"], "completed");
    let deltas = client.seen.iter().filter(|message| message["method"] == "item/agentMessage/delta");
    let deltas: Vec<_> = deltas.map(|message| message["params"]["delta"].as_str().unwrap()).collect();
    assert_eq!((deltas.len(), deltas[999]), (1000, "part 999 "));
    client.end().await;
    let received = server.received();
    let methods: Vec<_> = received.iter().map(|message| message["method"].as_str().unwrap_or("-")).collect();
    assert_eq!(methods, ["initialize", "initialized", "thread/start", "turn/start", "-"]);
    assert_eq!(received[4], json!({ "id": 0, "result": { "decision": "accept" } }));
}

#[tokio::test]
async fn over_stdio_it_sends_what_no_real_server_would() {
    let home = CodexHome::with_config("");
    let script = [
        raw("not json"),
        raw_bytes(&[0xff, 0xfe]),
        huge(1 << 20),
        stderr("a word on stderr"),
        on("odd", [reply_error(json!({ "code": -32001, "message": "busy" }))]),
        notify("now", json!({})),
    ];
    let server = AppServer::script(script).install(home.root());
    let mut client = RawCodex::spawn(&server.codex, &home);
    assert_eq!(client.next_line().await, b"not json\n");
    assert_eq!(client.next_line().await, b"\xff\xfe\n");
    let line = client.next_line().await;
    assert_eq!(line.len(), (1 << 20) + 1);
    assert!(serde_json::from_slice::<Value>(&line).is_ok());
    assert_eq!(client.next().await, json!({ "method": "now", "params": {} }));
    client.send(&json!({ "id": "a", "method": "odd" })).await;
    assert_eq!(client.next().await["error"]["code"], -32001);
    client.send(&json!({ "id": "b", "method": "never/heard" })).await;
    let refusal = client.next().await;
    assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&json!("b"), &json!(-32600)));
    client.end().await;
}

#[tokio::test]
async fn over_a_socket_it_outlives_its_clients() {
    let home = CodexHome::with_config("");
    let script =
        [notify("first", json!({})), raw_bytes(&[0xff; 300]), close(), notify("second", json!({})), exit(3)];
    let server = AppServer::ready(script).install(home.root());
    // The path of a socket must be short, and that of a build directory need not be.
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let mut child = listen(&server, &socket);
    let mut stream = connect(&socket).await;
    let (mut client, _) = tokio_tungstenite::client_async("ws://localhost/", &mut stream).await.unwrap();
    let first = client.next().await.unwrap().unwrap();
    assert_eq!(first.to_text().unwrap(), r#"{"method":"first","params":{}}"#);
    let broken = client.next().await.unwrap();
    assert!(broken.is_err(), "an invalid text frame is an error: {broken:?}");

    let mut stream = connect(&socket).await;
    let (mut client, _) = tokio_tungstenite::client_async("ws://localhost/", &mut stream).await.unwrap();
    let _ = client.send(Message::text(r#"{"id":1,"method":"initialize"}"#)).await;
    assert_eq!(
        client.next().await.unwrap().unwrap().to_text().unwrap(),
        r#"{"method":"second","params":{}}"#
    );
    assert_eq!(child.wait().await.unwrap().code(), Some(3));
}

#[tokio::test]
async fn it_can_refuse_to_die_and_leave_a_child() {
    let home = CodexHome::with_config("");
    let script = [ignore_signals(), spawn("sleep 300"), notify("ready", json!({}))];
    let server = AppServer::script(script).install(home.root());
    let marker = Marker::new();
    let (name, mark) = marker.environment();
    let mut command = Command::new(&server.codex);
    command.arg("app-server").env(name, mark).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut ready = [0; 10];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).await.unwrap();
    let pid = child.id().unwrap();
    kill("-TERM", pid).await;
    input.write_all(b"{\"id\":1,\"method\":\"are/you/there\"}\n").await.unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut ready).await.unwrap();
    let survivors = marker.survivors();
    assert!(survivors.iter().any(|process| process.pid == pid), "{survivors:?}");
    child.kill().await.unwrap();
    let left = marker.wait_gone(Duration::ZERO).await.unwrap_err();
    assert!(left.iter().all(|process| process.command.contains("sleep")), "{left:?}");
    for process in left {
        kill("-KILL", process.pid).await;
    }
    assert_eq!(marker.wait_gone(Duration::from_secs(10)).await, Ok(()));
}

#[tokio::test]
async fn over_a_socket_a_flood_arrives_whole_and_in_order() {
    let home = CodexHome::with_config("");
    let server = AppServer::script([repeat(20_000, json!({ "n": "$n" })), exit(0)]).install(home.root());
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let mut child = listen(&server, &socket);
    let mut stream = connect(&socket).await;
    let (mut client, _) = tokio_tungstenite::client_async("ws://localhost/", &mut stream).await.unwrap();
    for count in 0..20_000 {
        let message = client.next().await.unwrap().unwrap();
        assert_eq!(message.to_text().unwrap(), format!(r#"{{"n":"{count}"}}"#));
    }
    assert!(child.wait().await.unwrap().success());
}

fn listen(server: &InstalledAppServer, socket: &Path) -> Child {
    let mut command = Command::new(&server.codex);
    command.args(["app-server", "--listen"]).arg(format!("unix://{}", socket.display())).kill_on_drop(true);
    command.spawn().unwrap()
}

async fn kill(signal: &str, pid: u32) {
    Command::new("kill").args([signal, &pid.to_string()]).status().await.unwrap();
}

async fn connect(socket: &Path) -> UnixStream {
    for _ in 0..1000 {
        if let Ok(stream) = UnixStream::connect(socket).await {
            return stream;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nobody listens on {}", socket.display());
}
