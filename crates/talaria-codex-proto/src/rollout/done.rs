//! Steps that the file has as such: 0.166 writes each when it completes, both write patches with their changes.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::wire::item::{WireBody, WireChange, WireChangeKind, WireItem, WireSource, WireStatus};
use talaria_core::ids::ItemId;
use talaria_core::request::shell_words;

/// Reads a message of the model.
pub(super) fn message(payload: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Wire {
        message: String,
    }
    serde_json::from_str::<Wire>(payload).ok().map(|wire| wire.message)
}

/// Reads the end of a patch.
pub(super) fn patch(payload: &str) -> Option<WireItem> {
    #[derive(Deserialize)]
    struct Wire {
        call_id: ItemId,
        changes: BTreeMap<String, Change>,
        status: WireStatus,
    }
    let Wire { call_id, changes, status } = serde_json::from_str(payload).ok()?;
    Some(file_change(call_id, changes, status))
}

/// Reads a step that completed. Kinds that the thread itself reports well enough are passed over.
pub(super) fn item(payload: &str) -> Option<WireItem> {
    #[derive(Deserialize)]
    struct Wire {
        item: Item,
    }
    #[derive(Deserialize)]
    #[serde(tag = "type")]
    enum Item {
        AgentMessage {
            id: ItemId,
            content: Vec<Text>,
            #[serde(default)]
            phase: Option<String>,
        },
        CommandExecution {
            id: ItemId,
            command: Vec<String>,
            cwd: String,
            status: WireStatus,
            #[serde(default)]
            aggregated_output: Option<String>,
            #[serde(default)]
            exit_code: Option<i32>,
        },
        FileChange {
            id: ItemId,
            changes: BTreeMap<String, Change>,
            status: WireStatus,
        },
    }
    #[derive(Deserialize)]
    struct Text {
        #[serde(default)]
        text: String,
    }
    Some(match serde_json::from_str::<Wire>(payload).ok()?.item {
        Item::AgentMessage { id, content, phase } => {
            let text = content.into_iter().map(|part| part.text).collect();
            WireItem { id, body: WireBody::AgentMessage { text, phase, questions: Vec::new() } }
        }
        Item::CommandExecution { id, command, cwd, status, aggregated_output, exit_code } => WireItem {
            id,
            body: WireBody::CommandExecution {
                command: shell_words(&command),
                cwd: cwd.strip_prefix("file://").map(str::to_owned).unwrap_or(cwd),
                source: WireSource::Agent,
                status,
                aggregated_output: aggregated_output.filter(|output| !output.is_empty()),
                exit_code,
                duration_ms: None,
            },
        },
        Item::FileChange { id, changes, status } => file_change(id, changes, status),
    })
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Change {
    Add {
        content: String,
    },
    Delete {
        content: String,
    },
    Update {
        unified_diff: String,
        #[serde(default)]
        move_path: Option<String>,
    },
}

fn file_change(id: ItemId, changes: BTreeMap<String, Change>, status: WireStatus) -> WireItem {
    let change = |(path, change)| {
        let (kind, diff) = match change {
            Change::Add { content } => (WireChangeKind::Add, content),
            Change::Delete { content } => (WireChangeKind::Delete, content),
            Change::Update { unified_diff, move_path } => {
                (WireChangeKind::Update { move_path }, unified_diff)
            }
        };
        WireChange { path, kind, diff }
    };
    let changes = changes.into_iter().map(change).collect();
    WireItem { id, body: WireBody::FileChange { changes, status } }
}
