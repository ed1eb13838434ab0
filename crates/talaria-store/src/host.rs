//! Hosts: the Codex processes that Talaria started. The intent is kept before the process exists, so that none is lost.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::error::StoreError;
use crate::rows::{self, FromRow};
use crate::store::Store;
use crate::words::HostState;

/// A Codex process that is about to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewHost {
    /// What the process carries in its environment, to prove that it is ours.
    pub nonce: String,
    /// Where it will listen.
    pub socket: String,
    /// Its private directory.
    pub dir: String,
    /// The version of Codex.
    pub version: String,
    /// Its `CODEX_HOME`, if one was set.
    pub codex_home: Option<String>,
    /// A digest of what a host must have in common with a session.
    pub key: String,
    /// When.
    pub created_at: i64,
}

/// What tells a process from another that got the same pid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostProcess {
    /// Its pid.
    pub pid: i32,
    /// When it started, as the system says it.
    pub started: String,
    /// Since which start of the machine.
    pub boot: String,
}

/// A Codex process that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// What the process carries in its environment.
    pub nonce: String,
    /// Where it listens.
    pub socket: String,
    /// Its private directory.
    pub dir: String,
    /// How far it is.
    pub state: HostState,
    /// The process, once it is known.
    pub process: Option<HostProcess>,
    /// The version of Codex.
    pub version: String,
    /// Its `CODEX_HOME`, if one was set.
    pub codex_home: Option<String>,
    /// A digest of what a host must have in common with a session.
    pub key: String,
    /// When it was intended.
    pub created_at: i64,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// Why it ended.
    pub why: Option<String>,
}

impl FromRow for Host {
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

impl Store {
    /// Keeps that a host is about to be started. The nonce must be new.
    pub async fn intend_host(&self, host: NewHost) -> Result<(), StoreError> {
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

    /// Keeps which process an intended host became. Once more with the same process changes nothing; a host that has
    /// ended is a conflict.
    pub async fn complete_host(&self, nonce: &str, process: HostProcess) -> Result<(), StoreError> {
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

    /// Keeps that a host is gone, and why. The first reason stays.
    pub async fn end_host(&self, nonce: &str, why: &str, at: i64) -> Result<(), StoreError> {
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

    /// Gives one host.
    pub async fn host(&self, nonce: &str) -> Result<Option<Host>, StoreError> {
        let found = sqlx::query("select * from host where nonce = $1")
            .bind(nonce)
            .fetch_optional(self.readers())
            .await?;
        rows::one(found.as_ref())
    }

    /// Gives every host that has not ended, as far as anybody noticed, oldest first.
    pub async fn living_hosts(&self) -> Result<Vec<Host>, StoreError> {
        let found = sqlx::query("select * from host where state <> 'ended' order by created_at, nonce")
            .fetch_all(self.readers())
            .await?;
        rows::all(&found)
    }
}
