//! Text about the leftover processes of a dead engine: for `talaria stop`, `talaria status` and `talaria
//! doctor`.

use serde_json::{Value, json};
use talaria_engine::engine::leftovers::{LeftKind, LeftProcess};
use talaria_guard::redact::redact;
use talaria_render::plain_line;

/// How many processes of each kind there are: `1 Codex process and 2 commands`.
pub(crate) fn count(processes: &[LeftProcess]) -> String {
    let codex = processes.iter().filter(|process| process.kind == LeftKind::Codex).count();
    let some = |count: usize, one: &str, more: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {more}")),
    };
    let parts = [
        some(codex, "Codex process", "Codex processes"),
        some(processes.len() - codex, "command", "commands"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

/// One line for each of them. Command lines are foreign text, and may contain secrets.
pub(crate) fn lines(processes: &[LeftProcess]) -> String {
    let line = |process: &LeftProcess| {
        format!("  process {}: {}\n", process.pid, plain_line(&redact(&process.command)))
    };
    processes.iter().map(line).collect()
}

/// The same as JSON.
pub(crate) fn json(processes: &[LeftProcess]) -> Value {
    let object = |process: &LeftProcess| {
        let kind = match process.kind {
            LeftKind::Codex => "codex",
            LeftKind::Command => "command",
        };
        json!({ "pid": process.pid, "kind": kind, "command": redact(&process.command) })
    };
    processes.iter().map(object).collect()
}
