//! A bare JSON-RPC peer of `talaria mcp`, for what no honest client does.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use talaria_testkit::until;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::scene::Scene;

/// The longest anything may take here.
const PATIENCE: Duration = Duration::from_secs(60);

/// One end of the wire.
pub(super) struct Wire {
    pub(super) child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: i64,
}

impl Wire {
    /// Starts the program and says nothing.
    pub(super) fn silent(scene: &Scene) -> Self {
        let mut child = scene.command(&["mcp"]).stdin(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, next: 0 }
    }

    /// Starts the program and greets it.
    pub(super) async fn greeted(scene: &Scene) -> Self {
        let mut wire = Self::silent(scene);
        wire.greet().await;
        wire
    }

    pub(super) async fn greet(&mut self) {
        let info = json!({ "name": "bare", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
        let greeting = self.ask("initialize", params).await;
        assert_eq!(greeting["result"]["protocolVersion"], "2025-06-18", "{greeting}");
        self.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").await;
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).await.unwrap();
    }

    /// Sends a request without waiting for its answer, and returns its id.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        self.write(format!("{request}\n").as_bytes()).await;
        self.next
    }

    /// Reads the next line, which must be a message.
    pub(super) async fn read(&mut self) -> Value {
        let mut line = String::new();
        tokio::time::timeout(PATIENCE, self.output.read_line(&mut line)).await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    pub(super) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        let answer = self.read().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls the tool.
    pub(super) async fn call(&mut self, arguments: Value) -> Value {
        let call = json!({ "name": "codex_bridge", "arguments": arguments });
        let answer = self.ask("tools/call", call).await;
        answer["result"]["structuredContent"].clone()
    }

    pub(super) fn close_input(&mut self) {
        self.input = None;
    }

    /// Ends it: with a signal, or by closing its input.
    pub(super) fn end(&mut self, signal: Option<Signal>) {
        match signal {
            None => self.close_input(),
            Some(signal) => {
                let pid = Pid::from_raw(i32::try_from(self.child.id().unwrap()).unwrap()).unwrap();
                kill_process(pid, signal).unwrap();
            }
        }
    }

    /// Waits until one of its threads is blocked because its output is not read, according to the kernel.
    pub(super) async fn wait_held_up(&self) {
        let threads = format!("/proc/{}/task", self.child.id().unwrap());
        let is_held_up = || {
            let threads = std::fs::read_dir(&threads).unwrap().flatten();
            let waits = threads.map(|thread| std::fs::read_to_string(thread.path().join("wchan")));
            waits.flatten().any(|wait| wait.contains("pipe_write"))
        };
        until("it waits for a reader", is_held_up).await;
    }

    /// Waits for the end of the program: at once, and without complaint.
    pub(super) async fn ends_well(self) {
        self.ends_well_within(Duration::from_secs(3)).await;
    }

    /// The same, where it cannot be at once.
    pub(super) async fn ends_well_within(mut self, limit: Duration) {
        let ended = tokio::time::timeout(limit, self.child.wait()).await;
        let Ok(Ok(status)) = ended else { panic!("it does not end at once: {ended:?}") };
        let (mut rest, mut complaints) = (String::new(), String::new());
        self.output.read_to_string(&mut rest).await.unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut complaints).await.unwrap();
        assert_eq!((status.code(), complaints.as_str()), (Some(0), ""), "{rest}");
    }
}
