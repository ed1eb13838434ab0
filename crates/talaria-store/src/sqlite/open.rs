//! Opens a database: checks it first, creates what is missing, and migrates an older file.
//!
//! A file that is damaged, newer or not ours is never changed: it is examined through a connection that cannot
//! write, and refused. The one exception is an unfinished transaction of a killed writer: SQLite rolls it back
//! before anything else, as it does for every program that opens the file.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{ConnectOptions as _, Connection as _};

use crate::error::StoreError;
use crate::model::open_options::{Durability, OpenOptions};
use crate::open_error::StoreOpenError;
use crate::sqlite::files::{self, Content};
use crate::sqlite::schema::{self, STEPS, Shape};
use crate::sqlite::writer::Writer;
use crate::sqlite::{SqliteStore, health};

/// Number of concurrent reads.
const READERS: u32 = 4;
/// The log is cut back to this length when it has been written into the file.
const LOG_LIMIT: i64 = 16 << 20;

impl SqliteStore {
    pub(crate) async fn open(path: &Path, now: i64, options: &OpenOptions) -> Result<Self, StoreOpenError> {
        Self::open_with(path, now, options, STEPS).await
    }

    pub(crate) async fn open_with(
        path: &Path,
        now: i64,
        options: &OpenOptions,
        steps: &'static [&'static str],
    ) -> Result<Self, StoreOpenError> {
        let connect = connect_options(path, options);
        if files::has_hot_journal(path) {
            roll_back(path, &connect).await?;
        }
        let content = files::examine(path).map_err(|cause| StoreOpenError::of_io(path, cause))?;
        match content {
            Content::NotAFile => return Err(StoreOpenError::NotAFile(path.to_owned())),
            Content::Foreign => return Err(StoreOpenError::Foreign(path.to_owned())),
            Content::Empty | Content::Database => {}
        }
        files::prepare(path).map_err(|cause| StoreOpenError::of_io(path, cause))?;
        if content == Content::Database {
            check_existing(path, now, &connect, steps).await?;
        }
        let mut conn =
            open_writer(&connect, options, steps).await.map_err(|cause| damaged(path, now, cause))?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .min_connections(0)
            .acquire_timeout(options.busy_timeout)
            .idle_timeout(Duration::from_secs(60))
            .test_before_acquire(false)
            .connect_lazy_with(connect.read_only(true));
        // A pool opens connections in the background; one that works now shows that reading works at all.
        if let Err(cause) = readers.acquire().await {
            let _ = conn.close().await;
            return Err(StoreOpenError::of_store(path, cause.into()));
        }
        conn.shrink_buffers();
        Ok(Self { path: path.to_owned(), writer: Writer::start(conn), readers })
    }
}

fn connect_options(path: &Path, options: &OpenOptions) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .busy_timeout(options.busy_timeout)
        .foreign_keys(true)
        .disable_statement_logging()
}

/// Rolls back what a writer left half-done that was killed before the file had its write-ahead log. Other damage is
/// found by the check that follows.
async fn roll_back(path: &Path, connect: &SqliteConnectOptions) -> Result<(), StoreOpenError> {
    let roll_back = async {
        let mut conn = connect.clone().connect().await?;
        // The first read rolls back.
        let read = sqlx::query("select count(*) from sqlite_schema").fetch_one(&mut conn).await;
        let _ = conn.close().await;
        read.map(drop)
    };
    match roll_back.await.map_err(StoreError::from) {
        Err(cause @ (StoreError::ReadOnly(_) | StoreError::Full | StoreError::Busy | StoreError::Io(_))) => {
            Err(StoreOpenError::of_store(path, cause))
        }
        _ => Ok(()),
    }
}

/// Checks an existing file without changing it.
async fn check_existing(
    path: &Path,
    now: i64,
    connect: &SqliteConnectOptions,
    steps: &[&str],
) -> Result<(), StoreOpenError> {
    let look = async {
        let mut conn = connect.clone().read_only(true).connect().await?;
        let shape = async {
            health::check(&mut conn, path).await?;
            schema::read(&mut conn).await
        }
        .await;
        let _ = conn.close().await;
        shape
    };
    let known = schema::version(steps);
    match look.await.map_err(|cause| damaged(path, now, cause))? {
        Shape::Foreign => Err(StoreOpenError::Foreign(path.to_owned())),
        Shape::Version(found) if found > known => {
            Err(StoreOpenError::Newer { path: path.to_owned(), found, known })
        }
        Shape::Empty | Shape::Version(_) => Ok(()),
    }
}

async fn open_writer(
    connect: &SqliteConnectOptions,
    options: &OpenOptions,
    steps: &'static [&'static str],
) -> Result<SqliteConnection, StoreError> {
    let synchronous = match options.durability {
        Durability::PowerLoss => SqliteSynchronous::Full,
        Durability::Crash => SqliteSynchronous::Normal,
    };
    let mut writer = connect
        .clone()
        .auto_vacuum(SqliteAutoVacuum::Incremental)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        .pragma("journal_size_limit", LOG_LIMIT.to_string());
    if let Some(pages) = options.max_page_count {
        writer = writer.pragma("max_page_count", pages.to_string());
    }
    let mut conn = writer.connect().await?;
    let from = match schema::read(&mut conn).await? {
        Shape::Version(version) => version,
        Shape::Empty | Shape::Foreign => 0,
    };
    schema::migrate(&mut conn, from, steps).await?;
    Ok(conn)
}

/// Reports a damaged file after copying it; returns any other error unchanged.
fn damaged(path: &Path, now: i64, cause: StoreError) -> StoreOpenError {
    let StoreError::Corrupt(why) = cause else { return StoreOpenError::of_store(path, cause) };
    let path = path.to_owned();
    match files::copy_aside(&path, now) {
        Ok(copy) => StoreOpenError::Damaged { path, copy, why },
        Err(cause) => StoreOpenError::DamagedAndNotCopied { path, why, cause },
    }
}
