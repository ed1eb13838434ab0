//! Delivery of outbox entries: claim, then sent, failed or abandoned. Each entry is claimed by one deliverer at a
//! time, for some time; if no result is reported, the next claimer gets it, marked as a possible repeat.
//!
//! Entries are claimed in due order, and a failed one is due later: a target that always fails does not block others.

use sqlx::Row as _;

use crate::error::StoreError;
use crate::model::outbox::OutboxRow;
use crate::sqlite::{SqliteStore, rows};

/// The result of a claimed entry.
enum Fate {
    Sent { at: i64 },
    Failed { due_at: i64, error: String },
    Abandoned { at: i64, error: String },
}

impl SqliteStore {
    pub(crate) async fn claim_outbox(
        &self,
        by: &str,
        at: i64,
        until: i64,
        limit: u32,
    ) -> Result<Vec<OutboxRow>, StoreError> {
        let by = by.to_owned();
        self.write(move |conn| {
            Box::pin(async move {
                let claimed = sqlx::query(
                    "update outbox set
                         repeat = case when state = 'sending' then 1 else repeat end,
                         state = 'sending', claimed_by = $1, claimed_until = $3, attempts = attempts + 1
                     where id in (select id from outbox
                                  where done_at is null and target is not null and due_at <= $2
                                    and coalesce(claimed_until, $2) <= $2
                                  order by due_at, id limit $4)
                     returning *",
                )
                .bind(by)
                .bind(at)
                .bind(until)
                .bind(limit)
                .fetch_all(conn)
                .await?;
                let mut claimed: Vec<OutboxRow> = rows::all(&claimed)?;
                claimed.sort_by(|a, b| (a.due_at, &a.id).cmp(&(b.due_at, &b.id)));
                Ok(claimed)
            })
        })
        .await
    }

    pub(crate) async fn finish_outbox(&self, id: &str, by: &str, at: i64) -> Result<(), StoreError> {
        self.end_claim(id, by, Fate::Sent { at }).await
    }

    pub(crate) async fn retry_outbox(
        &self,
        id: &str,
        by: &str,
        due_at: i64,
        error: &str,
    ) -> Result<(), StoreError> {
        self.end_claim(id, by, Fate::Failed { due_at, error: error.to_owned() }).await
    }

    pub(crate) async fn abandon_outbox(
        &self,
        id: &str,
        by: &str,
        at: i64,
        error: &str,
    ) -> Result<(), StoreError> {
        self.end_claim(id, by, Fate::Abandoned { at, error: error.to_owned() }).await
    }

    pub(crate) async fn release_outbox(&self, id: &str, by: &str, due_at: i64) -> Result<(), StoreError> {
        let (id, by) = (id.to_owned(), by.to_owned());
        self.write(move |conn| {
            Box::pin(async move {
                let done = sqlx::query(
                    "update outbox set state = case when attempts > 1 then 'failed' else 'pending' end,
                                       attempts = attempts - 1, due_at = $3, claimed_by = null, claimed_until = null
                     where id = $1 and claimed_by = $2 and done_at is null",
                )
                .bind(id.as_str())
                .bind(by.as_str())
                .bind(due_at)
                .execute(conn)
                .await?;
                require_claim(&id, &by, done.rows_affected())
            })
        })
        .await
    }

    pub(crate) async fn end_claims_of_others(&self, by: &str, at: i64) -> Result<u64, StoreError> {
        let by = by.to_owned();
        self.write(move |conn| {
            Box::pin(async move {
                let done = sqlx::query(
                    "update outbox set claimed_until = min(claimed_until, $2)
                     where done_at is null and state = 'sending' and claimed_by <> $1",
                )
                .bind(by)
                .bind(at)
                .execute(conn)
                .await?;
                Ok(done.rows_affected())
            })
        })
        .await
    }

    pub(crate) async fn hurry_outbox(&self, ids: &[String], now: i64) -> Result<u64, StoreError> {
        let ids = serde_json::json!(ids).to_string();
        self.write(move |conn| {
            Box::pin(async move {
                let done = sqlx::query(
                    "update outbox set due_at = min(due_at, $2)
                     where id in (select value from json_each($1))
                       and state in ('pending', 'failed') and target is not null",
                )
                .bind(ids)
                .bind(now)
                .execute(conn)
                .await?;
                Ok(done.rows_affected())
            })
        })
        .await
    }

    pub(crate) async fn mark_no_target(&self, ids: &[String], at: i64) -> Result<u64, StoreError> {
        let ids = serde_json::json!(ids).to_string();
        self.write(move |conn| {
            Box::pin(async move {
                let done = sqlx::query(
                    "update outbox set state = 'no_target', done_at = $2
                     where id in (select value from json_each($1)) and target is null and done_at is null",
                )
                .bind(ids)
                .bind(at)
                .execute(conn)
                .await?;
                Ok(done.rows_affected())
            })
        })
        .await
    }

    pub(crate) async fn outbox_due_at(&self) -> Result<Option<i64>, StoreError> {
        let row = sqlx::query(
            "select min(max(due_at, coalesce(claimed_until, due_at))) as due_at from outbox
             where done_at is null and target is not null",
        )
        .fetch_one(self.readers())
        .await?;
        Ok(row.try_get("due_at")?)
    }

    async fn end_claim(&self, id: &str, by: &str, fate: Fate) -> Result<(), StoreError> {
        let (id, by) = (id.to_owned(), by.to_owned());
        let (state, done_at, sent_at, due_at, error) = match fate {
            Fate::Sent { at } => ("sent", Some(at), Some(at), None, None),
            Fate::Failed { due_at, error } => ("failed", None, None, Some(due_at), Some(error)),
            Fate::Abandoned { at, error } => ("abandoned", Some(at), None, None, Some(error)),
        };
        self.write(move |conn| {
            Box::pin(async move {
                let done = sqlx::query(
                    "update outbox set state = $3, done_at = $4, sent_at = $5, due_at = coalesce($6, due_at),
                                       error = $7, claimed_by = null, claimed_until = null
                     where id = $1 and claimed_by = $2 and done_at is null",
                )
                .bind(id.as_str())
                .bind(by.as_str())
                .bind(state)
                .bind(done_at)
                .bind(sent_at)
                .bind(due_at)
                .bind(error)
                .execute(conn)
                .await?;
                require_claim(&id, &by, done.rows_affected())
            })
        })
        .await
    }
}

fn require_claim(id: &str, by: &str, changed: u64) -> Result<(), StoreError> {
    match changed {
        0 => Err(StoreError::Conflict(format!("{by} has not claimed {id}"))),
        _ => Ok(()),
    }
}
