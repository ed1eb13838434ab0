//! The outbox: an entry is inserted in the transaction of what it reports. The deliverer uses `outbox_claim`.
//!
//! Nothing that happens to an entry touches its session: a list of sessions does not change because a notification was
//! sent.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::outbox::{NewOutbox, OutboxRow};
use crate::sqlite::SqliteStore;
use crate::sqlite::rows::{self, FromRow};

impl FromRow for OutboxRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.try_get("id")?,
            session: SessionId::new(row.try_get::<String, _>("session")?),
            kind: row.try_get("kind")?,
            payload: row.try_get("payload")?,
            target: row.try_get("target")?,
            state: rows::word(row, "state")?,
            due_at: row.try_get("due_at")?,
            attempts: row.try_get("attempts")?,
            repeat: row.try_get("repeat")?,
            error: row.try_get("error")?,
            sent_at: row.try_get("sent_at")?,
            done_at: row.try_get("done_at")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn outbox(&self, id: &str) -> Result<Option<OutboxRow>, StoreError> {
        let found =
            sqlx::query("select * from outbox where id = $1").bind(id).fetch_optional(self.readers()).await?;
        rows::one(found.as_ref())
    }

    pub(crate) async fn outbox_of(&self, session: &SessionId) -> Result<Vec<OutboxRow>, StoreError> {
        let found = sqlx::query("select * from outbox where session = $1 order by id")
            .bind(session.as_str())
            .fetch_all(self.readers())
            .await?;
        rows::all(&found)
    }

    pub(crate) async fn outbox_open(
        &self,
        owner: Option<&str>,
        limit: u32,
    ) -> Result<Vec<OutboxRow>, StoreError> {
        let found = sqlx::query(
            "select * from outbox where state in ('pending', 'failed')
               and ($1 is null or $1 = (select owner from task where task.session = outbox.session))
             order by due_at, id limit $2",
        )
        .bind(owner)
        .bind(limit)
        .fetch_all(self.readers())
        .await?;
        rows::all(&found)
    }
}

/// Inserts a new entry.
pub(crate) async fn insert(
    conn: &mut SqliteConnection,
    session: &SessionId,
    entry: NewOutbox,
) -> Result<(), StoreError> {
    sqlx::query(
        "insert into outbox (id, session, kind, payload, target, due_at) values ($1, $2, $3, $4, $5, $6)",
    )
    .bind(entry.id)
    .bind(session.as_str())
    .bind(entry.kind)
    .bind(entry.payload)
    .bind(entry.target)
    .bind(entry.due_at)
    .execute(conn)
    .await?;
    Ok(())
}
