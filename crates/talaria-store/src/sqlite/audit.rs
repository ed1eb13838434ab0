//! The audit log: who answered, started or was refused something, and how the engine knew who it was.
//!
//! Rows of what was done are written in the transaction that does it, so that neither exists without the other. Rows
//! stay when their session is pruned. Refusals are bounded: a caller that is refused in a loop must not fill the disk.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::error::StoreError;
use crate::model::audit::{AuditRow, NewAudit, REFUSALS_KEPT};
use crate::sqlite::SqliteStore;
use crate::sqlite::rows::{self, FromRow};

impl FromRow for AuditRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.try_get("id")?,
            entry: NewAudit {
                at: row.try_get("at")?,
                action: row.try_get("action")?,
                outcome: rows::word(row, "outcome")?,
                principal: row.try_get("principal")?,
                established: row.try_get("established")?,
                pid: row.try_get("pid")?,
                terminal: row.try_get("terminal")?,
                program: row.try_get("program")?,
                session: row.try_get("session")?,
                request: row.try_get("request")?,
                digest: row.try_get("digest")?,
                decision: row.try_get("decision")?,
                reason: row.try_get("reason")?,
            },
        })
    }
}

impl SqliteStore {
    pub(crate) async fn add_audit(&self, entry: NewAudit) -> Result<(), StoreError> {
        self.write(move |conn| {
            Box::pin(async move {
                insert(conn, entry).await?;
                sqlx::query(
                    "delete from audit where outcome = 'refused' and id <=
                         (select id from audit where outcome = 'refused' order by id desc limit 1 offset $1)",
                )
                .bind(REFUSALS_KEPT)
                .execute(conn)
                .await?;
                Ok(())
            })
        })
        .await
    }

    pub(crate) async fn audit(&self, before: Option<i64>, limit: u32) -> Result<Vec<AuditRow>, StoreError> {
        let found = sqlx::query(
            "select * from audit where id < coalesce($1, 9223372036854775807) order by id desc limit $2",
        )
        .bind(before)
        .bind(limit)
        .fetch_all(self.readers())
        .await?;
        rows::all(&found)
    }
}

/// Adds a row, in the transaction of the action it describes.
pub(crate) async fn insert(conn: &mut SqliteConnection, entry: NewAudit) -> Result<(), StoreError> {
    sqlx::query(
        "insert into audit (at, action, outcome, principal, established, pid, terminal, program, session, request,
                            digest, decision, reason)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    )
    .bind(entry.at)
    .bind(entry.action)
    .bind(entry.outcome.as_str())
    .bind(entry.principal)
    .bind(entry.established)
    .bind(entry.pid)
    .bind(entry.terminal)
    .bind(entry.program)
    .bind(entry.session)
    .bind(entry.request)
    .bind(entry.digest)
    .bind(entry.decision)
    .bind(entry.reason)
    .execute(conn)
    .await?;
    Ok(())
}
