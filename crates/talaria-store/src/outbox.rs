//! The outbox: what is owed to somebody. Each entry is claimed by one deliverer at a time until it is done.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::rows::{self, FromRow};
use crate::store::Store;

/// Something that is owed to somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOutbox {
    /// Its id; must be new.
    pub id: String,
    /// What kind of thing.
    pub kind: String,
    /// What is to be told, as JSON.
    pub payload: String,
    /// When it is due.
    pub due_at: i64,
}

/// An entry that was claimed.
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
    /// When it was due.
    pub due_at: i64,
    /// How often it was claimed, with this time.
    pub attempts: i64,
}

impl FromRow for Outbox {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.try_get("id")?,
            session: SessionId::new(row.try_get::<String, _>("session")?),
            kind: row.try_get("kind")?,
            payload: row.try_get("payload")?,
            due_at: row.try_get("due_at")?,
            attempts: row.try_get("attempts")?,
        })
    }
}

impl Store {
    /// Claims up to `limit` entries that are due at `at` and that nobody else has claimed, until `until`.
    pub async fn claim_outbox(
        &self,
        by: &str,
        at: i64,
        until: i64,
        limit: u32,
    ) -> Result<Vec<Outbox>, StoreError> {
        let by = by.to_owned();
        self.write(move |conn| {
            Box::pin(async move {
                let claimed = sqlx::query(
                    "update outbox set claimed_by = $1, claimed_until = $3, attempts = attempts + 1
                     where id in (select id from outbox
                                  where done_at is null and due_at <= $2 and coalesce(claimed_until, $2) <= $2
                                  order by due_at, id limit $4)
                     returning id, session, kind, payload, due_at, attempts",
                )
                .bind(by)
                .bind(at)
                .bind(until)
                .bind(limit)
                .fetch_all(conn)
                .await?;
                let mut claimed: Vec<Outbox> = rows::all(&claimed)?;
                claimed.sort_by(|a, b| (a.due_at, &a.id).cmp(&(b.due_at, &b.id)));
                Ok(claimed)
            })
        })
        .await
    }

    /// Keeps that a claimed entry was delivered. If the claim went to somebody else meanwhile, that is a conflict.
    pub async fn finish_outbox(&self, id: &str, by: &str, at: i64) -> Result<(), StoreError> {
        self.end_claim(id, by, Some(at), None).await
    }

    /// Gives a claimed entry back, to be delivered at `due_at` or later.
    pub async fn retry_outbox(&self, id: &str, by: &str, due_at: i64) -> Result<(), StoreError> {
        self.end_claim(id, by, None, Some(due_at)).await
    }

    async fn end_claim(
        &self,
        id: &str,
        by: &str,
        done_at: Option<i64>,
        due_at: Option<i64>,
    ) -> Result<(), StoreError> {
        let (id, by) = (id.to_owned(), by.to_owned());
        self.write(move |conn| {
            Box::pin(async move {
                let done = sqlx::query(
                    "update outbox set done_at = $3, due_at = coalesce($4, due_at), claimed_by = null,
                                       claimed_until = null
                     where id = $1 and claimed_by = $2 and done_at is null",
                )
                .bind(id.as_str())
                .bind(by.as_str())
                .bind(done_at)
                .bind(due_at)
                .execute(conn)
                .await?;
                match done.rows_affected() {
                    0 => Err(StoreError::Conflict(format!("{by} has not claimed {id}"))),
                    _ => Ok(()),
                }
            })
        })
        .await
    }
}

/// Writes a new entry down.
pub(crate) async fn insert(
    conn: &mut SqliteConnection,
    session: &SessionId,
    entry: NewOutbox,
) -> Result<(), StoreError> {
    sqlx::query("insert into outbox (id, session, kind, payload, due_at) values ($1, $2, $3, $4, $5)")
        .bind(entry.id)
        .bind(session.as_str())
        .bind(entry.kind)
        .bind(entry.payload)
        .bind(entry.due_at)
        .execute(conn)
        .await?;
    Ok(())
}
