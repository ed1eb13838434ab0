//! Tasks: the additional data of a session of the kind `task`. The status of a task is derived from its turns and
//! requests and never stored. The list of tasks is in `task_list`.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::task::{NewTaskRow, TaskRow};
use crate::sqlite::SqliteStore;
use crate::sqlite::rows::{self, FromRow};

impl FromRow for TaskRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let notify: &str = row.try_get("notify")?;
        Ok(Self {
            session: SessionId::new(row.try_get::<String, _>("session")?),
            owner: row.try_get("owner")?,
            worktree: row.try_get("worktree")?,
            notify: serde_json::from_str(notify)
                .map_err(|error| StoreError::Unreadable(format!("targets of a task: {error}")))?,
            origin: row.try_get("origin")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn task(&self, session: &SessionId) -> Result<Option<TaskRow>, StoreError> {
        let found = sqlx::query("select * from task where session = $1")
            .bind(session.as_str())
            .fetch_optional(self.readers())
            .await?;
        rows::one(found.as_ref())
    }
}

/// Inserts a new task, after its session.
pub(crate) async fn insert(
    conn: &mut SqliteConnection,
    session: &SessionId,
    task: NewTaskRow,
) -> Result<(), StoreError> {
    sqlx::query("insert into task (session, owner, worktree, notify, origin) values ($1, $2, $3, $4, $5)")
        .bind(session.as_str())
        .bind(task.owner)
        .bind(task.worktree)
        .bind(serde_json::json!(task.notify).to_string())
        .bind(task.origin)
        .execute(conn)
        .await?;
    Ok(())
}

/// Changes where a task works.
pub(crate) async fn set_worktree(
    conn: &mut SqliteConnection,
    session: &SessionId,
    worktree: Option<String>,
) -> Result<(), StoreError> {
    let update = sqlx::query("update task set worktree = $2 where session = $1");
    let done = update.bind(session.as_str()).bind(worktree).execute(conn).await?;
    require_task(session, done.rows_affected())
}

/// Changes the notification targets.
pub(crate) async fn set_notify(
    conn: &mut SqliteConnection,
    session: &SessionId,
    notify: &[String],
) -> Result<(), StoreError> {
    let update = sqlx::query("update task set notify = $2 where session = $1");
    let notify = serde_json::json!(notify).to_string();
    let done = update.bind(session.as_str()).bind(notify).execute(conn).await?;
    require_task(session, done.rows_affected())
}

fn require_task(session: &SessionId, changed: u64) -> Result<(), StoreError> {
    match changed {
        0 => Err(StoreError::Conflict(format!("the session {session} is no task"))),
        _ => Ok(()),
    }
}
