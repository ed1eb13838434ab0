//! A call as written by the model, and its result: text for the model, in which the exit code is a line.
//!
//! The file of a conversation and raw events have the same shapes. An exit code that is not written in one of the known ways
//! is not known; neither is a failure (`failed`). Called by `rollout` and by the turn machine.

use serde::Deserialize;
use serde_json::Value;

use crate::tool_failure;
use crate::wire::item::{WireBody, WireItem, WireSource, WireStatus};
use crate::wire::raw_call::RawItem;
use talaria_core::ids::ItemId;
use talaria_core::request::shell_words;

/// A call without an end.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: ItemId,
    pub(crate) tool: String,
    /// The terminal that it types into or waits for.
    pub(crate) terminal: Option<String>,
    /// The result so far.
    pub(crate) printed: String,
    command: Option<String>,
    cwd: Option<String>,
}

impl Call {
    /// The command, ended with this code; `None` if it is no command.
    pub(crate) fn ended(&self, exit_code: i32, cwd: &str) -> Option<WireItem> {
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

/// Result of a call.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) call: ItemId,
    pub(crate) exit_code: Option<i32>,
    /// The terminal in which the command continues.
    pub(crate) terminal: Option<String>,
    pub(crate) printed: String,
    /// All of it, as the model got it.
    whole: String,
}

impl Output {
    /// The model's text about the failure of the call; `None` unless it failed.
    pub(crate) fn failure(&self, call: &Call) -> Option<String> {
        tool_failure::failure(&call.tool, &self.whole)
    }
}

pub(crate) fn read(item: &RawItem) -> Option<Call> {
    let (id, tool) = (item.call_id.clone()?, item.name.clone()?);
    let arguments: Value =
        item.arguments.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
    let words = || {
        let words = arguments.get("command")?.as_array()?.iter();
        let words: Option<Vec<String>> = words.map(|word| word.as_str().map(str::to_owned)).collect();
        Some(shell_words(&words?))
    };
    let (command, terminal) = match tool.as_str() {
        "exec_command" => (text("cmd"), None),
        "shell_command" => (text("command"), None),
        "shell" => (words(), None),
        "write_stdin" => (None, arguments.get("session_id").map(Value::to_string)),
        _ => (None, None),
    };
    Some(Call { id, tool, terminal, printed: String::new(), command, cwd: text("workdir") })
}

/// Parses a result.
pub(crate) fn read_output(item: &RawItem) -> Option<Output> {
    #[derive(Deserialize)]
    struct Structured {
        output: String,
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        exit_code: i32,
    }
    let (call, text) = (item.call_id.clone()?, item.output.as_deref()?);
    let whole = text.to_owned();
    if let Ok(Structured { output, metadata }) = serde_json::from_str(text) {
        let exit_code = Some(metadata.exit_code);
        return Some(Output { call, exit_code, terminal: None, printed: output, whole });
    }
    let (head, printed) = match text.split_once("\nOutput:\n") {
        Some((head, printed)) => (head, printed.to_owned()),
        None => (text, String::new()),
    };
    let after = |start: &str| head.lines().find_map(|line| line.strip_prefix(start)).map(str::trim);
    let exit_code = after("Process exited with code ").or_else(|| after("Exit code: "));
    let terminal = after("Process running with session ID ").map(str::to_owned);
    let exit_code = exit_code.and_then(|code| code.parse().ok());
    Some(Output { call, exit_code, terminal, printed, whole })
}
