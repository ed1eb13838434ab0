//! The audit log: who answered, started or was refused something, and how the engine knew who it was.
//!
//! Rows of what was done are written in the transaction that does it, so that neither exists without the other. Rows stay
//! when their session is pruned. Refusals are bounded: a caller that is refused in a loop must not fill the disk.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::error::StoreError;
use crate::rows::{self, FromRow};
use crate::store::Store;
use crate::words::AuditOutcome;

/// How many refusals are kept; older ones are removed first.
pub const REFUSALS_KEPT: i64 = 10_000;

/// A row to be added to the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAudit {
    /// When.
    pub at: i64,
    /// What was wanted, by the name of its route.
    pub action: String,
    /// Whether it was done.
    pub outcome: AuditOutcome,
    /// Who wanted it.
    pub principal: String,
    /// How that was established, in words.
    pub established: String,
    /// The caller's process.
    pub pid: Option<i32>,
    /// The caller's terminal.
    pub terminal: Option<String>,
    /// The caller's program file.
    pub program: Option<String>,
    /// The session concerned.
    pub session: Option<String>,
    /// The request concerned.
    pub request: Option<String>,
    /// The digest of the question that was answered.
    pub digest: Option<String>,
    /// The decision in a word.
    pub decision: Option<String>,
    /// Why it was refused.
    pub reason: Option<String>,
}

/// A row of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Its number; later rows have higher ones.
    pub id: i64,
    /// What it says.
    pub entry: NewAudit,
}

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

impl Store {
    /// Adds a row that belongs to no other write: a refusal. The oldest refusals are removed beyond [`REFUSALS_KEPT`].
    pub async fn add_audit(&self, entry: NewAudit) -> Result<(), StoreError> {
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

    /// Returns rows, newest first: at most `limit`, older than the row `before`, if that is given.
    pub async fn audit(&self, before: Option<i64>, limit: u32) -> Result<Vec<AuditRow>, StoreError> {
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

/// Adds a row, in the transaction of what it tells of.
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
