//! Reading a database of the old bridge. Nothing in the file is trusted to have the type or the columns it should have.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection as _};
use talaria_store::StoreError;

use super::BridgeTask;
use crate::database::{SourceDatabase, column_or_null, columns, text, time};
use crate::error::{DatabaseError, SourceProgram};

const TASKS: &str = "codex_bridge_tasks";
const EVENTS: &str = "codex_bridge_events";
const REQUESTS: &str = "codex_bridge_pending_requests";

/// Reads all tasks of a database of the old bridge, oldest first. The file is not changed.
pub async fn read(path: &Path) -> Result<Vec<BridgeTask>, DatabaseError> {
    let database = SourceDatabase { path, program: SourceProgram::Bridge };
    let mut conn = database.open().await?;
    let found = read_all(&mut conn).await;
    let _ = conn.close().await;
    match found {
        Ok(Some(tasks)) => Ok(tasks),
        Ok(None) => Err(database.foreign("it has no table of tasks")),
        Err(error) => Err(database.failed(error)),
    }
}

async fn read_all(conn: &mut SqliteConnection) -> Result<Option<Vec<BridgeTask>>, StoreError> {
    let columns = columns(conn, TASKS).await?;
    if !columns.contains("hermes_task_id") || !columns.contains("status") {
        return Ok(None);
    }
    let mut said = read_answers(conn).await?;
    let mut open = open_requests(conn).await?;
    let texts = [
        "hermes_task_id",
        "status",
        "prompt_summary",
        "cwd",
        "model",
        "final_summary",
        "error_summary",
        "notify_target",
    ];
    let times = ["created_at", "updated_at", "completed_at"];
    let texts = texts.map(|name| column_or_null(&columns, name, "blob"));
    let times = times.map(|name| column_or_null(&columns, name, "real"));
    let select = format!("select {}, {} from {TASKS} order by rowid", texts.join(", "), times.join(", "));
    // The names are ours.
    let found = sqlx::query(AssertSqlSafe(select)).fetch_all(conn).await?;
    let mut tasks = Vec::with_capacity(found.len());
    for row in &found {
        let (Some(id), Some(status)) = (text(row, "hermes_task_id")?, text(row, "status")?) else { continue };
        tasks.push(BridgeTask {
            status,
            prompt: text(row, "prompt_summary")?,
            cwd: text(row, "cwd")?,
            model: text(row, "model")?,
            final_summary: text(row, "final_summary")?,
            error: text(row, "error_summary")?,
            notify: text(row, "notify_target")?,
            created_at: time(row, "created_at")?,
            updated_at: time(row, "updated_at")?,
            completed_at: time(row, "completed_at")?,
            said: said.remove(&id).unwrap_or_default(),
            open_requests: open.remove(&id).unwrap_or_default(),
            id,
        });
    }
    Ok(Some(tasks))
}

/// The model's messages of each task: only the events contain them.
async fn read_answers(conn: &mut SqliteConnection) -> Result<BTreeMap<String, Vec<String>>, StoreError> {
    let columns = columns(conn, EVENTS).await?;
    let mut said: BTreeMap<String, Vec<String>> = BTreeMap::new();
    if !["hermes_task_id", "source_event_type", "payload_json"].iter().all(|name| columns.contains(*name)) {
        return Ok(said);
    }
    let found = sqlx::query(
        "select cast(hermes_task_id as blob) as task, cast(payload_json as blob) as payload
         from codex_bridge_events
         where source_event_type = 'item/completed' and instr(payload_json, 'agentMessage') > 0
         order by rowid",
    )
    .fetch_all(conn)
    .await?;
    for row in &found {
        let (Some(task), Some(payload)) = (text(row, "task")?, text(row, "payload")?) else { continue };
        if let Some(words) = words_of(&payload) {
            said.entry(task).or_default().push(words);
        }
    }
    Ok(said)
}

/// The text of an agent's message. The payload is that of the notification, or the notification itself.
fn words_of(payload: &str) -> Option<String> {
    let payload: Value = serde_json::from_str(payload).ok()?;
    let item = payload.get("item").or_else(|| payload.get("params")?.get("item"))?;
    let is_message = item.get("type").and_then(Value::as_str) == Some("agentMessage");
    let words = item.get("text").and_then(Value::as_str).filter(|words| !words.trim().is_empty());
    words.filter(|_| is_message).map(str::to_owned)
}

async fn open_requests(conn: &mut SqliteConnection) -> Result<BTreeMap<String, usize>, StoreError> {
    let columns = columns(conn, REQUESTS).await?;
    let mut open = BTreeMap::new();
    if !["hermes_task_id", "status"].iter().all(|name| columns.contains(*name)) {
        return Ok(open);
    }
    let found = sqlx::query(
        "select cast(hermes_task_id as blob) as task from codex_bridge_pending_requests where status = 'pending'",
    )
    .fetch_all(conn)
    .await?;
    for row in &found {
        if let Some(task) = text(row, "task")? {
            *open.entry(task).or_default() += 1;
        }
    }
    Ok(open)
}
