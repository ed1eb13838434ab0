//! What everybody holds: a way to the writer and a pool of connections that only read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqlx::sqlite::SqlitePool;
use sqlx::{AssertSqlSafe, Row as _};

use crate::batch::{Appended, Batch};
use crate::error::StoreError;
use crate::transaction::Work;
use crate::writer::Writer;

/// Everything that Talaria keeps. Clones are the same store.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    writer: Writer,
    readers: SqlitePool,
}

/// How much there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// All sessions.
    pub sessions: i64,
    /// Turns that are not settled.
    pub unsettled_turns: i64,
    /// Requests that wait for a person.
    pub open_requests: i64,
    /// Hosts that have not ended.
    pub living_hosts: i64,
}

/// How much room it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The file, without what waits in its log.
    pub file_bytes: i64,
    /// The log beside the file.
    pub log_bytes: i64,
    /// What is in use in the file.
    pub used_bytes: i64,
}

impl Store {
    pub(crate) fn new(path: PathBuf, writer: Writer, readers: SqlitePool) -> Self {
        Self { inner: Arc::new(Inner { path, writer, readers }) }
    }

    /// Where the database is.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Appends events and changes rows, all or nothing. When it returns, they are on the disk. A caller that stops
    /// waiting leaves it open whether they are, but never a part of them.
    pub async fn append(&self, batch: Batch) -> Result<Appended, StoreError> {
        self.inner.writer.append(batch).await
    }

    /// Does what waits and closes the file. Every later call is told that the store is closed.
    pub async fn close(&self) {
        // The last connection to be closed tidies the log away, and only one that writes can.
        self.inner.readers.close().await;
        self.inner.writer.close().await;
    }

    /// Counts what there is.
    pub async fn counts(&self) -> Result<Counts, StoreError> {
        let row = sqlx::query(
            "select (select count(*) from session) as sessions,
                    (select count(*) from turn where stage <> 'settled') as turns,
                    (select count(*) from request
                     where state = 'open' and state in ('open', 'answered', 'delivering', 'escrowed')) as requests,
                    (select count(*) from host where state <> 'ended') as hosts",
        )
        .fetch_one(self.readers())
        .await?;
        Ok(Counts {
            sessions: row.try_get("sessions")?,
            unsettled_turns: row.try_get("turns")?,
            open_requests: row.try_get("requests")?,
            living_hosts: row.try_get("hosts")?,
        })
    }

    /// Says how much room it takes.
    pub async fn size(&self) -> Result<Size, StoreError> {
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
        Ok(Size {
            file_bytes: length(self.path()),
            log_bytes: length(&crate::files::log_of(self.path())),
            used_bytes: (pages - free) * size,
        })
    }

    /// Limits the file to so many pages of 4 KiB from now on, to see what a full disk does.
    pub async fn limit_pages(&self, pages: u32) -> Result<(), StoreError> {
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
    pub(crate) fn readers(&self) -> &SqlitePool {
        &self.inner.readers
    }

    /// Does some work in a transaction of its own.
    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, StoreError> {
        self.inner.writer.write(work).await
    }

    /// Does some work on the writer's connection that is not one transaction.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, StoreError> {
        self.inner.writer.run(work).await
    }
}
