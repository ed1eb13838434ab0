//! The outbox: what is owed to somebody, one entry for each thing and each target. Its shape, how an entry is written
//! down with what it tells of, and what is looked at. Who delivers goes through `outbox_claim`.
//!
//! Nothing that happens to an entry touches its session: a list of sessions does not change because somebody was told.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::rows::{self, FromRow};
use crate::store::Store;
use crate::words::OutboxState;

/// Something that is owed to somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOutbox {
    /// Its id; must be new.
    pub id: String,
    /// What kind of thing.
    pub kind: String,
    /// What is to be told, as JSON.
    pub payload: String,
    /// Whom to tell; `None` is nobody, and it is never claimed.
    pub target: Option<String>,
    /// When it is due.
    pub due_at: i64,
}

/// An entry that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outbox {
    /// Its id.
    pub id: String,
    /// Its session.
    pub session: SessionId,
    /// What kind of thing.
    pub kind: String,
    /// What is to be told, as JSON.
    pub payload: String,
    /// Whom to tell; `None` is nobody.
    pub target: Option<String>,
    /// How far it is.
    pub state: OutboxState,
    /// When it is due, or was.
    pub due_at: i64,
    /// How often it was claimed, with this time.
    pub attempts: i64,
    /// May it have been delivered before? Somebody had claimed it and was not heard of again.
    pub repeat: bool,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// When it was delivered.
    pub sent_at: Option<i64>,
    /// When it was over, in whatever way.
    pub done_at: Option<i64>,
}

impl FromRow for Outbox {
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

impl Store {
    /// Gives one entry.
    pub async fn outbox(&self, id: &str) -> Result<Option<Outbox>, StoreError> {
        let found =
            sqlx::query("select * from outbox where id = $1").bind(id).fetch_optional(self.readers()).await?;
        rows::one(found.as_ref())
    }

    /// Gives all entries of a session, in the order of their ids.
    pub async fn outbox_of(&self, session: &SessionId) -> Result<Vec<Outbox>, StoreError> {
        let found = sqlx::query("select * from outbox where session = $1 order by id")
            .bind(session.as_str())
            .fetch_all(self.readers())
            .await?;
        rows::all(&found)
    }

    /// Gives up to `limit` entries that wait to be delivered, failed and wait for another attempt, or have nobody to
    /// tell and are not marked so; those of one owner, or all. First what has been due for the longest time: an entry
    /// that failed stands where its next attempt is, so that it does not hide newer ones.
    pub async fn outbox_open(&self, owner: Option<&str>, limit: u32) -> Result<Vec<Outbox>, StoreError> {
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

/// Writes a new entry down.
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
