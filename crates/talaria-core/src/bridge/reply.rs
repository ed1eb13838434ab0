//! The tool's response: one JSON object, safe to display anywhere.
//!
//! The shapes are those of the reference: `{success, message, task, protocol}`, `{success, tasks, count}`, and
//! `{success: false, error, hint}`.

use serde_json::{Map, Value, json};

use super::{Mistake, snapshot, step};
use crate::api::{
    Answered, NoticeInfo, NoticeState, Numbered, Problem, TaskInfo, TaskLine, TaskSent, TaskStarted,
    TaskStatus,
};
use talaria_guard::plain;

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The task has ended.
    Ended,
    /// The task needs a person.
    ForPerson,
    /// The time is over; the task has not ended.
    TimeOver,
}

/// The tool's response.
#[derive(Clone, Debug, PartialEq)]
pub struct BridgeReply {
    /// The object.
    pub value: Value,
    /// Was the call not done?
    pub is_error: bool,
}

impl BridgeReply {
    fn success(message: Option<String>, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        let mut map = Map::from_iter([("success".to_owned(), true.into())]);
        map.extend(message.map(|message| ("message".to_owned(), message.into())));
        map.extend(fields.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Self { value: harmless(map.into()), is_error: false }
    }

    fn failure(error: &str, hint: Option<&str>, code: Option<Value>) -> Self {
        let mut map =
            Map::from_iter([("success".to_owned(), false.into()), ("error".to_owned(), error.into())]);
        map.extend(hint.map(|hint| ("hint".to_owned(), hint.into())));
        map.extend(code.map(|code| ("code".to_owned(), code)));
        Self { value: harmless(map.into()), is_error: true }
    }

    /// A call that does not make sense.
    pub fn mistake(mistake: &Mistake) -> Self {
        Self::failure(&mistake.message, mistake.hint.as_deref(), Some("bad_request".into()))
    }

    /// A call that the engine did not do.
    pub fn problem(problem: &Problem) -> Self {
        Self::failure(&problem.message, problem.hint.as_deref(), serde_json::to_value(problem.code).ok())
    }

    /// A call that failed, with its reason.
    pub fn failed(error: &str, hint: Option<&str>) -> Self {
        Self::failure(error, hint, None)
    }

    /// A task was started.
    pub fn started(task: &TaskInfo) -> Self {
        let how = "`wait` with this task_id returns when it has ended or needs a person";
        Self::of_task(format!("{}; {how}", begun(&task.id, task.status)), task)
    }

    /// A task was started, and more is not known now.
    pub fn only_started(started: &TaskStarted) -> Self {
        let message = format!("{}; its current state is not known", begun(&started.id, started.status));
        let task = json!({ "task_id": started.id, "status": started.status, "cwd": started.cwd });
        Self::success(Some(message), [("task", task)])
    }

    /// The current state of a task.
    pub fn status(task: &TaskInfo) -> Self {
        Self::of_task(status_text(task), task)
    }

    /// A task got input, or was asked to stop.
    pub fn done(what: &str, task: &TaskInfo) -> Self {
        Self::of_task(format!("{what}; {}", status_text(task)), task)
    }

    /// A follow-up was taken.
    pub fn sent(sent: TaskSent, task: &TaskInfo) -> Self {
        let what = if sent.waits {
            "the follow-up waits until the turn that runs has ended"
        } else {
            "the follow-up is the next turn of the task"
        };
        Self::done(what, task)
    }

    /// A wait is over.
    pub fn waited(why: Waited, task: &TaskInfo) -> Self {
        let message = match why {
            Waited::Ended => status_text(task),
            Waited::ForPerson => format!(
                "{}: ask the person, who answers as `how` in pending_requests says; then `wait` again",
                status_text(task)
            ),
            Waited::TimeOver if task.status.is_waiting() => {
                format!("{}: the person has not answered yet; `wait` again", status_text(task))
            }
            Waited::TimeOver => format!("{}: it has not ended yet; `wait` again", status_text(task)),
        };
        Self::of_task(message, task)
    }

    fn of_task(message: String, task: &TaskInfo) -> Self {
        // How Talaria and Codex talk, for those who know the reference.
        let protocol = json!({ "transport": "app-server", "mailbox": false });
        Self::success(Some(message), [("task", snapshot::snapshot(task).into()), ("protocol", protocol)])
    }

    /// Result of a task.
    pub fn result(task: &TaskInfo) -> Self {
        let message = if task.status.is_terminal() {
            status_text(task)
        } else {
            format!("{}: this is not the final result; `wait` for it", status_text(task))
        };
        Self::success(Some(message), [("task", snapshot::result(task).into())])
    }

    /// Tasks.
    pub fn list(tasks: &[TaskLine]) -> Self {
        let lines: Vec<Value> = tasks.iter().map(snapshot::line).collect();
        Self::success(None, [("count", lines.len().into()), ("tasks", lines.into())])
    }

    /// What happened in a task. `last` is the number to continue after, if there may be more.
    pub fn events(task: &str, events: &[Numbered], last: Option<i64>) -> Self {
        let told = |event: &Numbered| {
            let summary = step(&event.event)?;
            let kind = serde_json::to_value(&event.event).ok()?.get("type").cloned();
            Some(json!({ "seq": event.seq, "at": event.at, "type": kind, "summary": summary }))
        };
        let events: Vec<Value> = events.iter().filter_map(told).collect();
        let more = last.map(|last| format!("there may be more: `events` with after: {last}"));
        let next = last.map(|last| ("next_after", last.into()));
        let fields = [("task_id", task.into()), ("count", events.len().into()), ("events", events.into())];
        Self::success(more, fields.into_iter().chain(next))
    }

    /// An answer was taken.
    pub fn answered(answered: &Answered, task: Option<&TaskInfo>) -> Self {
        let message = format!("{} is {}", answered.id, answered.decision);
        match task {
            Some(task) => Self::of_task(message, task),
            None => Self::success(Some(message), []),
        }
    }

    /// Notifications were sent, or would be.
    pub fn notified(notices: &[NoticeInfo], dry_run: bool) -> Self {
        let message = match (notices.len(), dry_run) {
            (0, _) => "no notifications are pending".to_owned(),
            (_, true) => {
                let count = notices.iter().filter(|notice| notice.target.is_some()).count();
                format!("{count} would be sent; nothing was sent or marked")
            }
            (_, false) => {
                let count = notices.iter().filter(|notice| notice.state == NoticeState::Sent).count();
                format!("{count} of {} sent", notices.len())
            }
        };
        let all: Vec<Value> = notices.iter().map(snapshot::notice).collect();
        let fields =
            [("dry_run", dry_run.into()), ("count", all.len().into()), ("notifications", all.into())];
        Self::success(Some(message), fields)
    }

    /// Says which parameters were left out because they do not go with the action.
    #[must_use]
    pub fn ignoring(mut self, names: &[&str]) -> Self {
        if let (Some(map), false) = (self.value.as_object_mut(), names.is_empty()) {
            map.insert("ignored".to_owned(), json!(names));
        }
        self
    }

    /// The object as text, as tools of the reference return it.
    pub fn text(&self) -> String {
        self.value.to_string()
    }
}

/// That a task was taken, in a sentence: one that waits for a place has not begun.
fn begun(id: &str, status: TaskStatus) -> String {
    match status {
        TaskStatus::Queued => format!("{id} is queued; it starts when another task has ended"),
        TaskStatus::WaitingForApproval => format!(
            "{id} waits for a person, who decides whether it may have what was asked for beyond its sandbox; it begins when they \
             accept, and ends if they decline"
        ),
        _ => format!("{id} was started in the background"),
    }
}

/// The state of a task, in a sentence.
fn status_text(task: &TaskInfo) -> String {
    format!("{} is {}", task.id, task.status.word())
}

/// Makes every text in a value harmless; tabs and ends of lines stay, because code has them.
pub(super) fn harmless(value: Value) -> Value {
    match value {
        Value::String(text) => plain::with_tabs(&text).into(),
        Value::Array(all) => all.into_iter().map(harmless).collect(),
        Value::Object(map) => {
            let clean =
                |(name, value): (String, Value)| (plain::with_tabs(&name).into_owned(), harmless(value));
            map.into_iter().map(clean).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}
