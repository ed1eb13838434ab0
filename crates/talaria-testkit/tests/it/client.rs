//! The smallest client there is: JSON lines over stdio. It knows nothing of Talaria's own.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use talaria_testkit::{CodexHome, Marker};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

const LIMIT: Duration = Duration::from_secs(60);

/// A codex in a child process, with every message it sent.
pub(crate) struct Client {
    pub(crate) child: Child,
    pub(crate) marker: Marker,
    pub(crate) seen: Vec<Value>,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

impl Client {
    /// Starts `codex app-server` on stdio.
    pub(crate) fn spawn(codex: &Path, home: &CodexHome) -> Self {
        let marker = Marker::new();
        let (name, mark) = marker.environment();
        let mut command = Command::new(codex);
        command.arg("app-server").envs(home.environment()).env(name, mark).current_dir(home.root());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, marker, seen: Vec::new(), input, output, last_id: 0 }
    }

    /// Shakes hands and starts a thread in the work directory; gives its id.
    pub(crate) async fn start_thread(&mut self, home: &CodexHome, policy: &str) -> String {
        let client = json!({ "name": "testkit", "title": "Testkit", "version": "0.0.1" });
        let capabilities = json!({ "experimentalApi": true });
        self.call("initialize", json!({ "clientInfo": client, "capabilities": capabilities })).await;
        self.send(&json!({ "method": "initialized" })).await;
        let params = json!({ "cwd": home.work(), "approvalPolicy": policy, "sandbox": "danger-full-access" });
        let started = self.call("thread/start", params).await;
        started["thread"]["id"].as_str().unwrap().to_owned()
    }

    /// Runs a turn to its end, accepting every request; gives the completed turn.
    pub(crate) async fn turn(&mut self, thread: &str, prompt: &str) -> Value {
        let input = json!([{ "type": "text", "text": prompt }]);
        self.call("turn/start", json!({ "threadId": thread, "input": input })).await;
        loop {
            let message = self.next().await;
            if message["method"] == "turn/completed" {
                return message["params"]["turn"].clone();
            }
            if message.get("method").is_some() && message.get("id").is_some() {
                self.send(&json!({ "id": message["id"], "result": { "decision": "accept" } })).await;
            }
        }
    }

    /// Gives the completed items of a kind, waiting for the first if it is late.
    pub(crate) async fn completed(&mut self, kind: &str) -> Vec<Value> {
        loop {
            let completed = self.seen.iter().filter(|message| message["method"] == "item/completed");
            let items = completed.map(|message| &message["params"]["item"]);
            let items: Vec<Value> = items.filter(|item| item["type"] == kind).cloned().collect();
            if !items.is_empty() {
                return items;
            }
            // 0.130 completes a command after its turn.
            self.next().await;
        }
    }

    /// Sends a request and gives its result.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "id": id, "method": method, "params": params })).await;
        loop {
            let message = self.next().await;
            if message["id"] == id && message.get("method").is_none() {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Value {
        let line = self.next_line().await;
        let message: Value = serde_json::from_slice(&line).unwrap();
        self.seen.push(message.clone());
        message
    }

    /// Gives the next line as it is; an empty one is the end.
    pub(crate) async fn next_line(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        let read = tokio::time::timeout(LIMIT, self.output.read_until(b'\n', &mut line));
        read.await.unwrap_or_else(|_| panic!("nothing comes; seen so far: {:#?}", self.seen)).unwrap();
        line
    }

    /// Closes the input and waits until nothing is left.
    pub(crate) async fn end(self) {
        let Self { mut child, marker, input, .. } = self;
        drop(input);
        tokio::time::timeout(LIMIT, child.wait()).await.unwrap().unwrap();
        assert_eq!(marker.wait_gone(LIMIT).await, Ok(()));
    }
}
