//! A call of the model as the file has it, and what came back: text for the model, in which the exit code is a line.
//!
//! Only commands are understood here. Whatever does not say its exit code in one of the known ways has no known end.

use serde::Deserialize;
use serde_json::Value;

use crate::ids::ItemId;
use crate::request::shell_words;
use crate::wire::item::{WireBody, WireItem, WireSource, WireStatus};

/// A call without an end.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: ItemId,
    /// The terminal that it types into or waits for.
    pub(super) terminal: Option<String>,
    /// What came back so far.
    pub(super) printed: String,
    command: Option<String>,
    cwd: Option<String>,
}

impl Call {
    /// The command, ended with this code; `None` if it is no command.
    pub(super) fn ended(&self, exit_code: i32, cwd: &str) -> Option<WireItem> {
        let body = WireBody::CommandExecution {
            command: self.command.clone()?,
            cwd: self.cwd.clone().unwrap_or_else(|| cwd.to_owned()),
            source: WireSource::Agent,
            status: if exit_code == 0 { WireStatus::Completed } else { WireStatus::Failed },
            aggregated_output: (!self.printed.is_empty()).then(|| self.printed.clone()),
            exit_code: Some(exit_code),
            duration_ms: None,
        };
        Some(WireItem { id: self.id.clone(), body })
    }
}

/// What came back of a call.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) call: ItemId,
    pub(super) exit_code: Option<i32>,
    /// The terminal in which the command goes on.
    pub(super) terminal: Option<String>,
    pub(super) printed: String,
}

/// Reads a call.
pub(super) fn read(payload: &str) -> Option<Call> {
    #[derive(Deserialize)]
    struct Wire {
        call_id: ItemId,
        name: String,
        #[serde(default)]
        arguments: String,
    }
    let Wire { call_id, name, arguments } = serde_json::from_str(payload).ok()?;
    let arguments: Value = serde_json::from_str(&arguments).unwrap_or_default();
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
    let words = || {
        let words = arguments.get("command")?.as_array()?.iter();
        let words: Option<Vec<String>> = words.map(|word| word.as_str().map(str::to_owned)).collect();
        Some(shell_words(&words?))
    };
    let (command, terminal) = match name.as_str() {
        "exec_command" => (text("cmd"), None),
        "shell_command" => (text("command"), None),
        "shell" => (words(), None),
        "write_stdin" => (None, arguments.get("session_id").map(Value::to_string)),
        _ => (None, None),
    };
    Some(Call { id: call_id, terminal, printed: String::new(), command, cwd: text("workdir") })
}

/// Reads what came back.
pub(super) fn read_output(payload: &str) -> Option<Output> {
    #[derive(Deserialize)]
    struct Wire {
        call_id: ItemId,
        output: Value,
    }
    #[derive(Deserialize)]
    struct Structured {
        output: String,
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        exit_code: i32,
    }
    let Wire { call_id, output } = serde_json::from_str(payload).ok()?;
    let text = output.as_str()?;
    if let Ok(Structured { output, metadata }) = serde_json::from_str(text) {
        let exit_code = Some(metadata.exit_code);
        return Some(Output { call: call_id, exit_code, terminal: None, printed: output });
    }
    let (head, printed) = match text.split_once("\nOutput:\n") {
        Some((head, printed)) => (head, printed.to_owned()),
        None => (text, String::new()),
    };
    let after = |start: &str| head.lines().find_map(|line| line.strip_prefix(start)).map(str::trim);
    let exit_code = after("Process exited with code ").or_else(|| after("Exit code: "));
    let terminal = after("Process running with session ID ").map(str::to_owned);
    let exit_code = exit_code.and_then(|code| code.parse().ok());
    Some(Output { call: call_id, exit_code, terminal, printed })
}
