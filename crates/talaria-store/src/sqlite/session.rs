//! Sessions: created, changed, and found by what a person types.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use talaria_core::ids::{SessionId, ThreadId};

use crate::error::StoreError;
use crate::model::lease::Lease;
use crate::model::session::{NewSessionRow, SessionCandidate, SessionLookup, SessionPatch, SessionRow};
use crate::model::words::{SessionKind, SessionState, Word as _};
use crate::sqlite::rows::{self, FromRow};
use crate::sqlite::{SqliteStore, audit, delegation, lease, task, turn};

/// How many candidates an ambiguous prefix names.
const NAMED: i64 = 10;

impl FromRow for SessionRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: SessionId::new(row.try_get::<String, _>("id")?),
            kind: rows::word(row, "kind")?,
            alias: row.try_get("alias")?,
            title: row.try_get("title")?,
            cwd: row.try_get("cwd")?,
            runtime: row.try_get("runtime")?,
            model: row.try_get("model")?,
            thread: rows::id(row, "thread", ThreadId::new)?,
            host: row.try_get("host")?,
            codex_version: row.try_get("codex_version")?,
            asked: row.try_get("asked")?,
            started: row.try_get("started")?,
            settings: row.try_get("settings")?,
            state: rows::word(row, "state")?,
            contract: row.try_get("contract")?,
            contract_said: row.try_get("contract_said")?,
            review: rows::review_count(row)?,
            tools: row.try_get("tools")?,
            archived: row.try_get("archived")?,
            forked_from: rows::id(row, "forked_from", SessionId::new)?.zip(row.try_get("forked_turn")?),
            basis: row.try_get("basis")?,
            created_at: row.try_get("created_at")?,
            updated_at: row.try_get("updated_at")?,
            first_seq: row.try_get("first_seq")?,
            last_seq: row.try_get("last_seq")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn rename_session(&self, session: &SessionId, title: &str) -> Result<bool, StoreError> {
        let (session, title) = (session.to_string(), title.to_owned());
        self.write(move |conn| {
            Box::pin(async move {
                let done = sqlx::query("update session set title = $2 where id = $1")
                    .bind(session)
                    .bind(title)
                    .execute(conn)
                    .await?;
                Ok(done.rows_affected() > 0)
            })
        })
        .await
    }

    pub(crate) async fn create_session(
        &self,
        session: NewSessionRow,
        lease: Lease,
    ) -> Result<(), StoreError> {
        if lease.session != session.id {
            return Err(StoreError::Conflict(format!("the lease is for the session {}", lease.session)));
        }
        if session.task.is_some() != (session.kind == SessionKind::Task) {
            return Err(StoreError::Conflict(format!("the session {} is a task by half", session.id)));
        }
        self.write(move |conn| {
            Box::pin(async move {
                insert(conn, session).await?;
                lease::put(conn, &lease).await
            })
        })
        .await
    }

    pub(crate) async fn session(&self, id: &SessionId) -> Result<Option<SessionRow>, StoreError> {
        let found = sqlx::query("select * from session where id = $1")
            .bind(id.as_str())
            .fetch_optional(self.readers())
            .await?;
        rows::one(found.as_ref())
    }

    pub(crate) async fn session_of_thread(
        &self,
        thread: &ThreadId,
    ) -> Result<Option<SessionRow>, StoreError> {
        let found =
            sqlx::query("select * from session where thread = $1 order by updated_at desc, id desc limit 1")
                .bind(thread.as_str())
                .fetch_optional(self.readers())
                .await?;
        rows::one(found.as_ref())
    }

    pub(crate) async fn find_session(&self, typed: &str) -> Result<SessionLookup, StoreError> {
        let typed = typed.trim().to_ascii_lowercase();
        if typed.is_empty() || !typed.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Ok(SessionLookup::Unknown);
        }
        // `~` sorts after everything that an id is made of, so beginnings are ranges of an index. Ends are searched in
        // the small indexes, which contain nothing but ids and times. Exact matches are first.
        let found = sqlx::query(
            "select *, id = $1 or coalesce(alias = $1, 0) as whole,
                    coalesce(alias >= $1 and alias < $1 || '~' or substr(alias, -length($1)) = $1, 0) as by_alias
             from session where id in (
                 select id from session where id >= $1 and id < $1 || '~'
                 union select id from session where alias >= $1 and alias < $1 || '~'
                 union select id from session indexed by session_by_time where substr(id, -length($1)) = $1
                 union select id from session where alias is not null and substr(alias, -length($1)) = $1)
             order by whole desc, updated_at desc limit $2",
        )
        .bind(typed)
        .bind(NAMED)
        .fetch_all(self.readers())
        .await?;
        match found.as_slice() {
            [] => Ok(SessionLookup::Unknown),
            [first, rest @ ..] if rest.is_empty() || first.try_get("whole")? => {
                Ok(SessionLookup::One(Box::new(SessionRow::from_row(first)?)))
            }
            several => {
                let candidate = |row: &SqliteRow| {
                    let alias: Option<String> = row.try_get("alias")?;
                    let alias = alias.filter(|_| row.try_get("by_alias").unwrap_or_default());
                    let id: String = row.try_get("id")?;
                    Ok(SessionCandidate { name: alias.unwrap_or(id), title: row.try_get("title")? })
                };
                Ok(SessionLookup::Ambiguous(
                    several.iter().map(candidate).collect::<Result<_, StoreError>>()?,
                ))
            }
        }
    }
}

/// Inserts a new session, and its task row if it is a task.
pub(crate) async fn insert(conn: &mut SqliteConnection, session: NewSessionRow) -> Result<(), StoreError> {
    sqlx::query(
        "insert into session (id, kind, alias, title, cwd, runtime, model, asked, settings, state, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)",
    )
    .bind(session.id.as_str())
    .bind(session.kind.word())
    .bind(session.alias)
    .bind(session.title)
    .bind(session.cwd)
    .bind(session.runtime)
    .bind(session.model)
    .bind(session.asked)
    .bind(session.settings)
    .bind(if session.first_turn.is_some() { SessionState::Running } else { SessionState::Idle }.word())
    .bind(session.created_at)
    .execute(&mut *conn)
    .await?;
    if let Some(task) = session.task {
        let delegation = task.delegation.clone();
        task::insert(conn, &session.id, task).await?;
        if let Some(new) = delegation {
            delegation::insert(conn, &session.id, session.created_at, new).await?;
        }
    }
    if let Some(entry) = session.audit {
        audit::insert(conn, entry).await?;
    }
    match session.first_turn {
        Some(first) => turn::insert(conn, &session.id, session.created_at, 1, first).await,
        None => Ok(()),
    }
}

/// Updates an existing session.
pub(crate) async fn update(
    conn: &mut SqliteConnection,
    session: &SessionId,
    patch: SessionPatch,
) -> Result<(), StoreError> {
    sqlx::query(
        "update session set
             title = coalesce($2, title),
             cwd = coalesce($3, cwd),
             runtime = coalesce($4, runtime),
             model = coalesce($5, model),
             thread = coalesce($6, thread),
             host = coalesce($7, host),
             codex_version = coalesce($8, codex_version),
             asked = coalesce($9, asked),
             started = coalesce($10, started),
             settings = coalesce($11, settings),
             archived = coalesce($12, archived),
             state = coalesce($13, state),
             contract = coalesce($14, contract),
             contract_said = coalesce($15, contract_said),
             tools = coalesce($16, tools)
         where id = $1",
    )
    .bind(session.as_str())
    .bind(patch.title)
    .bind(patch.cwd)
    .bind(patch.runtime)
    .bind(patch.model)
    .bind(patch.thread.map(|id| id.to_string()))
    .bind(patch.host)
    .bind(patch.codex_version)
    .bind(patch.asked)
    .bind(patch.started)
    .bind(patch.settings)
    .bind(patch.archived)
    .bind(patch.state.map(SessionState::as_str))
    .bind(patch.contract)
    .bind(patch.contract_said)
    .bind(patch.tools)
    .execute(conn)
    .await?;
    Ok(())
}

/// Makes the next thread of a session a new one that begins with `basis`.
pub(crate) async fn rebase(
    conn: &mut SqliteConnection,
    session: &SessionId,
    basis: &str,
) -> Result<(), StoreError> {
    sqlx::query("update session set thread = null, host = null, started = null, basis = $2 where id = $1")
        .bind(session.as_str())
        .bind(basis)
        .execute(conn)
        .await?;
    Ok(())
}
