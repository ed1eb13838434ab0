//! The model of the faults: a prompt names a case, and the results so far say how far it is.

use std::sync::{Arc, Mutex};

use serde_json::json;
use talaria_scripted::{Gate, Reply, ScriptedModel};

use crate::survival::own_loop::SPARE;
use crate::survival::play::DECLINED;

/// Holds the answers of cases that wait.
#[derive(Clone, Default)]
pub(super) struct Stage(Arc<Mutex<Gate>>);

impl Stage {
    /// A new gate for the next turn.
    pub(super) fn next_gate(&self) -> Gate {
        let gate = Gate::new();
        *self.0.lock().unwrap() = gate.clone();
        gate
    }

    fn gate(&self) -> Gate {
        self.0.lock().unwrap().clone()
    }
}

/// The file to which commands of a turn add a line.
pub(super) fn effect_file(number: usize) -> String {
    format!("effect-{number}")
}

/// The file that lets a command end.
pub(super) fn go_file(number: usize) -> String {
    format!("go-{number}")
}

/// The file that edits change.
pub(super) fn edited_file(number: usize) -> String {
    format!("edited-{number}")
}

/// The file that `write` creates.
pub(super) fn written_file(number: usize) -> String {
    format!("written-{number}")
}

/// What the memory gets.
pub(super) fn fact(number: usize) -> String {
    format!("fact {number}")
}

/// The process that a result names.
fn process_in(result: &str) -> Option<&str> {
    let (_, rest) = result.split_once("as process ")?;
    rest.get(..16)
}

/// Starts a model that plays the cases.
pub(super) async fn start() -> (ScriptedModel, Stage) {
    let (model, stage) = (ScriptedModel::start().await.unwrap(), Stage::default());
    let gates = stage.clone();
    model.route(move |request| {
        let prompt = request.user_texts().into_iter().rev().find(|text| text.starts_with("loop "))?;
        let mut words = prompt.split(' ').skip(1);
        let (case, number) = (words.next()?, words.next()?.parse().ok()?);
        if case == "fallback" && request.body["model"] != SPARE {
            return Some(Reply::refuse(402, "billing_error", "Your credit balance is too low"));
        }
        Some(reply(case, number, &request.tool_outputs(), &gates.gate()))
    });
    (model, stage)
}

fn reply(case: &str, number: usize, results: &[String], gate: &Gate) -> Reply {
    let (effect, edited) = (effect_file(number), edited_file(number));
    let add = format!("echo ran >> {effect}");
    let process = results.first().and_then(|result| process_in(result));
    let reply = Reply::new().text(format!("Step {}.", results.len()));
    match (case, results.len()) {
        ("run" | "approval" | "fallback", 0) => reply.function("run", json!({ "command": add })),
        ("declined", 0) => reply.function("run", json!({ "command": format!("{add} # {DECLINED}") })),
        ("waits", 0) => {
            let command = format!("{add}; while [ ! -e {} ]; do sleep 0.02; done", go_file(number));
            reply.function("run", json!({ "command": command }))
        }
        ("process", 0) => {
            let command = format!("{add}; while read line; do echo $line >> {effect}; done");
            reply.function("run", json!({ "command": command, "background": true }))
        }
        ("process", 1) if process.is_some() => {
            reply.function("process", json!({ "action": "poll", "process": process }))
        }
        ("process", 2) => {
            let arguments = json!({ "action": "write", "process": process, "text": "typed\n" });
            reply.function("process", arguments)
        }
        ("process", 3) => reply.function("process", json!({ "action": "kill", "process": process })),
        ("edit", 0) => reply.function("read", json!({ "path": edited })),
        ("edit", 1) => reply.function("edit", json!({ "path": edited, "old": "one", "new": "two" })),
        ("write", 0) => reply.function("write", json!({ "path": written_file(number), "text": "written\n" })),
        ("several", 0) => reply
            .function("write", json!({ "path": written_file(number), "text": "written\n" }))
            .function("read", json!({ "path": edited }))
            .function("run", json!({ "command": add })),
        ("peeks", 0) => reply.function("mcp__birds__peek", json!({ "append": effect })),
        ("serves", 0) => reply.function("mcp__birds__ask", json!({ "append": effect })),
        ("searches", 0) => reply.function("web_search", json!({ "query": "small birds" })),
        ("memory", 0) => {
            let operation = json!({ "op": "add", "scope": "notes", "text": fact(number) });
            reply.function("talaria_memory", json!({ "operations": [operation] }))
        }
        ("question", 0) => {
            let options = json!([{ "label": "red" }, { "label": "blue" }]);
            let question = json!({ "question": "Which colour?", "options": options });
            reply.function("ask", json!({ "questions": [question] }))
        }
        ("speaks", _) => Reply::new().text("Half of it").gate(gate).text(format!(", done {number}")),
        ("thinks", _) => Reply::new().gate(gate).text(format!("done {number}")),
        _ => Reply::say(format!("done {number}")),
    }
}
