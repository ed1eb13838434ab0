//! A thread: its turns in memory, and the file from which another process takes it up.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A conversation.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) id: String,
    pub(crate) cwd: String,
    pub(crate) turns: Vec<Turn>,
    path: PathBuf,
    /// Made with the first turn.
    file: Option<File>,
}

/// One exchange.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) id: String,
    pub(crate) prompt: String,
    pub(crate) status: &'static str,
    pub(crate) items: Vec<Value>,
}

impl Thread {
    pub(crate) fn new(sessions: &Path, id: String, cwd: String) -> Self {
        let path = sessions.join(format!("rollout-{id}.jsonl"));
        Self { id, cwd, turns: Vec::new(), path, file: None }
    }

    /// Reads a thread that another process left; `None` if it never had a turn.
    pub(crate) fn load(sessions: &Path, id: &str) -> Option<Self> {
        let mut thread = Self::new(sessions, id.to_owned(), String::new());
        let text = fs::read_to_string(&thread.path).ok()?;
        for line in text.lines() {
            // A killed process may have left half a line.
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let (payload, last) = (&line["payload"], thread.turns.last_mut());
            match (line["type"].as_str()?, payload["type"].as_str().unwrap_or_default(), last) {
                ("session_meta", ..) => thread.cwd = payload["cwd"].as_str()?.to_owned(),
                (_, "task_started", _) => thread.turns.push(Turn {
                    id: payload["turn_id"].as_str()?.to_owned(),
                    prompt: String::new(),
                    // The process that ran it is gone.
                    status: "interrupted",
                    items: Vec::new(),
                }),
                (_, "item_completed", Some(turn)) => turn.items.push(payload["item"].clone()),
                (_, "task_complete", Some(turn)) => turn.status = "completed",
                _ => {}
            }
        }
        thread.file = OpenOptions::new().append(true).open(&thread.path).ok();
        Some(thread)
    }

    /// Returns whether another connection or process can resume it.
    pub(crate) fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    pub(crate) fn status(&self, is_asking: bool) -> Value {
        match self.turns.last() {
            Some(turn) if turn.status == "inProgress" => {
                let flags: &[&str] = if is_asking { &["waitingOnApproval"] } else { &[] };
                json!({ "type": "active", "activeFlags": flags })
            }
            _ => json!({ "type": "idle" }),
        }
    }

    pub(crate) fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// Begins a turn.
    pub(crate) fn begin(&mut self, turn: Turn) {
        if self.file.is_none() {
            self.file = OpenOptions::new().create(true).append(true).open(&self.path).ok();
            self.write(&json!({ "type": "session_meta", "payload": { "id": self.id, "cwd": self.cwd } }));
        }
        self.event(json!({ "type": "task_started", "turn_id": turn.id }));
        let said = json!([{ "type": "input_text", "text": turn.prompt }]);
        let message = json!({ "type": "message", "role": "user", "content": said });
        self.write(&json!({ "type": "response_item", "payload": message }));
        self.turns.push(turn);
    }

    /// Adds an item to the turn that runs.
    pub(crate) fn complete(&mut self, item: Value) {
        self.event(json!({ "type": "item_completed", "item": item }));
        if let Some(turn) = self.turns.last_mut() {
            turn.items.retain(|existing| existing["id"] != item["id"]);
            turn.items.push(item);
        }
    }

    /// Ends the turn that runs.
    pub(crate) fn end(&mut self, status: &'static str) {
        let Some(turn) = self.turns.last_mut() else { return };
        turn.status = status;
        let kind = if status == "completed" { "task_complete" } else { "turn_aborted" };
        let id = turn.id.clone();
        self.event(json!({ "type": kind, "turn_id": id }));
    }

    fn event(&mut self, payload: Value) {
        self.write(&json!({ "type": "event_msg", "payload": payload }));
    }

    /// One write per line: it is durable when this returns, even if the process is killed.
    fn write(&mut self, line: &Value) {
        if let Some(file) = &mut self.file {
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }
}
