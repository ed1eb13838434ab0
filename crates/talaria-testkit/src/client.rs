//! The smallest client there is: JSON lines over stdio. It knows nothing of Talaria's own.
//!
//! For tests of what Codex itself does. Every message is kept in the order of arrival; waiting examines each once, also
//! those that arrived while a response was awaited. Several threads may run at once on one client.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::{CodexHome, Marker};

/// How long anything may take on a busy machine before the test fails.
const LIMIT: Duration = Duration::from_secs(60);

/// A codex in a child process, with every message it sent; it ends on drop.
#[derive(Debug)]
pub struct RawCodex {
    /// The process.
    pub child: Child,
    /// The mark that it and its children carry.
    pub marker: Marker,
    /// Every message so far.
    pub seen: Vec<Value>,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
    looked_at: usize,
}

impl RawCodex {
    /// Starts `codex app-server` on stdio.
    pub fn spawn(codex: &Path, home: &CodexHome) -> Self {
        let marker = Marker::new();
        let (name, mark) = marker.environment();
        let mut command = Command::new(codex);
        command.arg("app-server").envs(home.environment()).env(name, mark).current_dir(home.root());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(cause) => panic!("cannot start {}: {cause}", codex.display()),
        };
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            panic!("{} has no pipes", codex.display());
        };
        let output = BufReader::new(output);
        Self { child, marker, seen: Vec::new(), input, output, last_id: 0, looked_at: 0 }
    }

    /// Starts Codex and shakes hands with it, experimental things included.
    pub async fn connect(codex: &Path, home: &CodexHome) -> Self {
        let mut client = Self::spawn(codex, home);
        client.initialize().await;
        client
    }

    async fn initialize(&mut self) {
        let client = json!({ "name": "testkit", "title": "Testkit", "version": "0.0.1" });
        let capabilities = json!({ "experimentalApi": true });
        self.call("initialize", json!({ "clientInfo": client, "capabilities": capabilities })).await;
        self.send(&json!({ "method": "initialized" })).await;
    }

    /// Shakes hands and starts a thread in the work directory, without a sandbox; returns its id.
    pub async fn start_thread(&mut self, home: &CodexHome, policy: &str) -> String {
        self.initialize().await;
        let params = json!({ "cwd": home.work(), "approvalPolicy": policy, "sandbox": "danger-full-access" });
        thread_id(&self.call("thread/start", params).await)
    }

    /// Runs a turn to its end, accepting every request; returns the completed turn.
    pub async fn turn(&mut self, thread: &str, prompt: &str) -> Value {
        self.turn_with(thread, prompt, |_| json!({ "decision": "accept" })).await.1
    }

    /// Runs a turn to its end with these answers; returns the requests and the completed turn.
    pub async fn turn_with(
        &mut self,
        thread: &str,
        prompt: &str,
        mut answer: impl FnMut(&Value) -> Value,
    ) -> (Vec<Value>, Value) {
        self.begin(thread, prompt).await;
        let mut requests = Vec::new();
        loop {
            let message = self.look(|message| is_request(message) || is_end(message, thread)).await;
            if is_end(&message, thread) {
                return (requests, message["params"]["turn"].clone());
            }
            self.answer(&message, answer(&message)).await;
            requests.push(message);
        }
    }

    /// Starts a turn; returns its id.
    pub async fn begin(&mut self, thread: &str, prompt: &str) -> String {
        let input = json!([{ "type": "text", "text": prompt }]);
        let started = self.call("turn/start", json!({ "threadId": thread, "input": input })).await;
        text(&started["turn"]["id"])
    }

    /// Waits for the next request of Codex.
    pub async fn request(&mut self) -> Value {
        self.look(is_request).await
    }

    /// Answers a request of Codex; an object with the one key `error` refuses it.
    pub async fn answer(&mut self, request: &Value, result: Value) {
        let id = &request["id"];
        let message = match result.get("error") {
            Some(error) => json!({ "id": id, "error": error }),
            None => json!({ "id": id, "result": result }),
        };
        self.send(&message).await;
    }

    /// Waits for the end of the thread's turn; returns the completed turn.
    pub async fn finish(&mut self, thread: &str) -> Value {
        self.look(|message| is_end(message, thread)).await["params"]["turn"].clone()
    }

    /// Returns the completed items of a kind, waiting for the first if it is late.
    pub async fn completed(&mut self, kind: &str) -> Vec<Value> {
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

    /// Sends a request and returns its result.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
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

    /// Sends a message as it is.
    pub async fn send(&mut self, message: &Value) {
        if let Err(cause) = self.input.write_all(format!("{message}\n").as_bytes()).await {
            panic!("cannot send {message}: {cause}");
        }
    }

    /// Returns the first message for which `pick` says yes, among the unread ones and those to come.
    pub async fn look(&mut self, pick: impl Fn(&Value) -> bool) -> Value {
        loop {
            while let Some(message) = self.seen.get(self.looked_at) {
                self.looked_at += 1;
                if pick(message) {
                    return message.clone();
                }
            }
            self.next().await;
        }
    }

    /// Returns the next message.
    pub async fn next(&mut self) -> Value {
        let line = self.next_line().await;
        match serde_json::from_slice::<Value>(&line) {
            Ok(message) => {
                self.seen.push(message.clone());
                message
            }
            Err(cause) => panic!("{cause}: {:?}", String::from_utf8_lossy(&line)),
        }
    }

    /// Returns the next line as it is; an empty one is the end.
    pub async fn next_line(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        let read = tokio::time::timeout(LIMIT, self.output.read_until(b'\n', &mut line)).await;
        match read {
            Ok(Ok(_)) => line,
            Ok(Err(cause)) => panic!("cannot read: {cause}"),
            Err(_) => panic!("nothing comes; seen so far: {:#?}", self.seen),
        }
    }

    /// Closes the input and waits until nothing is left.
    pub async fn end(self) {
        let Self { mut child, marker, input, .. } = self;
        drop(input);
        let ended = tokio::time::timeout(LIMIT, child.wait()).await;
        assert!(matches!(ended, Ok(Ok(_))), "codex does not end: {ended:?}");
        assert_eq!(marker.wait_gone(LIMIT).await, Ok(()));
    }
}

/// Returns the id of the thread in the result of `thread/start`.
pub fn thread_id(started: &Value) -> String {
    text(&started["thread"]["id"])
}

fn text(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => panic!("no text where it was expected: {value}"),
    }
}

fn is_request(message: &Value) -> bool {
    message.get("method").is_some() && message.get("id").is_some()
}

fn is_end(message: &Value, thread: &str) -> bool {
    message["method"] == "turn/completed" && message["params"]["threadId"] == thread
}
