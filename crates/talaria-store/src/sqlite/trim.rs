//! Removes the oldest events of retained sessions. Messages are kept. Ended hosts, delivered outbox entries and the
//! calls of tools of turns that are over are removed by age.
//!
//! Cheap enough to be done regularly: a session with nothing to remove costs one read of its row. Events of a turn that
//! is not settled stay, because an engine may need them.

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::trim::{TrimPolicy, TrimResult};
use crate::sqlite::SqliteStore;

/// How many events are removed at a time.
const STEP: i64 = 2000;

impl SqliteStore {
    pub(crate) async fn trim(&self, policy: TrimPolicy) -> Result<TrimResult, StoreError> {
        self.clear_forgotten().await?;
        if let Some(time) = policy.older_than {
            self.write(move |conn| Box::pin(forget_what_is_over(conn, time))).await?;
        }
        let mut trimmed = TrimResult::default();
        let found = sqlx::query(
            "select id from session
             where last_seq >= first_seq and (first_at < $1 or last_seq - first_seq + 1 > $2)",
        )
        .bind(policy.older_than)
        .bind(policy.keep)
        .fetch_all(self.readers())
        .await?;
        for row in found {
            let id = SessionId::new(row.try_get::<String, _>("id")?);
            loop {
                let id = id.clone();
                let events = self
                    .write(move |conn| Box::pin(async move { trim_some(conn, &id, policy).await }))
                    .await?;
                trimmed.events += events;
                if events < STEP {
                    break;
                }
            }
        }
        Ok(trimmed)
    }
}

async fn forget_what_is_over(conn: &mut SqliteConnection, time: i64) -> Result<(), StoreError> {
    sqlx::query(
        "delete from outbox where done_at < $1;
         delete from tool_call where closed_at < $1 and not (state = 'running' and effect_record is not null);
         delete from host where state = 'ended' and ended_at < $1
             and not exists (select 1 from session where session.host = host.nonce)
             and not exists (select 1 from request where request.host = host.nonce)",
    )
    .bind(time)
    .execute(conn)
    .await?;
    Ok(())
}

/// Removes some events of a session. Returns how many.
async fn trim_some(
    conn: &mut SqliteConnection,
    id: &SessionId,
    policy: TrimPolicy,
) -> Result<i64, StoreError> {
    // The last event to remove: by number, by age (up to the first that is young enough), and within one step.
    let found = sqlx::query(
        "select first_seq,
                min(first_seq + $4 - 1,
                    coalesce((select min(first_seq) - 1 from turn where turn.session = $1 and stage <> 'settled'),
                             last_seq),
                    max(coalesce(last_seq - $3, 0),
                        coalesce((select min(seq) - 1 from (select seq, at from event where session = $1
                                                            order by seq limit $4 + 1) where at >= $2),
                                 case when $2 is null then 0 else last_seq end))) as upto
         from session where id = $1",
    )
    .bind(id.as_str())
    .bind(policy.older_than)
    .bind(policy.keep)
    .bind(STEP)
    .fetch_optional(&mut *conn)
    .await?;
    let Some(row) = found else { return Ok(0) };
    let (first, upto): (i64, i64) = (row.try_get("first_seq")?, row.try_get("upto")?);
    if upto < first {
        return Ok(0);
    }
    let done = sqlx::query(
        "update session set
             first_seq = $2 + 1,
             first_at = (select at from event where session = $1 and seq = $2 + 1),
             bytes = max(0, bytes - (select coalesce(sum(octet_length(json)), 0) from event
                                     where session = $1 and seq <= $2))
         where id = $1;
         delete from event where session = $1 and seq <= $2",
    )
    .bind(id.as_str())
    .bind(upto)
    .execute(conn)
    .await?;
    // One of the changed rows is the session.
    Ok(i64::try_from(done.rows_affected()).unwrap_or(i64::MAX).saturating_sub(1))
}
