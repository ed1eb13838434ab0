//! Imports tasks of the old bridge: finished as they were recorded, or lost. They keep their names and times. All
//! texts are redacted by the caller's function before they are stored, because the bridge stored secrets in clear
//! text.
//!
//! The threads were ephemeral and ended with the bridge, so that none is kept. No notification is sent about old ends.

use talaria_core::event::Usage;
use talaria_core::ids::SessionId;
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::request::Who;
use talaria_core::transcript::Message;
use talaria_store::{
    ImportResult, ImportedFrom, ImportedSession, NewSessionRow, NewTaskRow, SessionKind, Store, StoreError,
};

use super::BridgeTask;
use crate::convert::{self, TurnTimes};

/// Where imported tasks come from, as their rows say.
const ORIGIN: &str = "codex-bridge";
/// How many tasks are written in one transaction.
const STEP: usize = 100;
/// How many characters of a prompt are a title.
const TITLE: usize = 80;

/// Result of the tasks of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedTasks {
    /// How many are new here.
    pub new: usize,
    /// How many of these had not ended, and are lost.
    pub lost: usize,
    /// How many were imported before; they stay as they are.
    pub known: usize,
    /// Names that could not be used: they are no names of tasks, or another session has them.
    pub refused: Vec<String>,
}

/// Imports tasks of the old bridge, those that are not here yet. `owner` is their new owner, `now` the latest time
/// that any of them can have. After an interruption imported tasks are kept, and the next call continues.
pub async fn import(
    store: &Store,
    tasks: Vec<BridgeTask>,
    owner: &str,
    now: i64,
    mut new_id: impl FnMut() -> SessionId + Send,
    redact: impl Fn(&str) -> String + Send,
) -> Result<ImportedTasks, StoreError> {
    let mut imported = ImportedTasks::default();
    let mut ready = Vec::new();
    for task in tasks {
        if is_name(&task.id) {
            ready.push(prepare(task, new_id(), owner, now, &redact)?);
        } else {
            imported.refused.push(redact(&task.id));
        }
    }
    while !ready.is_empty() {
        let step: Vec<ImportedSession> = ready.drain(..ready.len().min(STEP)).collect();
        let is_lost: Vec<bool> = step.iter().map(is_lost).collect();
        for (result, is_lost) in store.import_sessions(step).await?.into_iter().zip(is_lost) {
            match result {
                ImportResult::New(_) | ImportResult::Grown(_) => {
                    imported.new += 1;
                    imported.lost += usize::from(is_lost);
                }
                ImportResult::Known => imported.known += 1,
                ImportResult::NameTaken(name) => imported.refused.push(name),
            }
        }
    }
    Ok(imported)
}

fn is_lost(task: &ImportedSession) -> bool {
    task.turns.iter().any(|turn| turn.outcome_kind == "lost")
}

/// Returns whether a session can be found by this name (see `find_session`).
fn is_name(id: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=64).contains(&id.len()) && id.bytes().all(is_part)
}

fn prepare(
    task: BridgeTask,
    id: SessionId,
    owner: &str,
    now: i64,
    redact: &impl Fn(&str) -> String,
) -> Result<ImportedSession, StoreError> {
    let clean = |text: &Option<String>| text.as_deref().map(redact).filter(|text| !text.trim().is_empty());
    let prompt = clean(&task.prompt).unwrap_or_default();
    let mut said: Vec<String> = task.said.iter().map(|words| redact(words)).collect();
    // The summary is the end of the turn as JSON, cut somewhere; words of it would be the answer.
    if said.is_empty() {
        said.extend(clean(&task.final_summary).filter(|summary| !summary.trim_start().starts_with('{')));
    }
    let outcome = match task.status.as_str() {
        "completed" => Outcome::Completed,
        "failed" => Outcome::Failed {
            code: FailureCode::Other,
            message: clean(&task.error).unwrap_or_else(|| "the old bridge kept no reason".to_owned()),
        },
        "cancelled" => Outcome::Interrupted { by: Who::User },
        status => Outcome::Lost { why: left_note(&redact(status), task.open_requests) },
    };
    let report = Report::new(outcome, said.last().cloned(), Usage::default(), 0);
    let in_time = |time: Option<i64>| time.map(|time| time.clamp(0, now));
    let created_at = in_time(task.created_at).or(in_time(task.updated_at)).unwrap_or(now);
    let updated_at = in_time(task.updated_at).unwrap_or(created_at).max(created_at);
    let settled_at = in_time(task.completed_at).unwrap_or(updated_at).max(created_at);
    let task_row = NewTaskRow {
        owner: owner.to_owned(),
        worktree: None,
        notify: clean(&task.notify).into_iter().collect(),
        origin: Some(ORIGIN.to_owned()),
        delegation: None,
    };
    let said = said.into_iter().map(Message::assistant);
    let messages = (!prompt.is_empty()).then(|| Message::user(prompt.as_str())).into_iter().chain(said);
    let messages = messages.enumerate().map(|(number, message)| {
        let text = message.content.clone().unwrap_or_default();
        convert::message(format!("imported/{number}"), &message, text, settled_at)
    });
    let messages = messages.collect::<Result<Vec<_>, _>>()?;
    let times = TurnTimes { began: created_at, ended: settled_at };
    let turn = convert::turn(id.to_string(), prompt.clone(), &report, times, messages)?;
    let session = NewSessionRow {
        id,
        kind: SessionKind::Task,
        alias: Some(task.id),
        title: prompt.lines().next().map(|line| line.chars().take(TITLE).collect()),
        cwd: clean(&task.cwd).unwrap_or_else(|| "/".to_owned()),
        runtime: "codex_app_server".to_owned(),
        model: clean(&task.model),
        asked: None,
        settings: None,
        task: Some(task_row),
        first_turn: None,
        created_at,
        audit: None,
    };
    Ok(ImportedSession { session, from: ImportedFrom::Task, turns: vec![turn], updated_at })
}

fn left_note(status: &str, open_requests: usize) -> String {
    let status: String = status.chars().take(40).collect();
    match open_requests {
        0 => format!("the old bridge left it {status}"),
        open => format!("the old bridge left it {status} ({open} without an answer)"),
    }
}
