//! The Codex of this bench: answers at once, and notes when what arrived. It is this program, started by the engine with the
//! arguments of Codex and the variable [`LOG`].
//!
//! The prompt determines the turn: `say` answers, `ask` asks for an approval first, `call TOOL N` calls a tool N times, and
//! `flood N STEPS` waits until N threads have such a turn and then reports steps on all of them, one step of each thread
//! after the other.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Message, WebSocket, accept};

use crate::arrivals::{Arrival, Log, now};

/// The variable that names the file for what arrives.
pub(crate) const LOG: &str = "BRIDGE_BENCH_LOG";
/// What the result of a call is noted as. `answered` is when the call was sent.
pub(crate) const CALLED: &str = "called";
/// The version that it says it is.
pub(crate) const VERSION: &str = "0.166.0";
/// Pieces of output of a command, and pieces of what the model says after it.
const PIECES: usize = 9;
/// How many notifications one step is: a command begins and ends, with pieces between and after.
pub(crate) const STEP: usize = 2 + 2 * PIECES;

/// Does what Codex does with these arguments.
pub(crate) fn run(arguments: &[String]) {
    match arguments.first().map(String::as_str) {
        Some("app-server") => serve(arguments),
        Some("--version") => println!("codex-cli {VERSION}"),
        _ => panic!("the Codex of this bench does not know {arguments:?}"),
    }
}

/// Listens on the socket in the arguments, indefinitely.
fn serve(arguments: &[String]) {
    let at = arguments.iter().position(|argument| argument == "--listen").unwrap();
    let socket = arguments[at + 1].strip_prefix("unix://").unwrap();
    let listener = UnixListener::bind(socket).unwrap();
    fs::set_permissions(socket, Permissions::from_mode(0o600)).unwrap();
    for stream in listener.incoming() {
        std::thread::spawn(move || {
            // A client that leaves during the handshake only probed the socket.
            let Ok(socket) = accept(stream.unwrap()) else { return };
            let log = Log::open(Path::new(&std::env::var_os(LOG).unwrap()));
            Player { socket, log, threads: 0, asking: Vec::new(), calling: None, waiting: Vec::new() }.play();
        });
    }
}

/// A turn on a thread.
#[derive(Clone)]
struct Turn {
    thread: String,
    id: String,
}

/// A turn that calls a tool: how many calls are left, and when the last one was sent.
struct Calling {
    turn: Turn,
    tool: String,
    left: usize,
    sent: i64,
}

struct Player {
    socket: WebSocket<UnixStream>,
    log: Log,
    threads: usize,
    /// Turns that wait for an answer; their place is the id of the request.
    asking: Vec<Turn>,
    /// A turn that calls a tool.
    calling: Option<Calling>,
    /// Turns that wait until there are enough of them.
    waiting: Vec<Turn>,
}

impl Player {
    fn play(mut self) {
        while let Ok(message) = self.socket.read() {
            let at = now();
            let Message::Text(text) = message else { continue };
            let message: Value = serde_json::from_str(&text).unwrap();
            let what = message["method"].as_str().unwrap_or("answer").to_owned();
            if let Some(calling) = self.calling.take_if(|_| what == "answer") {
                self.log.note(&Arrival { at, answered: calling.sent, what: CALLED.to_owned() });
                self.returned(calling, &message["result"]);
                self.flush();
                continue;
            }
            self.take(&what, &message);
            self.flush();
            self.log.note(&Arrival { at, answered: now(), what });
        }
    }

    fn take(&mut self, what: &str, message: &Value) {
        let params = &message["params"];
        let result = match what {
            "initialize" => json!({
                "userAgent": format!("talaria/{VERSION} (Debian 12.0.0; x86_64) xterm (talaria; 0.1.0)"),
                "codexHome": "/nowhere", "platformFamily": "unix", "platformOs": "linux",
            }),
            "account/read" => json!({ "account": null, "requiresOpenaiAuth": false }),
            "config/read" => json!({ "config": {}, "origins": {} }),
            "thread/start" => self.open(params),
            "turn/start" => return self.begin(&message["id"], params),
            "answer" => return self.answered(&message["id"]),
            "thread/backgroundTerminals/list" => json!({ "data": [], "nextCursor": null }),
            _ => json!({}),
        };
        if let Some(id) = message.get("id") {
            self.send(&json!({ "id": id, "result": result }));
        }
    }

    fn open(&mut self, params: &Value) -> Value {
        self.threads += 1;
        let id = format!("0199a2b4-0000-7000-8000-{:012}", self.threads);
        json!({
            "thread": { "id": id, "turns": [], "status": { "type": "idle" } },
            "model": "gpt-5.5", "modelProvider": "mock", "cwd": params["cwd"],
            "approvalPolicy": params["approvalPolicy"], "approvalsReviewer": "user",
            "sandbox": { "type": "readOnly", "networkAccess": false },
        })
    }

    fn begin(&mut self, id: &Value, params: &Value) {
        let thread = params["threadId"].as_str().unwrap().to_owned();
        let turn = Turn { id: format!("turn-{thread}"), thread };
        self.send(&json!({ "id": id, "result": { "turn": turn.told("inProgress") } }));
        self.tell(&turn, "turn/started", json!({ "turn": turn.told("inProgress") }));
        let prompt = params["input"][0]["text"].as_str().unwrap();
        let words: Vec<&str> = prompt.split(' ').collect();
        match words.as_slice() {
            ["ask"] => self.ask(turn),
            ["call", tool, calls] => {
                let (tool, left) = (tool.to_string(), calls.parse().unwrap());
                self.call(Calling { turn, tool, left, sent: 0 });
            }
            ["flood", turns, steps] => {
                self.waiting.push(turn);
                if self.waiting.len() == turns.parse::<usize>().unwrap() {
                    self.flood(steps.parse().unwrap());
                }
            }
            _ => self.end(&turn),
        }
    }

    fn ask(&mut self, turn: Turn) {
        let command = "/bin/bash -lc 'touch made'";
        self.tell(&turn, "item/started", json!({ "item": executed("call_1", "inProgress") }));
        let params = json!({
            "kind": "command", "threadId": turn.thread, "turnId": turn.id, "itemId": "call_1", "environmentId": "local",
            "command": command, "cwd": "/", "commandActions": [{ "type": "unknown", "command": "touch made" }],
            "availableDecisions": ["accept", "cancel"], "startedAtMs": 1794775079297_u64,
        });
        let method = "item/commandExecution/requestApproval";
        self.send(&json!({ "id": self.asking.len(), "method": method, "params": params }));
        self.asking.push(turn);
    }

    fn answered(&mut self, id: &Value) {
        let turn = self.asking[usize::try_from(id.as_u64().unwrap()).unwrap()].clone();
        self.tell(&turn, "serverRequest/resolved", json!({ "requestId": id }));
        self.tell(&turn, "item/completed", json!({ "item": executed("call_1", "completed") }));
        self.end(&turn);
    }

    /// Calls the tool, or ends the turn.
    fn call(&mut self, calling: Calling) {
        if calling.left == 0 {
            return self.end(&calling.turn);
        }
        self.tell(&calling.turn, "item/started", json!({ "item": calling.item("inProgress", &Value::Null) }));
        let params = json!({
            "threadId": calling.turn.thread, "turnId": calling.turn.id, "callId": calling.id(), "namespace": null,
            "tool": calling.tool, "arguments": calling.arguments(),
        });
        self.send(&json!({ "id": calling.id(), "method": "item/tool/call", "params": params }));
        self.calling = Some(Calling { sent: now(), ..calling });
    }

    fn returned(&mut self, calling: Calling, result: &Value) {
        let item = calling.item("completed", result);
        self.tell(&calling.turn, "serverRequest/resolved", json!({ "requestId": calling.id() }));
        self.tell(&calling.turn, "item/completed", json!({ "item": item }));
        self.call(Calling { left: calling.left - 1, ..calling });
    }

    fn flood(&mut self, steps: usize) {
        let turns = std::mem::take(&mut self.waiting);
        self.log.note(&Arrival { at: now(), answered: 0, what: "flood".to_owned() });
        for step in 0..steps {
            for turn in &turns {
                let (call, said) = (format!("call_{step}"), "msg_1");
                self.tell(turn, "item/started", json!({ "item": executed(&call, "inProgress") }));
                for _ in 0..PIECES {
                    let piece = json!({ "itemId": call, "delta": "a line of output\n" });
                    self.tell(turn, "item/commandExecution/outputDelta", piece);
                }
                self.tell(turn, "item/completed", json!({ "item": executed(&call, "completed") }));
                for _ in 0..PIECES {
                    let piece = json!({ "itemId": said, "delta": "a few words " });
                    self.tell(turn, "item/agentMessage/delta", piece);
                }
            }
        }
        for turn in &turns {
            self.end(turn);
        }
    }

    fn end(&mut self, turn: &Turn) {
        let item = json!({ "type": "agentMessage", "id": "msg_1", "text": "Done." });
        self.tell(turn, "item/completed", json!({ "item": item }));
        self.tell(turn, "turn/completed", json!({ "turn": turn.told("completed") }));
    }

    fn tell(&mut self, turn: &Turn, method: &str, mut params: Value) {
        params["threadId"] = json!(turn.thread);
        params["turnId"] = json!(turn.id);
        self.send(&json!({ "method": method, "params": params }));
    }

    /// A disconnected client misses it.
    fn send(&mut self, message: &Value) {
        let _ = self.socket.write(Message::text(message.to_string()));
    }

    fn flush(&mut self) {
        let _ = self.socket.flush();
    }
}

impl Turn {
    fn told(&self, status: &str) -> Value {
        json!({ "id": self.id, "items": [], "status": status, "error": null })
    }
}

impl Calling {
    fn id(&self) -> String {
        format!("call_{}", self.left)
    }

    fn arguments(&self) -> Value {
        match self.tool.as_str() {
            "talaria_memory" => json!({ "operations": [{ "op": "read" }] }),
            _ => json!({ "query": "pelican" }),
        }
    }

    fn item(&self, status: &str, result: &Value) -> Value {
        json!({
            "type": "dynamicToolCall", "id": self.id(), "namespace": null, "tool": self.tool, "status": status,
            "arguments": self.arguments(), "contentItems": result["contentItems"], "success": result["success"],
            "durationMs": null,
        })
    }
}

fn executed(id: &str, status: &str) -> Value {
    let is_done = status == "completed";
    json!({
        "type": "commandExecution", "id": id, "command": "/bin/bash -lc 'touch made'", "cwd": "/", "processId": null,
        "source": "agent", "status": status, "commandActions": [{ "type": "unknown", "command": "touch made" }],
        "aggregatedOutput": is_done.then_some(""), "exitCode": is_done.then_some(0), "durationMs": null,
    })
}
