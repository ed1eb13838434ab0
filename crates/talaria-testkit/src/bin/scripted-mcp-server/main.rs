//! An MCP server over stdio with two tools, whose caller says in the arguments what they do.
//!
//! | tool | what it does |
//! |---|---|
//! | `peek` | nothing; it says of itself that it only reads |
//! | `ask` | with `elicit` in its arguments: asks the client just that, and returns its answer; else nothing |
//!
//! With `append` in the arguments, either first adds the line `ran` to this file.
//!
//! With `variables` in the arguments, either returns the lengths of these environment variables: the values themselves
//! would be logged by every receiver.
//!
//! Requests are served one after the other; while the client is asked, only its answer is waited for.

#![allow(clippy::print_stdout, reason = "the protocol runs over the standard output")]

use std::fs::OpenOptions;
use std::io::{self, BufRead, Lines, StdinLock, Write};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// The id of our own requests; there is never more than one open.
const OURS: &str = "elicitation";

fn main() -> Result<()> {
    let mut messages = Messages(io::stdin().lock().lines());
    while let Some(message) = messages.next()? {
        let Some(id) = message.get("id") else { continue };
        let params = &message["params"];
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "scripted", "version": "0.0.1" },
            }),
            Some("tools/list") => json!({ "tools": tools() }),
            Some("tools/call") => {
                if let Some(file) = params["arguments"]["append"].as_str() {
                    append(file)?;
                }
                let said = match params["arguments"].get("elicit") {
                    Some(question) => messages.ask(question)?,
                    None => format!(
                        "{} ran{}",
                        params["name"].as_str().unwrap_or_default(),
                        environment(&params["arguments"]["variables"])
                    ),
                };
                json!({ "content": [{ "type": "text", "text": said }] })
            }
            _ => {
                send(&json!({ "id": id, "error": { "code": -32601, "message": "not scripted" } }));
                continue;
            }
        };
        send(&json!({ "id": id, "result": result }));
    }
    Ok(())
}

fn append(file: &str) -> Result<()> {
    let mut opened = OpenOptions::new().create(true).append(true).open(file).context("open")?;
    opened.write_all(b"ran\n").context("append")
}

fn environment(names: &Value) -> String {
    let told = |name: &str| match std::env::var(name) {
        Ok(value) => format!(", {name} has {}", value.len()),
        Err(_) => format!(", {name} is not set"),
    };
    names.as_array().into_iter().flatten().filter_map(Value::as_str).map(told).collect()
}

fn tools() -> Value {
    let anything = json!({ "type": "object", "properties": {
        "append": { "type": "string" },
        "elicit": { "type": "object" },
        "variables": { "type": "array", "items": { "type": "string" } },
    } });
    json!([
        { "name": "peek", "description": "Looks", "inputSchema": anything, "annotations": { "readOnlyHint": true } },
        { "name": "ask", "description": "Asks", "inputSchema": anything },
    ])
}

struct Messages(Lines<StdinLock<'static>>);

impl Messages {
    /// Returns the next message; `None` when the client is gone.
    fn next(&mut self) -> Result<Option<Value>> {
        let Some(line) = self.0.next() else { return Ok(None) };
        let line = line.context("read")?;
        serde_json::from_str(&line).with_context(|| format!("not JSON: {line}")).map(Some)
    }

    /// Asks the client and returns its answer, result or error, as text.
    fn ask(&mut self, question: &Value) -> Result<String> {
        send(&json!({ "id": OURS, "method": "elicitation/create", "params": question }));
        while let Some(message) = self.next()? {
            if message["id"] == OURS {
                let said = message.get("result").unwrap_or(&message["error"]);
                return Ok(said.to_string());
            }
        }
        Ok("the client went".to_owned())
    }
}

fn send(message: &Value) {
    let mut message = message.clone();
    message["jsonrpc"] = json!("2.0");
    println!("{message}");
}
