//! Hosts: the Codex processes that Talaria started. The intent is stored before the process exists, so that none is
//! lost.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::error::StoreError;
use crate::model::host::{HostProcess, HostRow, NewHost};
use crate::sqlite::SqliteStore;
use crate::sqlite::rows::{self, FromRow};

impl FromRow for HostRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let process = match (row.try_get("pid")?, row.try_get("started")?, row.try_get("boot")?) {
            (Some(pid), Some(started), Some(boot)) => Some(HostProcess { pid, started, boot }),
            _ => None,
        };
        Ok(Self {
            nonce: row.try_get("nonce")?,
            socket: row.try_get("socket")?,
            dir: row.try_get("dir")?,
            state: rows::word(row, "state")?,
            process,
            version: row.try_get("version")?,
            codex_home: row.try_get("codex_home")?,
            key: row.try_get("key")?,
            created_at: row.try_get("created_at")?,
            ended_at: row.try_get("ended_at")?,
            why: row.try_get("why")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn intend_host(&self, host: NewHost) -> Result<(), StoreError> {
        self.write(move |conn| {
            Box::pin(async move {
                sqlx::query(
                    "insert into host (nonce, socket, dir, state, version, codex_home, key, created_at)
                     values ($1, $2, $3, 'intended', $4, $5, $6, $7)",
                )
                .bind(host.nonce)
                .bind(host.socket)
                .bind(host.dir)
                .bind(host.version)
                .bind(host.codex_home)
                .bind(host.key)
                .bind(host.created_at)
                .execute(conn)
                .await?;
                Ok(())
            })
        })
        .await
    }

    pub(crate) async fn complete_host(&self, nonce: &str, process: HostProcess) -> Result<(), StoreError> {
        let nonce = nonce.to_owned();
        self.write(move |conn| {
            Box::pin(async move {
                let done = sqlx::query(
                    "update host set state = 'running', pid = $2, started = $3, boot = $4
                     where nonce = $1 and state <> 'ended'",
                )
                .bind(nonce.as_str())
                .bind(process.pid)
                .bind(process.started)
                .bind(process.boot)
                .execute(conn)
                .await?;
                match done.rows_affected() {
                    0 => Err(StoreError::Conflict(format!("no living host {nonce}"))),
                    _ => Ok(()),
                }
            })
        })
        .await
    }

    pub(crate) async fn end_host(&self, nonce: &str, why: &str, at: i64) -> Result<(), StoreError> {
        let (nonce, why) = (nonce.to_owned(), why.to_owned());
        self.write(move |conn| {
            Box::pin(async move {
                sqlx::query(
                    "update host set state = 'ended', why = $2, ended_at = $3 where nonce = $1 and state <> 'ended'",
                )
                .bind(nonce)
                .bind(why)
                .bind(at)
                .execute(conn)
                .await?;
                Ok(())
            })
        })
        .await
    }

    pub(crate) async fn host(&self, nonce: &str) -> Result<Option<HostRow>, StoreError> {
        let found = sqlx::query("select * from host where nonce = $1")
            .bind(nonce)
            .fetch_optional(self.readers())
            .await?;
        rows::one(found.as_ref())
    }

    pub(crate) async fn living_hosts(&self) -> Result<Vec<HostRow>, StoreError> {
        let found = sqlx::query("select * from host where state <> 'ended' order by created_at, nonce")
            .fetch_all(self.readers())
            .await?;
        rows::all(&found)
    }
}
