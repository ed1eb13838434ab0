//! Writing tasks of the old bridge down as ours: finished as they were recorded, or lost. They keep their names and
//! their times. Everything they say is redacted by the caller's function before it is kept, because the bridge kept
//! secrets as they came.
//!
//! The threads are gone with the bridge (they were ephemeral), so that none is kept. Nobody is told of old ends.

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;
use talaria_core::event::{Event, Stage, Usage};
use talaria_core::ids::SessionId;
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::request::Who;
use talaria_core::transcript::Message;

use super::LegacyTask;
use crate::error::StoreError;
use crate::session::{self, NewSession};
use crate::store::Store;
use crate::task::NewTask;
use crate::words::{SessionKind, Word as _};

/// Where imported tasks come from, as their rows say.
const ORIGIN: &str = "codex-bridge";
/// How many tasks are written in one transaction.
const STEP: usize = 100;
/// How many characters of a prompt are a title.
const TITLE: usize = 80;

/// What became of the tasks of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Those that are new here.
    pub new: Vec<SessionId>,
    /// How many were imported before; they stay as they are.
    pub known: usize,
    /// Names that could not be taken over: they are no names of tasks, or something else has them.
    pub refused: Vec<String>,
}

/// A task as it will be kept.
struct Ready {
    session: NewSession,
    report: Report,
    prompt: String,
    messages: Vec<Message>,
    updated_at: i64,
    settled_at: i64,
}

enum Written {
    New(SessionId),
    Known,
    Taken(String),
}

impl Store {
    /// Keeps tasks of the old bridge, those that are not here yet. `owner` is who they belong to from now on, `now` the
    /// latest time that any of them can have. If it is broken off, what was imported stays, and the next call goes on.
    pub async fn import(
        &self,
        tasks: Vec<LegacyTask>,
        owner: &str,
        now: i64,
        mut new_id: impl FnMut() -> SessionId + Send,
        redact: impl Fn(&str) -> String + Send,
    ) -> Result<Imported, StoreError> {
        let mut imported = Imported::default();
        let mut ready = Vec::new();
        for task in tasks {
            if is_name(&task.id) {
                ready.push(prepare(task, new_id(), owner, now, &redact));
            } else {
                imported.refused.push(redact(&task.id));
            }
        }
        while !ready.is_empty() {
            let step: Vec<Ready> = ready.drain(..ready.len().min(STEP)).collect();
            let written = self.write(move |conn| {
                Box::pin(async move {
                    let mut written = Vec::with_capacity(step.len());
                    for ready in step {
                        written.push(write(conn, ready).await?);
                    }
                    Ok(written)
                })
            });
            for written in written.await? {
                match written {
                    Written::New(id) => imported.new.push(id),
                    Written::Known => imported.known += 1,
                    Written::Taken(name) => imported.refused.push(name),
                }
            }
        }
        Ok(imported)
    }
}

/// Can it be found by this name? (`find_session` says by which.)
fn is_name(id: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=64).contains(&id.len()) && id.bytes().all(is_part)
}

fn prepare(
    task: LegacyTask,
    id: SessionId,
    owner: &str,
    now: i64,
    redact: &impl Fn(&str) -> String,
) -> Ready {
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
        status => Outcome::Lost { why: left(&redact(status), task.open_requests) },
    };
    let report = Report::new(outcome, said.last().cloned(), Usage::default(), 0);
    let in_time = |time: Option<i64>| time.map(|time| time.clamp(0, now));
    let created_at = in_time(task.created_at).or(in_time(task.updated_at)).unwrap_or(now);
    let updated_at = in_time(task.updated_at).unwrap_or(created_at).max(created_at);
    let settled_at = in_time(task.completed_at).unwrap_or(updated_at).max(created_at);
    let messages = (!prompt.is_empty()).then(|| Message::user(prompt.as_str())).into_iter();
    let messages = messages.chain(said.into_iter().map(Message::assistant)).collect();
    let task_row = NewTask {
        owner: owner.to_owned(),
        worktree: None,
        notify: clean(&task.notify).into_iter().collect(),
        origin: Some(ORIGIN.to_owned()),
    };
    let session = NewSession {
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
    Ready { session, report, prompt, messages, updated_at, settled_at }
}

fn left(status: &str, open_requests: usize) -> String {
    let status: String = status.chars().take(40).collect();
    match open_requests {
        0 => format!("the old bridge left it {status}"),
        open => format!("the old bridge left it {status} ({open} without an answer)"),
    }
}

async fn write(conn: &mut SqliteConnection, ready: Ready) -> Result<Written, StoreError> {
    let alias = ready.session.alias.clone().unwrap_or_default();
    let found = sqlx::query(
        "select task.origin from session left join task on task.session = session.id where session.alias = $1",
    )
    .bind(alias.as_str())
    .fetch_optional(&mut *conn)
    .await?;
    match found.map(|row| row.try_get::<Option<String>, _>("origin")).transpose()? {
        Some(Some(origin)) if origin == ORIGIN => return Ok(Written::Known),
        Some(_) => return Ok(Written::Taken(alias)),
        None => {}
    }
    let id = ready.session.id.clone();
    let created_at = ready.session.created_at;
    session::insert(conn, ready.session).await?;
    insert_turn(conn, &id, created_at, ready.settled_at, &ready.prompt, &ready.report).await?;
    let mut bytes = 0;
    for (number, message) in ready.messages.iter().enumerate() {
        bytes += insert_message(conn, &id, ready.settled_at, number, message).await?;
    }
    let event = json(&Event::Outcome(Box::new(ready.report)))?;
    bytes += event.len();
    sqlx::query(
        "insert into event (session, seq, turn, at, kind, json) values ($1, 1, 1, $2, 'outcome', $3);
         update session set last_seq = 1, first_at = $2, updated_at = $4, bytes = $5 where id = $1",
    )
    .bind(id.as_str())
    .bind(ready.settled_at)
    .bind(event)
    .bind(ready.updated_at)
    .bind(i64::try_from(bytes).unwrap_or(i64::MAX))
    .execute(conn)
    .await?;
    Ok(Written::New(id))
}

async fn insert_turn(
    conn: &mut SqliteConnection,
    id: &SessionId,
    created_at: i64,
    settled_at: i64,
    prompt: &str,
    report: &Report,
) -> Result<(), StoreError> {
    sqlx::query(
        "insert into turn (session, ordinal, stage, client_id, input_text, ours, outcome, outcome_kind, code, usage,
                           first_seq, created_at, settled_at)
         values ($1, 1, $2, $1, $3, 0, $4, $5, $6, $7, 1, $8, $9)",
    )
    .bind(id.as_str())
    .bind(Stage::Settled.word())
    .bind(prompt)
    .bind(json(report)?)
    .bind(report.outcome.word())
    .bind(report.code.map(|code| code.to_string()))
    .bind(json(&report.usage)?)
    .bind(created_at)
    .bind(settled_at)
    .execute(conn)
    .await?;
    Ok(())
}

/// Keeps a message; gives about how many bytes it is.
async fn insert_message(
    conn: &mut SqliteConnection,
    id: &SessionId,
    at: i64,
    number: usize,
    message: &Message,
) -> Result<usize, StoreError> {
    let role = serde_json::to_value(message.role).map_err(|error| StoreError::Refused(error.to_string()))?;
    let role = role.as_str().unwrap_or_default().to_owned();
    // SQLite's functions, and with them the search, stop at a zero byte.
    let text = message.content.as_deref().unwrap_or_default().replace('\0', "\u{fffd}");
    let json = json(message)?;
    let bytes = text.len() + json.len();
    sqlx::query(
        "insert into message (session, key, turn, seq, role, text, json, at) values ($1, $2, 1, 1, $3, $4, $5, $6)",
    )
    .bind(id.as_str())
    .bind(format!("1/{role}/imported/{number}"))
    .bind(role)
    .bind(text)
    .bind(json)
    .bind(at)
    .execute(conn)
    .await?;
    Ok(bytes)
}

fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Refused(error.to_string()))
}
