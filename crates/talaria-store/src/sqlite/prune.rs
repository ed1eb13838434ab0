//! Removes whole sessions, by age, by number and by size. A session that runs, also in the background, or waits for a
//! person is never removed, and neither is a session with undelivered notifications: it stays until they are delivered
//! or abandoned. A delegated task stays until its parent has its result, or is removed itself.
//!
//! A session leaves the lists in one short transaction. Its rows are removed after that in small steps, so that other
//! writers are not blocked; if the program dies in between, the next `prune` or `trim` continues.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::prune::{PrunableSession, PruneCandidate, PrunePolicy, PrunePreview, PruneResult, choose};
use crate::sqlite::SqliteStore;
use crate::sqlite::rows::{self, FromRow};

/// A session that must stay, in terms of the row `session` and of `$1`, now.
const PROTECTED: &str = "
    (session.state = 'running'
     or exists (select 1 from turn where turn.session = session.id and stage <> 'settled')
     or exists (select 1 from request where request.session = session.id
                and (request.state in ('open', 'answered', 'delivering')
                     or request.state = 'escrowed' and request.expires_at > $1))
     or exists (select 1 from meta where meta.key = 'background/' || session.id)
     or exists (select 1 from outbox where outbox.session = session.id
                and outbox.target is not null and outbox.done_at is null)
     or exists (select 1 from delegation where delegation.child = session.id and delegation.delivered_at is null))";

impl FromRow for PruneCandidate {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let doomed = PrunableSession {
            id: SessionId::new(row.try_get::<String, _>("id")?),
            title: row.try_get("title")?,
            updated_at: row.try_get("updated_at")?,
            events: row.try_get("events")?,
            bytes: row.try_get("bytes")?,
        };
        Ok(Self { doomed, is_protected: row.try_get("is_protected")? })
    }
}

impl SqliteStore {
    pub(crate) async fn preview_prune(
        &self,
        policy: &PrunePolicy,
        now: i64,
    ) -> Result<PrunePreview, StoreError> {
        let found = sqlx::query(sqlx::AssertSqlSafe(format!(
            "select id, title, updated_at, last_seq - first_seq + 1 as events, bytes, {PROTECTED} as is_protected
             from session order by updated_at desc, id desc"
        )))
        .bind(now)
        .fetch_all(self.readers())
        .await?;
        let used = self.size().await?.used_bytes;
        Ok(choose(rows::all(&found)?, policy, used))
    }

    pub(crate) async fn prune(&self, policy: &PrunePolicy, now: i64) -> Result<PruneResult, StoreError> {
        let before = self.size().await?;
        let mut pruned = PruneResult::default();
        for doomed in self.preview_prune(policy, now).await?.sessions {
            let PrunableSession { id, events, .. } = doomed;
            if self.write(move |conn| Box::pin(async move { forget(conn, &id, now).await })).await? {
                pruned.sessions += 1;
                pruned.events += events;
            }
        }
        self.clear_forgotten().await?;
        self.reclaim().await?;
        let after = self.size().await?;
        pruned.freed_bytes = before.file_bytes + before.log_bytes - after.file_bytes - after.log_bytes;
        Ok(pruned)
    }

    /// Removes the rows of pruned sessions in small steps.
    pub(crate) async fn clear_forgotten(&self) -> Result<(), StoreError> {
        while self.write(|conn| Box::pin(clear_some(conn))).await? {}
        Ok(())
    }
}

/// Removes a session from the lists, unless it must stay.
pub(crate) async fn forget(
    conn: &mut SqliteConnection,
    id: &SessionId,
    now: i64,
) -> Result<bool, StoreError> {
    let done = sqlx::query(sqlx::AssertSqlSafe(format!(
        "insert into forgotten (session) select id from session where id = $2 and not {PROTECTED}"
    )))
    .bind(now)
    .bind(id.as_str())
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    sqlx::query(
        "delete from lease where session = $1;
         delete from turn where session = $1;
         delete from request where session = $1;
         delete from tool_call where session = $1;
         delete from model_attempt where session = $1;
         delete from review where session = $1;
         delete from outbox where session = $1;
         delete from delegation where child = $1 or parent = $1;
         delete from task where session = $1;
         delete from origin_part where session = $1;
         delete from origin where session = $1;
         delete from memory_snapshot where session = $1;
         delete from session where id = $1",
    )
    .bind(id.as_str())
    .execute(conn)
    .await?;
    Ok(true)
}

/// Removes some rows of pruned sessions. Returns whether there may be more.
async fn clear_some(conn: &mut SqliteConnection) -> Result<bool, StoreError> {
    let found = sqlx::query("select session from forgotten limit 1").fetch_optional(&mut *conn).await?;
    let Some(row) = found else { return Ok(false) };
    let session: String = row.try_get("session")?;
    let done = sqlx::query(
        "delete from event where session = $1 and seq <= coalesce(
             (select seq from event where session = $1 order by seq limit 1 offset 1999), 9223372036854775807);
         delete from message where id in (select id from message where session = $1 limit 100);
         delete from model_history where session = $1 and seq in
             (select seq from model_history where session = $1 order by seq limit 100)",
    )
    .bind(session.as_str())
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() == 0 {
        sqlx::query("delete from forgotten where session = $1").bind(session).execute(conn).await?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sessions `0` (oldest) to `n - 1`, each of 100 bytes; some are protected.
    fn chosen(count: i64, protected: &[i64], policy: &PrunePolicy) -> String {
        let candidate = |n: i64| PruneCandidate {
            doomed: PrunableSession {
                id: SessionId::new(n.to_string()),
                title: None,
                updated_at: n,
                events: 1,
                bytes: 100,
            },
            is_protected: protected.contains(&n),
        };
        let chosen = choose((0..count).rev().map(candidate).collect(), policy, count * 1000);
        chosen.sessions.iter().map(|doomed| doomed.id.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_oldest_go_and_what_is_protected_stays() {
        let none = PrunePolicy::default();
        assert_eq!(chosen(5, &[], &none), "");
        assert_eq!(chosen(5, &[], &PrunePolicy { older_than: Some(2), ..none.clone() }), "0 1");
        assert_eq!(chosen(5, &[0, 4], &PrunePolicy { keep: Some(2), ..none.clone() }), "1 2");
        assert_eq!(chosen(5, &[1], &PrunePolicy { max_bytes: Some(3000), ..none.clone() }), "0 2");
        assert_eq!(chosen(5, &[], &PrunePolicy { max_bytes: Some(0), ..none.clone() }), "0 1 2 3 4");
        let both = PrunePolicy { older_than: Some(1), max_bytes: Some(3000), ..none };
        assert_eq!(chosen(5, &[], &both), "0 1");
    }
}
