//! Everything that happens, one message at a time: what clients ask, and what the model inside does.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::hash::BuildHasher;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use crate::shape;
use crate::thread::{Thread, Turn};

/// The state of the process.
#[derive(Debug)]
pub(crate) struct Server {
    sessions: PathBuf,
    version: String,
    threads: BTreeMap<String, Thread>,
    clients: BTreeMap<u64, UnboundedSender<String>>,
    /// The subscribers of each thread.
    followers: BTreeSet<(String, u64)>,
    /// Open requests, by id.
    pending: BTreeMap<u64, Pending>,
    next_request: u64,
}

#[derive(Clone, Debug)]
struct Pending {
    thread: String,
    item: String,
    wish: Wish,
    params: Value,
}

/// Subject of a request.
#[derive(Clone, Debug)]
enum Wish {
    /// May this command run?
    Command(String),
    /// The client runs one of its tools.
    Tool { name: String, arguments: Value },
}

/// A refusal of Codex.
struct Refusal(String);

impl Server {
    pub(crate) fn new(sessions: PathBuf, version: String) -> Self {
        Self {
            sessions,
            version,
            threads: BTreeMap::new(),
            clients: BTreeMap::new(),
            followers: BTreeSet::new(),
            pending: BTreeMap::new(),
            next_request: 0,
        }
    }

    pub(crate) fn join(&mut self, client: u64, sender: UnboundedSender<String>) {
        self.clients.insert(client, sender);
    }

    pub(crate) fn leave(&mut self, client: u64) {
        self.clients.remove(&client);
        self.followers.retain(|(_, follower)| *follower != client);
    }

    /// Takes one message of a client.
    pub(crate) fn take(&mut self, client: u64, text: &str) {
        let Ok(message) = serde_json::from_str::<Value>(text) else { return };
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(id)) => self.answer(client, method, id, &message["params"]),
            (None, Some(id)) => self.take_answer(id, &message["result"]),
            _ => {}
        }
    }

    fn answer(&mut self, client: u64, method: &str, id: &Value, params: &Value) {
        let thread = params["threadId"].as_str().unwrap_or_default().to_owned();
        let answer = match method {
            "turn/start" => self.start_turn(&thread, params).map(|turn| {
                let accepted = json!({ "turn": shape::turn_head(&turn) });
                (accepted, Some(turn))
            }),
            _ => self.look_up(client, method, &thread, params).map(|result| (result, None)),
        };
        match answer {
            Ok((result, begun)) => {
                self.send(client, &json!({ "id": id, "result": result }));
                if let Some(turn) = begun {
                    self.run(&thread, &turn, &params["clientUserMessageId"]);
                }
                if method == "thread/resume" {
                    self.offer_again(client, &thread);
                }
            }
            Err(Refusal(message)) => {
                self.send(client, &json!({ "id": id, "error": { "code": -32600, "message": message } }));
            }
        }
    }

    fn look_up(&mut self, client: u64, method: &str, id: &str, params: &Value) -> Result<Value, Refusal> {
        Ok(match method {
            "initialize" => json!({
                "userAgent": format!("talaria/{} (Debian 12.0.0; x86_64) xterm (talaria; 0.1.0)", self.version),
                "codexHome": self.sessions.parent(), "platformFamily": "unix", "platformOs": "linux",
            }),
            "account/read" => {
                json!({ "account": null, "requiresOpenaiAuth": false, "workspaceRouting": null })
            }
            "config/read" => json!({ "config": {}, "origins": {} }),
            "thread/start" => {
                let cwd = params["cwd"].as_str().unwrap_or("/").to_owned();
                let thread = Thread::new(&self.sessions, mint(), cwd);
                let reply = shape::opened(&thread, &thread.status(false), &self.version, params);
                self.followers.insert((thread.id.clone(), client));
                self.threads.insert(thread.id.clone(), thread);
                reply
            }
            "thread/resume" => {
                let version = self.version.clone();
                let status = self.status(id);
                let thread = self.loaded(id)?;
                let reply = shape::opened(thread, &status, &version, params);
                self.followers.insert((id.to_owned(), client));
                reply
            }
            "thread/loaded/list" => {
                json!({ "data": self.threads.keys().collect::<Vec<_>>(), "nextCursor": null })
            }
            "thread/turns/list" => {
                let limit = params["limit"].as_u64().and_then(|limit| limit.try_into().ok()).unwrap_or(20);
                let turns = self.loaded(id)?.turns.iter().rev().take(limit).map(shape::turn);
                json!({ "data": turns.collect::<Vec<_>>(), "nextCursor": null, "backwardsCursor": null })
            }
            "thread/read" => {
                let (version, status) = (self.version.clone(), self.status(id));
                let with_turns = params["includeTurns"] == true;
                let thread = match self.threads.get(id) {
                    Some(thread) if with_turns && !thread.is_kept() => {
                        return Err(Refusal(format!("thread {id} is not materialized yet")));
                    }
                    Some(thread) => thread,
                    None => self.loaded(id)?,
                };
                let turns = thread.turns.iter().filter(|_| with_turns).map(shape::turn).collect();
                json!({ "thread": shape::thread(thread, &status, &version, turns) })
            }
            "thread/unsubscribe" => {
                self.followers.remove(&(id.to_owned(), client));
                json!({ "status": "unsubscribed" })
            }
            "turn/interrupt" => {
                self.interrupt(id);
                json!({})
            }
            "thread/inject_items"
            | "thread/backgroundTerminals/clean"
            | "thread/archive"
            | "thread/unarchive" => json!({}),
            "thread/backgroundTerminals/list" => json!({ "data": [], "nextCursor": null }),
            _ => {
                return Err(Refusal(format!(
                    "Invalid request: unknown variant `{method}`, expected one of …"
                )));
            }
        })
    }

    /// Loads a thread, from its file if necessary.
    fn loaded(&mut self, id: &str) -> Result<&Thread, Refusal> {
        let missing = || Refusal(format!("no rollout found for thread id {id}"));
        if !self.threads.contains_key(id) {
            let thread = Thread::load(&self.sessions, id).ok_or_else(missing)?;
            self.threads.insert(id.to_owned(), thread);
        }
        self.threads.get(id).filter(|thread| thread.is_kept()).ok_or_else(missing)
    }

    fn status(&self, id: &str) -> Value {
        let is_asking = self.pending.values().any(|pending| pending.thread == id);
        self.threads.get(id).map_or(json!({ "type": "idle" }), |thread| thread.status(is_asking))
    }

    fn start_turn(&mut self, id: &str, params: &Value) -> Result<Turn, Refusal> {
        let prompt = params["input"][0]["text"].as_str().unwrap_or_default().to_owned();
        let thread = self.threads.get_mut(id).ok_or_else(|| Refusal(format!("thread not found: {id}")))?;
        let turn = Turn { id: mint(), prompt, status: "inProgress", items: Vec::new() };
        thread.begin(turn.clone());
        Ok(turn)
    }

    /// Begins to do what the prompt says.
    fn run(&mut self, thread: &str, turn: &Turn, client_id: &Value) {
        self.tell_status(thread);
        self.tell(thread, "turn/started", json!({ "threadId": thread, "turn": shape::turn_head(turn) }));
        let said = shape::user_message(&mint(), client_id, &turn.prompt);
        self.begin_item(thread, &turn.id, &said);
        self.complete_item(thread, &turn.id, said);
        if turn.prompt.starts_with("ask-") {
            self.ask(thread, turn);
        } else if turn.prompt.starts_with("call-") {
            self.call(thread, turn);
        } else {
            self.finish(thread);
        }
    }

    /// Calls the tool that the prompt names.
    fn call(&mut self, thread: &str, turn: &Turn) {
        let mut words = turn.prompt.splitn(3, ' ');
        let name = words.next().and_then(|word| word.strip_prefix("call-")).unwrap_or_default().to_owned();
        let arguments: Value =
            words.nth(1).and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        let item = format!("call_{}", mint());
        let begun = shape::tool(&item, &name, &arguments, None);
        let params = json!({ "threadId": thread, "turnId": turn.id, "callId": item, "namespace": null,
                             "tool": name, "arguments": arguments });
        self.wish(
            thread,
            turn,
            begun,
            Pending { thread: thread.to_owned(), item, wish: Wish::Tool { name, arguments }, params },
        );
    }

    fn ask(&mut self, thread: &str, turn: &Turn) {
        let cwd = self.threads.get(thread).map(|thread| thread.cwd.clone()).unwrap_or_default();
        let (item, command) = (format!("call_{}", mint()), format!("echo ran >> {}", turn.prompt));
        let begun = shape::command(&item, &command, &cwd, "inProgress");
        let params = shape::approval(thread, &turn.id, &item, &command, &cwd);
        let wish = Wish::Command(command);
        self.wish(thread, turn, begun, Pending { thread: thread.to_owned(), item, wish, params });
    }

    /// Begins a step that waits for a client.
    fn wish(&mut self, thread: &str, turn: &Turn, begun: Value, pending: Pending) {
        self.begin_item(thread, &turn.id, &begun);
        if let Some(turn) = self.threads.get_mut(thread).and_then(|thread| thread.turns.last_mut()) {
            turn.items.push(begun);
        }
        let id = self.next_request;
        self.next_request += 1;
        self.pending.insert(id, pending);
        self.tell_status(thread);
        for client in self.following(thread) {
            self.offer(client, id);
        }
    }

    fn offer(&self, client: u64, id: u64) {
        let Some(pending) = self.pending.get(&id) else { return };
        let method = match pending.wish {
            Wish::Command(_) => "item/commandExecution/requestApproval",
            Wish::Tool { .. } => "item/tool/call",
        };
        self.send(client, &json!({ "method": method, "id": id, "params": pending.params }));
    }

    fn offer_again(&self, client: u64, thread: &str) {
        for (id, _) in self.pending.iter().filter(|(_, pending)| pending.thread == thread) {
            self.offer(client, *id);
        }
    }

    /// The first answer counts; a later one is for nothing that is open.
    fn take_answer(&mut self, id: &Value, result: &Value) {
        let Some(pending) = id.as_u64().and_then(|id| self.pending.remove(&id)) else { return };
        let thread = pending.thread.as_str();
        if matches!(pending.wish, Wish::Command(_)) {
            self.tell(thread, "serverRequest/resolved", json!({ "threadId": thread, "requestId": id }));
        }
        self.tell_status(thread);
        let Some((turn, cwd)) =
            self.threads.get(thread).and_then(|found| Some((found.turns.last()?.clone(), found.cwd.clone())))
        else {
            return;
        };
        let item = match &pending.wish {
            Wish::Command(command) => {
                let is_accepted =
                    result["decision"].as_str().is_some_and(|decision| decision.starts_with("accept"));
                if is_accepted {
                    note(&Path::new(&cwd).join(&turn.prompt));
                }
                let status = if is_accepted { "completed" } else { "declined" };
                shape::command(&pending.item, command, &cwd, status)
            }
            Wish::Tool { name, arguments } => shape::tool(&pending.item, name, arguments, Some(result)),
        };
        self.complete_item(thread, &turn.id, item);
        self.finish(thread);
    }

    fn finish(&mut self, thread: &str) {
        let Some(turn) = self.last_turn(thread) else { return };
        let text = format!("done: {}", turn.prompt);
        let message = shape::agent_message(&format!("msg_{}", mint()), &text);
        let piece = json!({ "threadId": thread, "turnId": turn.id, "itemId": message["id"], "delta": text });
        self.tell(thread, "item/agentMessage/delta", piece);
        self.complete_item(thread, &turn.id, message);
        self.end(thread, "completed");
    }

    fn interrupt(&mut self, thread: &str) {
        if self.last_turn(thread).is_some_and(|turn| turn.status == "inProgress") {
            self.pending.retain(|_, pending| pending.thread != thread);
            self.end(thread, "interrupted");
        }
    }

    fn end(&mut self, thread: &str, status: &'static str) {
        if let Some(found) = self.threads.get_mut(thread) {
            found.end(status);
        }
        self.tell_status(thread);
        let Some(turn) = self.last_turn(thread) else { return };
        self.tell(thread, "turn/completed", json!({ "threadId": thread, "turn": shape::turn_head(&turn) }));
    }

    fn last_turn(&self, thread: &str) -> Option<Turn> {
        self.threads.get(thread)?.turns.last().cloned()
    }

    fn begin_item(&self, thread: &str, turn: &str, item: &Value) {
        let params =
            json!({ "item": item, "threadId": thread, "turnId": turn, "startedAtMs": 1794775079297_u64 });
        self.tell(thread, "item/started", params);
    }

    fn complete_item(&mut self, thread: &str, turn: &str, item: Value) {
        let params =
            json!({ "item": item, "threadId": thread, "turnId": turn, "completedAtMs": 1794775079297_u64 });
        if let Some(found) = self.threads.get_mut(thread) {
            found.complete(item);
        }
        self.tell(thread, "item/completed", params);
    }

    fn tell_status(&self, thread: &str) {
        let params = json!({ "threadId": thread, "status": self.status(thread) });
        self.tell(thread, "thread/status/changed", params);
    }

    fn tell(&self, thread: &str, method: &str, params: Value) {
        let message = json!({ "method": method, "params": params, "emittedAtMs": 1794775079299_u64 });
        for client in self.following(thread) {
            self.send(client, &message);
        }
    }

    fn following(&self, thread: &str) -> Vec<u64> {
        let of_thread = self.followers.iter().filter(|(followed, _)| followed == thread);
        of_thread.map(|(_, client)| *client).collect()
    }

    fn send(&self, client: u64, message: &Value) {
        if let Some(sender) = self.clients.get(&client) {
            // A client that is disconnecting gets nothing any more.
            let _ = sender.send(message.to_string());
        }
    }
}

/// Effect of the command.
fn note(path: &Path) {
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path) {
        let _ = file.write_all(b"ran\n");
    }
}

/// An id that no other process makes.
fn mint() -> String {
    let random = || RandomState::new().hash_one(std::process::id());
    let (high, low) = (random(), random());
    format!(
        "{:08x}-{:04x}-7{:03x}-8{:03x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 52,
        low & 0xffff_ffff_ffff
    )
}
