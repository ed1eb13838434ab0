//! Steps that are calls of tools: the name of the tool, its arguments, its result.
//!
//! Only commands, patches and tools of MCP servers and clients are calls. Whatever did not go well says so in brackets
//! below the output, in the same words for every tool.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::cap::cap;
use super::message::ToolCall;
use super::{patch, sorted_json};
use crate::event::Abandonment;
use crate::ids::ItemId;
use crate::item::{CommandSource, FileAction, FileChange, ItemBody, Status, ToolResult};

/// Text about a call whose end was not observed.
pub(super) const ABANDONED: &str = "[no end was reported before the turn ended]";

/// Text about a call whose end was not observed, with further facts.
pub(super) fn abandoned(why: Option<Abandonment>) -> &'static str {
    match why {
        Some(Abandonment::NotRun) => "[did not run: it was not approved]",
        None => ABANDONED,
    }
}

/// Written for a command that outlived its turn.
pub(super) const IN_BACKGROUND: &str = "[still running in the background when the turn ended]";

/// Returns the call that a step is; `None` for a step that is none.
pub(super) fn call(id: &ItemId, body: &ItemBody) -> Option<ToolCall> {
    let (name, arguments) = match body {
        ItemBody::Command { command, cwd, .. } => {
            (Cow::Borrowed("exec_command"), json(&ExecArguments { command, cwd }))
        }
        ItemBody::Patch { changes, .. } => {
            let changes = changes.iter().map(PatchedFile::new).collect();
            (Cow::Borrowed("apply_patch"), json(&PatchArguments { changes }))
        }
        ItemBody::Tool { server, tool, arguments, .. } => {
            (Cow::Owned(format!("mcp.{server}.{tool}")), own_arguments(arguments.as_deref()))
        }
        ItemBody::ClientTool { tool, arguments, .. } => {
            (Cow::Owned(tool.clone()), own_arguments(arguments.as_deref()))
        }
        _ => return None,
    };
    Some(ToolCall::new(id.as_str(), name, arguments))
}

/// Returns the result of a call, with at most `limit` bytes of the tool's output.
pub(super) fn result(body: &ItemBody, limit: usize) -> String {
    match body {
        ItemBody::Command { source, status, exit_code, output, .. } => {
            let mut out = cap(output.as_deref().unwrap_or_default(), limit).into_owned();
            if *source == CommandSource::User {
                remark(&mut out, "[run by the user]");
            }
            match exit_code {
                Some(code) if *code != 0 => remark(&mut out, &format!("[exit code {code}]")),
                Some(_) if *status == Status::Failed => remark(&mut out, ending(*status)),
                Some(_) => {}
                None => remark(&mut out, ending(*status)),
            }
            or_nothing(out)
        }
        ItemBody::Patch { status, changes } => {
            let mut out = patch::summary(changes);
            remark(&mut out, ending(*status));
            out
        }
        ItemBody::Tool { status, result, error, .. } => {
            let mut out = tool_text(result.as_ref(), limit);
            match error {
                Some(error) => remark(&mut out, &format!("[failed: {}]", cap(error, limit))),
                None => remark(&mut out, ending(*status)),
            }
            or_nothing(out)
        }
        ItemBody::ClientTool { status, success, result, .. } => {
            let mut out = tool_text(result.as_ref(), limit);
            let has_failed = *success == Some(false) && *status == Status::Completed;
            remark(&mut out, ending(if has_failed { Status::Failed } else { *status }));
            or_nothing(out)
        }
        _ => String::new(),
    }
}

/// Returns the text of a result and counts the rest of it.
pub(super) fn tool_text(result: Option<&ToolResult>, limit: usize) -> String {
    let Some(ToolResult { text, images, other }) = result else { return String::new() };
    let mut out = cap(text.as_deref().unwrap_or_default(), limit).into_owned();
    for (count, one, many) in [(images, "image", "images"), (other, "other part", "other parts")] {
        match count {
            0 => {}
            1 => remark(&mut out, &format!("[1 {one}]")),
            _ => remark(&mut out, &format!("[{count} {many}]")),
        }
    }
    out
}

/// Remark about the end of a step; none on success.
fn ending(status: Status) -> &'static str {
    match status {
        Status::Completed => "",
        Status::Failed => "[failed]",
        Status::Declined => "[declined: not allowed, not done]",
        Status::Interrupted => "[stopped]",
        Status::InProgress => ABANDONED,
        Status::Unknown => "[ended in a way that is not known]",
    }
}

/// Adds a line of ours.
fn remark(out: &mut String, words: &str) {
    if words.is_empty() {
        return;
    }
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(words);
}

fn or_nothing(out: String) -> String {
    if out.is_empty() { "[no output]".to_owned() } else { out }
}

fn own_arguments(arguments: Option<&RawValue>) -> String {
    arguments.map_or_else(|| "{}".to_owned(), sorted_json::sorted)
}

/// The fields are in the order of their names.
#[derive(Serialize)]
struct ExecArguments<'a> {
    command: &'a str,
    cwd: &'a str,
}

#[derive(Serialize)]
struct PatchArguments<'a> {
    changes: Vec<PatchedFile<'a>>,
}

/// The fields are in the order of their names.
#[derive(Serialize)]
struct PatchedFile<'a> {
    kind: FileAction,
    #[serde(skip_serializing_if = "Option::is_none")]
    move_to: Option<&'a str>,
    path: &'a str,
}

impl<'a> PatchedFile<'a> {
    fn new(change: &'a FileChange) -> Self {
        Self { kind: change.action, move_to: change.move_to.as_deref(), path: &change.path }
    }
}

/// Text and lists of text always have a JSON form.
fn json(arguments: &impl Serialize) -> String {
    serde_json::to_string(arguments).unwrap_or_default()
}
