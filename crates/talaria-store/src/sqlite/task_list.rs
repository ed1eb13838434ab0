//! The list of tasks, newest first, page by page: all that a list shows, out of one query.
//!
//! `task_line` has the precomputed rows of the list. Triggers (`schema/0002.sql`) update it in the transaction of
//! each change, so that no writer can forget it; nothing else may write there. `benches/store` measures the list.

use serde::Deserialize;
use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;
use talaria_core::event::Stage;
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::session::Cursor;
use crate::model::task::{LastTurn, TaskFilter, TaskLineRow, TaskPage};
use crate::sqlite::SqliteStore;

/// How many lines are read at a time: texts of this size stay in the processor's cache.
const STEP: i64 = 500;

/// A stored row of the list, from the view `task_shown`.
#[derive(Deserialize)]
struct Written {
    updated_at: i64,
    id: SessionId,
    alias: Option<String>,
    title: Option<String>,
    cwd: String,
    created_at: i64,
    owner: String,
    worktree: Option<String>,
    ordinal: Option<i64>,
    stage: Option<Stage>,
    outcome_kind: Option<String>,
    code: Option<String>,
    interrupted_by: Option<String>,
    prepared_at: Option<i64>,
    settled_at: Option<i64>,
    open_requests: i64,
    open_inputs: i64,
}

impl From<Written> for TaskLineRow {
    fn from(line: Written) -> Self {
        let Written { outcome_kind, code, interrupted_by, settled_at, .. } = line;
        let turn = match (line.ordinal, line.stage, line.prepared_at) {
            (Some(ordinal), Some(stage), Some(created_at)) => {
                Some(LastTurn { ordinal, stage, outcome_kind, code, interrupted_by, created_at, settled_at })
            }
            _ => None,
        };
        Self {
            id: line.id,
            alias: line.alias,
            title: line.title,
            cwd: line.cwd,
            created_at: line.created_at,
            updated_at: line.updated_at,
            owner: line.owner,
            worktree: line.worktree,
            turn,
            open_requests: line.open_requests,
            wants_input: line.open_inputs > 0,
        }
    }
}

impl SqliteStore {
    pub(crate) async fn tasks(
        &self,
        filter: &TaskFilter,
        after: Option<&Cursor>,
        limit: u32,
    ) -> Result<TaskPage, StoreError> {
        // One transaction, so that a task that changes meanwhile is neither missed nor listed twice.
        let mut reading = self.readers().begin().await?;
        let mut tasks: Vec<TaskLineRow> = Vec::new();
        let mut after = after.cloned();
        loop {
            let left = i64::from(limit) - i64::try_from(tasks.len()).unwrap_or(i64::MAX);
            let step = left.min(STEP);
            let mut some = read_some(&mut reading, filter, after.as_ref(), step).await?;
            let is_last = i64::try_from(some.len()).is_ok_and(|count| count < step) || left <= step;
            after = some.last().map(TaskLineRow::cursor);
            tasks.append(&mut some);
            if is_last {
                break;
            }
        }
        reading.commit().await?;
        let is_full = tasks.len() == usize::try_from(limit).unwrap_or(usize::MAX);
        let last = tasks.last().filter(|_| is_full);
        let next = last.map(TaskLineRow::cursor);
        Ok(TaskPage { tasks, next })
    }
}

/// Reads some lines as one text: handing over a row takes longer than finding it.
async fn read_some(
    conn: &mut SqliteConnection,
    filter: &TaskFilter,
    after: Option<&Cursor>,
    limit: i64,
) -> Result<Vec<TaskLineRow>, StoreError> {
    let found = sqlx::query(
        "select coalesce(group_concat(line, char(10)), '') as lines
         from (select line from task_line
               where ($1 is null or owner = $1) and ($2 is null or active = $2)
                 and (updated_at, session) < ($3, $4)
               order by updated_at desc, session desc limit $5)",
    )
    .bind(filter.owner.as_deref())
    .bind(filter.active)
    .bind(after.map_or(i64::MAX, |cursor| cursor.updated_at))
    .bind(after.map_or("~", |cursor| cursor.id.as_str()))
    .bind(limit)
    .fetch_one(conn)
    .await?;
    let lines = serde_json::Deserializer::from_str(found.try_get("lines")?).into_iter::<Written>();
    let mut tasks = lines
        .map(|line| line.map(TaskLineRow::from))
        .collect::<Result<Vec<TaskLineRow>, _>>()
        .map_err(|error| StoreError::Unreadable(format!("the list of tasks: {error}")))?;
    // An aggregate promises no order; as a rule there is nothing to do.
    tasks.sort_by(|a, b| (b.updated_at, &b.id).cmp(&(a.updated_at, &a.id)));
    Ok(tasks)
}
