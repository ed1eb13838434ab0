//! The history of the model loop: entries are numbered from 0 without a gap, and never changed. The content is sealed before it
//! comes here.
//!
//! Entries that a model made come with the end of their attempt (`model_attempt`), all others alone.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::model_history::{HistoryEntryRow, NewHistoryEntry};
use crate::sqlite::SqliteStore;
use crate::sqlite::rows::{self, FromRow};

impl FromRow for HistoryEntryRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            seq: row.try_get("seq")?,
            ordinal: row.try_get("ordinal")?,
            attempt: row.try_get("attempt")?,
            prefix_epoch: row.try_get("prefix_epoch")?,
            sealed: row.try_get("sealed")?,
            at: row.try_get("at")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn model_history(
        &self,
        session: &SessionId,
        from: i64,
        limit: u32,
    ) -> Result<Vec<HistoryEntryRow>, StoreError> {
        let found =
            sqlx::query("select * from model_history where session = $1 and seq >= $2 order by seq limit $3")
                .bind(session.as_str())
                .bind(from)
                .bind(limit)
                .fetch_all(self.readers())
                .await?;
        rows::all(&found)
    }

    pub(crate) async fn model_history_len(&self, session: &SessionId) -> Result<i64, StoreError> {
        let row =
            sqlx::query("select coalesce(max(seq) + 1, 0) as entries from model_history where session = $1")
                .bind(session.as_str())
                .fetch_one(self.readers())
                .await?;
        Ok(row.try_get("entries")?)
    }
}

/// Appends entries. The first that is not the next one is a conflict.
pub(crate) async fn append(
    conn: &mut SqliteConnection,
    session: &SessionId,
    at: i64,
    attempt: Option<i64>,
    entries: Vec<NewHistoryEntry>,
) -> Result<(), StoreError> {
    for entry in entries {
        let seq = entry.seq;
        let bytes = i64::try_from(entry.sealed.len()).unwrap_or(i64::MAX);
        let done = sqlx::query(
            "insert into model_history (session, seq, ordinal, attempt, prefix_epoch, sealed, at)
             select $1, $2, $3, $4, $5, $6, $7
             where $2 = (select coalesce(max(seq) + 1, 0) from model_history where session = $1)",
        )
        .bind(session.as_str())
        .bind(seq)
        .bind(entry.ordinal)
        .bind(attempt)
        .bind(entry.prefix_epoch)
        .bind(entry.sealed)
        .bind(at)
        .execute(&mut *conn)
        .await?;
        if done.rows_affected() == 0 {
            return Err(StoreError::Conflict(format!("entry {seq} is not the next of the history")));
        }
        // The size of a session decides whether it is pruned.
        sqlx::query("update session set bytes = bytes + $2 where id = $1")
            .bind(session.as_str())
            .bind(bytes)
            .execute(&mut *conn)
            .await?;
    }
    Ok(())
}
