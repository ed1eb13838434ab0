//! The store in one SQLite file.
//!
//! Map: `open` opens or creates the file and refuses files that it must not touch (`files`, `health`); `schema` has the
//! migrations; `inspect` checks a file for `talaria doctor`. Every write goes to one `writer` task, which commits the
//! batches of many callers together (`group`, `bulk_insert`; other writes run in a `transaction`); reads have their own
//! connections and never wait for it. The other files have one kind of row each: its queries and its statements. `rows`
//! reads rows into the types of `model`, `error` converts SQLite's errors, `reclaim` returns free pages to the file system.

mod api_token;
mod audit;
mod background;
mod budget;
mod bulk_insert;
mod delegation;
mod error;
mod escrow;
mod event;
mod files;
mod fork;
mod group;
mod health;
mod host;
mod identity;
mod import;
mod inspect;
mod lease;
mod memory;
mod memory_file;
mod memory_proposal;
mod message;
mod model_attempt;
mod model_history;
mod model_usage;
mod open;
mod outbox;
mod outbox_claim;
mod proposal;
mod prune;
mod reclaim;
mod request;
mod review;
mod rows;
mod schema;
mod search;
mod session;
mod session_list;
mod skill;
mod skill_proposal;
mod task;
mod task_list;
mod tool_call;
mod transaction;
mod trim;
mod turn;
mod undo_import;
mod writer;

use std::path::{Path, PathBuf};

use sqlx::sqlite::SqlitePool;
use sqlx::{AssertSqlSafe, Row as _};

use crate::error::StoreError;
use crate::model::batch::{Appended, Batch};
use crate::model::size::{RowCounts, StoreSize};
use transaction::Work;
use writer::Writer;

/// An open SQLite file: a handle of the writer and a pool of connections that only read. What its methods promise is
/// written at `Store`.
#[derive(Debug)]
pub(crate) struct SqliteStore {
    path: PathBuf,
    writer: Writer,
    readers: SqlitePool,
}

impl SqliteStore {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) async fn append(&self, batch: Batch) -> Result<Appended, StoreError> {
        self.writer.append(batch).await
    }

    pub(crate) async fn close(&self) {
        // The last connection that closes removes the log, and only one that writes can.
        self.readers.close().await;
        self.writer.close().await;
    }

    pub(crate) async fn counts(&self) -> Result<RowCounts, StoreError> {
        let row = sqlx::query(
            "select (select count(*) from session) as sessions,
                    (select count(*) from turn where stage <> 'settled') as turns,
                    (select count(*) from request
                     where state = 'open' and state in ('open', 'answered', 'delivering', 'escrowed')) as requests,
                    (select count(*) from host where state <> 'ended') as hosts",
        )
        .fetch_one(self.readers())
        .await?;
        Ok(RowCounts {
            sessions: row.try_get("sessions")?,
            unsettled_turns: row.try_get("turns")?,
            open_requests: row.try_get("requests")?,
            living_hosts: row.try_get("hosts")?,
        })
    }

    pub(crate) async fn size(&self) -> Result<StoreSize, StoreError> {
        let row = sqlx::query(
            "select (select page_count from pragma_page_count) as pages,
                    (select freelist_count from pragma_freelist_count) as free,
                    (select page_size from pragma_page_size) as size",
        )
        .fetch_one(self.readers())
        .await?;
        let (pages, free, size): (i64, i64, i64) =
            (row.try_get("pages")?, row.try_get("free")?, row.try_get("size")?);
        let length =
            |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len()).try_into().unwrap_or(0);
        Ok(StoreSize {
            file_bytes: length(self.path()),
            log_bytes: length(&files::log_of(self.path())),
            used_bytes: (pages - free) * size,
        })
    }

    pub(crate) async fn limit_pages(&self, pages: u32) -> Result<(), StoreError> {
        self.run(move |conn| {
            Box::pin(async move {
                let limit = format!("pragma max_page_count = {pages}");
                sqlx::query(AssertSqlSafe(limit)).execute(conn).await?;
                Ok(())
            })
        })
        .await
    }

    /// Connections that read and never wait for the writer.
    fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    /// Runs `work` in its own transaction.
    async fn write<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, StoreError> {
        self.writer.write(work).await
    }

    /// Runs `work` on the writer's connection, not as one transaction.
    async fn run<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, StoreError> {
        self.writer.run(work).await
    }
}
