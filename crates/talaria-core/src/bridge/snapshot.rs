//! A task as models see it: the names of the reference where it has the fact, in a size that fits a context.
//!
//! Omissions are always reported. Times are written as RFC 3339.

use serde_json::{Map, Value, json};

use super::respond;
use super::step::short;
use crate::api::{NoticeInfo, RequestInfo, TaskInfo, TaskLine, TaskStatus};
use crate::request::{Ask, Decision};
use crate::transcript::cap;

/// Maximum length of an answer in a snapshot; `result` has more.
const ANSWER: usize = 16 * 1024;
/// How much of an answer `result` returns.
const WHOLE_ANSWER: usize = 256 * 1024;
/// How many files and commands are named.
const NAMED: usize = 50;
/// How many of the last events a snapshot has.
const EVENTS: usize = 20;
/// How much of one text inside a question a snapshot has.
const QUESTION: usize = 8 * 1024;

/// The template of the resources.
pub const TRANSCRIPT_TEMPLATE: &str = "talaria://tasks/{id}/transcript";
const BEFORE_ID: &str = "talaria://tasks/";
const AFTER_ID: &str = "/transcript";

/// The address of a task's transcript.
pub fn transcript_uri(task: &str) -> String {
    format!("{BEFORE_ID}{task}{AFTER_ID}")
}

/// The task whose transcript is at this address.
pub fn transcript_of(uri: &str) -> Option<&str> {
    let task = uri.strip_prefix(BEFORE_ID)?.strip_suffix(AFTER_ID)?;
    let is_id = task.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (!task.is_empty() && is_id).then_some(task)
}

/// Everything about a task.
pub(super) fn snapshot(task: &TaskInfo) -> Map<String, Value> {
    let mut map = outline(task);
    let is_active = matches!(
        task.status,
        TaskStatus::Starting
            | TaskStatus::Working
            | TaskStatus::WaitingForApproval
            | TaskStatus::WaitingForUserInput
    );
    let events = &task.events[task.events.len().saturating_sub(EVENTS)..];
    let events: Vec<Value> = events
        .iter()
        .map(|event| json!({ "seq": event.seq, "at": event.at, "type": event.kind, "summary": event.text }))
        .collect();
    map.extend(named([
        ("cwd", task.cwd.as_str().into()),
        ("model", task.model.as_deref().into()),
        ("sandbox", json!(task.sandbox)),
        ("approval_policy", json!(task.approval)),
        // One that waits for the end of another has not been.
        ("turns", task.turns.saturating_sub(i64::try_from(task.queued.len()).unwrap_or(i64::MAX)).into()),
        ("turns_queued", json!(Some(task.queued.len()).filter(|&count| count > 0))),
        ("tasks_ahead", json!(task.ahead)),
        ("last_progress_summary", task.events.last().map(|event| event.text.as_str()).into()),
        ("recent_events", events.into()),
        ("notifications", task.notices.iter().map(notice).collect()),
        ("active_connection", is_active.into()),
        ("transcript", transcript_uri(&task.id).into()),
        ("origin", task.origin.as_deref().into()),
    ]));
    map.extend(work(task, ANSWER));
    map.retain(|_, value| !value.is_null());
    map
}

/// Result of a task: the answer and the changes.
pub(super) fn result(task: &TaskInfo) -> Map<String, Value> {
    let mut map = outline(task);
    map.extend(work(task, WHOLE_ANSWER));
    map.retain(|_, value| !value.is_null());
    map
}

/// One task of a list.
pub(super) fn line(task: &TaskLine) -> Value {
    json!({
        "task_id": task.id,
        "status": task.status,
        "prompt_summary": short(&task.title),
        "cwd": task.cwd,
        "open_requests": task.open_requests,
        "created_at": task.created_at,
        "updated_at": task.updated_at,
        "completed_at": task.completed_at,
    })
}

fn outline(task: &TaskInfo) -> Map<String, Value> {
    let error = task.outcome.as_ref().and_then(|report| report.message.as_deref()).map(short);
    let hint = task.outcome.as_ref().and_then(|report| report.hint.as_deref());
    named([
        ("task_id", task.id.as_str().into()),
        ("hermes_task_id", task.id.as_str().into()),
        ("session_id", task.session.as_str().into()),
        ("status", json!(task.status)),
        ("prompt_summary", short(&task.title).into()),
        ("error_summary", error.into()),
        ("error_code", json!(task.outcome.as_ref().and_then(|report| report.code))),
        ("error_hint", hint.into()),
        ("pending_requests", task.requests.iter().map(pending).collect()),
        ("created_at", json!(task.created_at)),
        ("updated_at", json!(task.updated_at)),
        ("completed_at", json!(task.completed_at)),
    ])
}

fn work(task: &TaskInfo, limit: usize) -> Map<String, Value> {
    let answer = task.answer.as_deref().map(|answer| cap(answer, limit));
    let left_out = task.answer.as_ref().map(|answer| answer.len().saturating_sub(limit)).filter(|&n| n > 0);
    let changes = task.worktree.as_ref().and_then(|worktree| worktree.changes.as_ref());
    let more = |all: &[String]| all.len().checked_sub(NAMED).filter(|&n| n > 0);
    named([
        ("answer", answer.as_deref().into()),
        ("answer_bytes_left_out", json!(left_out)),
        ("files", json!(&task.files[..task.files.len().min(NAMED)])),
        ("files_left_out", json!(more(&task.files))),
        ("commands", task.commands.iter().take(NAMED).map(|command| short(command)).collect()),
        ("commands_left_out", json!(more(&task.commands))),
        ("diff_stat", changes.map(crate::api::Changes::stat).into()),
        ("uncommitted_changes", json!(changes.map(|changes| changes.uncommitted))),
        ("branch", task.worktree.as_ref().map(|worktree| worktree.branch.as_str()).into()),
        ("worktree", task.worktree.as_ref().map(|worktree| worktree.path.as_str()).into()),
        ("worktree_problem", task.worktree.as_ref().and_then(|worktree| worktree.problem.as_deref()).into()),
        ("usage", json!(task.usage)),
    ])
}

/// A request, with how the person answers it.
pub(super) fn pending(request: &RequestInfo) -> Value {
    let choices: Vec<&str> = request.choices.iter().filter_map(|choice| respond::word(*choice)).collect();
    let mut map = named([
        ("request_id", request.id.as_str().into()),
        ("task_id", request.task.as_deref().into()),
        ("kind", request.kind.as_str().into()),
        ("summary", short(&request.summary).into()),
        ("asked_at", json!(request.since)),
        ("place", json!(request.place)),
        ("choices", json!(choices)),
        ("details", details(request.ask.as_ref())),
        ("for", "the person".into()),
        ("how", how(request).into()),
    ]);
    map.retain(|_, value| !value.is_null());
    map.into()
}

fn how(request: &RequestInfo) -> String {
    let id = &request.id;
    match &request.ask {
        Some(Ask::Input { .. } | Ask::Elicitation { .. }) => format!(
            "the person runs `talaria requests answer {id} accept` in a terminal and is asked the questions; or \
             `talaria requests answer {id} decline`"
        ),
        _ if request.choices.contains(&Decision::AcceptForSession) => format!(
            "the person runs `talaria requests answer {id} accept` in a terminal (or accept-for-session, decline, cancel)"
        ),
        _ => format!(
            "the person runs `talaria requests answer {id} accept` in a terminal (or decline, cancel)"
        ),
    }
}

/// The whole question, in a bounded size. Its origin inside Codex is meaningless to a model.
fn details(ask: Option<&Ask>) -> Value {
    let mut details = serde_json::to_value(ask).unwrap_or_default();
    if let Some(map) = details.as_object_mut() {
        map.retain(|name, value| {
            !value.is_null() && !["kind", "thread", "item", "approval"].contains(&name.as_str())
        });
    }
    shorten(&mut details);
    details
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > QUESTION => *text = cap(text, QUESTION).into_owned(),
        Value::Array(all) => all.iter_mut().for_each(shorten),
        Value::Object(map) => map.values_mut().for_each(shorten),
        _ => {}
    }
}

/// A notification and its state.
pub(super) fn notice(notice: &NoticeInfo) -> Value {
    let mut map = named([
        ("task_id", notice.task.as_str().into()),
        ("about", notice.kind.as_str().into()),
        ("notify_target", notice.target.as_deref().into()),
        ("notification_status", json!(notice.state)),
        ("attempts", notice.attempts.into()),
        ("notification_error", notice.error.as_deref().map(short).into()),
        ("notified_at", json!(notice.sent_at)),
        ("may_be_a_repeat", json!(notice.repeat.then_some(true))),
        ("message", notice.message.as_deref().map(|text| cap(text, ANSWER)).as_deref().into()),
    ]);
    map.retain(|_, value| !value.is_null());
    map.into()
}

fn named<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
