//! The list of tasks, newest first, page by page: all that a list shows, out of one query.
//!
//! Every part of the query is answered out of an index that holds all it wants (`schema/0002.sql`): a list must not
//! become slow because answers are long. `benches/store` measures it with 10,000 tasks.

use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _};
use talaria_core::event::Stage;
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::rows::{self, FromRow};
use crate::session_list::Cursor;
use crate::store::Store;
use crate::words::Word as _;

/// Which tasks are wanted. `None` wants all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Wanted by this one.
    pub owner: Option<String>,
    /// Those with a turn that is not settled, or only the others.
    pub active: Option<bool>,
}

/// A task as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLine {
    /// Its session.
    pub id: SessionId,
    /// Its name.
    pub alias: Option<String>,
    /// What people see.
    pub title: Option<String>,
    /// Where it works.
    pub cwd: String,
    /// When it was made.
    pub created_at: i64,
    /// When something was last written to it.
    pub updated_at: i64,
    /// Who wanted it.
    pub owner: String,
    /// The worktree it works in, as JSON.
    pub worktree: Option<String>,
    /// The turn that runs; if none does, the last one.
    pub turn: Option<LastTurn>,
    /// How many requests wait for a person.
    pub open_requests: i64,
    /// Does one of them want words of a person, not only a decision? (Kinds `input` and `elicitation`.)
    pub wants_input: bool,
}

/// The turn by which a task stands: the first that is not settled, else the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastTurn {
    /// Its number in the session, from 1.
    pub ordinal: i64,
    /// How far it is.
    pub stage: Stage,
    /// How it ended, as a word.
    pub outcome_kind: Option<String>,
    /// Why it failed, as a word.
    pub code: Option<String>,
    /// Who interrupted it, as a word.
    pub interrupted_by: Option<String>,
    /// When it was prepared.
    pub created_at: i64,
    /// When it was settled.
    pub settled_at: Option<i64>,
}

/// Some tasks, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<TaskLine>,
    /// Where to go on, if there may be more.
    pub next: Option<Cursor>,
}

impl FromRow for TaskLine {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        // By place: looking each name up takes as long as the query.
        let turn = match row.try_get(8)? {
            None => None,
            Some(ordinal) => Some(LastTurn {
                ordinal,
                stage: Stage::read(row.try_get(9)?)?,
                outcome_kind: row.try_get(10)?,
                code: row.try_get(11)?,
                interrupted_by: row.try_get(12)?,
                created_at: row.try_get(13)?,
                settled_at: row.try_get(14)?,
            }),
        };
        Ok(Self {
            id: SessionId::new(row.try_get::<&str, _>(0)?),
            alias: row.try_get(1)?,
            title: row.try_get(2)?,
            cwd: row.try_get(3)?,
            created_at: row.try_get(4)?,
            updated_at: row.try_get(5)?,
            owner: row.try_get(6)?,
            worktree: row.try_get(7)?,
            turn,
            open_requests: row.try_get(15)?,
            wants_input: row.try_get(16)?,
        })
    }
}

const UNSETTLED: &str = "(select 1 from turn as unsettled
                          where unsettled.session = session.id and unsettled.stage <> 'settled')";

/// The query, in words for which there is an index.
fn select(filter: &TaskFilter) -> String {
    let owner = if filter.owner.is_some() { "and task.owner = $1" } else { "and $1 is null" };
    let active = match filter.active {
        None => String::new(),
        Some(true) => format!("and exists {UNSETTLED}"),
        Some(false) => format!("and not exists {UNSETTLED}"),
    };
    format!(
        "select session.id, session.alias, session.title, session.cwd, session.created_at, session.updated_at,
                task.owner, task.worktree,
                turn.ordinal, turn.stage, turn.outcome_kind, turn.code, turn.interrupted_by, turn.created_at,
                turn.settled_at,
                (select count(*) from request where request.session = session.id and state = 'open'),
                exists (select 1 from request where request.session = session.id and state = 'open'
                        and kind in ('input', 'elicitation'))
         from session indexed by session_tasks
              cross join task on task.session = session.id
              left join turn indexed by turn_in_short on turn.session = session.id and turn.ordinal = coalesce(
                  (select min(ordinal) from turn as unsettled
                   where unsettled.session = session.id and unsettled.stage <> 'settled'),
                  (select max(ordinal) from turn as any_turn where any_turn.session = session.id))
         where session.kind = 'task' {owner} {active} and (session.updated_at, session.id) < ($2, $3)
         order by session.updated_at desc, session.id desc limit $4"
    )
}

impl Store {
    /// Gives up to `limit` tasks behind a cursor (or the newest ones), newest first.
    pub async fn tasks(
        &self,
        filter: &TaskFilter,
        behind: Option<&Cursor>,
        limit: u32,
    ) -> Result<TaskPage, StoreError> {
        let found = sqlx::query(AssertSqlSafe(select(filter)))
            .bind(filter.owner.as_deref())
            .bind(behind.map_or(i64::MAX, |cursor| cursor.updated_at))
            .bind(behind.map_or("~", |cursor| cursor.id.as_str()))
            .bind(limit)
            .fetch_all(self.readers())
            .await?;
        let tasks: Vec<TaskLine> = rows::all(&found)?;
        let is_full = tasks.len() == usize::try_from(limit).unwrap_or(usize::MAX);
        let last = tasks.last().filter(|_| is_full);
        let next = last.map(|last| Cursor { updated_at: last.updated_at, id: last.id.clone() });
        Ok(TaskPage { tasks, next })
    }
}
