//! Opening: looks before it touches, makes what is missing, and brings an older file up to date.
//!
//! A file that is damaged, newer or somebody else's is never changed: it is looked at through a connection that cannot
//! write, and refused. The one exception is a transaction that its writer did not live to finish: SQLite rolls it back
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
use crate::open_error::OpenError;
use crate::sqlite::files::{self, Content};
use crate::sqlite::schema::{self, STEPS, Shape};
use crate::sqlite::writer::Writer;
use crate::sqlite::{SqliteStore, health};

/// How many reads can go on at once.
const READERS: u32 = 4;
/// The log is cut back to this length when it has been written into the file.
const LOG_LIMIT: i64 = 16 << 20;

impl SqliteStore {
    pub(crate) async fn open(path: &Path, now: i64, options: &OpenOptions) -> Result<Self, OpenError> {
        Self::open_with(path, now, options, STEPS).await
    }

    pub(crate) async fn open_with(
        path: &Path,
        now: i64,
        options: &OpenOptions,
        steps: &'static [&'static str],
    ) -> Result<Self, OpenError> {
        let connect = connect_options(path, options);
        if files::has_hot_journal(path) {
            roll_back(path, &connect).await?;
        }
        let content = files::look(path).map_err(|cause| OpenError::of_io(path, cause))?;
        match content {
            Content::NotAFile => return Err(OpenError::NotAFile(path.to_owned())),
            Content::Foreign => return Err(OpenError::Foreign(path.to_owned())),
            Content::Empty | Content::Database => {}
        }
        files::prepare(path).map_err(|cause| OpenError::of_io(path, cause))?;
        if content == Content::Database {
            look_before(path, now, &connect, steps).await?;
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
            return Err(OpenError::of_store(path, cause.into()));
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

/// Rolls back what a writer left half-done that was killed before the file had its write-ahead log. What else is wrong
/// with the file is found by looking at it afterwards.
async fn roll_back(path: &Path, connect: &SqliteConnectOptions) -> Result<(), OpenError> {
    let roll_back = async {
        let mut conn = connect.clone().connect().await?;
        // The first read rolls back.
        let read = sqlx::query("select count(*) from sqlite_schema").fetch_one(&mut conn).await;
        let _ = conn.close().await;
        read.map(drop)
    };
    match roll_back.await.map_err(StoreError::from) {
        Err(cause @ (StoreError::ReadOnly(_) | StoreError::Full | StoreError::Busy | StoreError::Io(_))) => {
            Err(OpenError::of_store(path, cause))
        }
        _ => Ok(()),
    }
}

/// Looks at a file that is there, without changing it.
async fn look_before(
    path: &Path,
    now: i64,
    connect: &SqliteConnectOptions,
    steps: &[&str],
) -> Result<(), OpenError> {
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
        Shape::Foreign => Err(OpenError::Foreign(path.to_owned())),
        Shape::Version(found) if found > known => {
            Err(OpenError::Newer { path: path.to_owned(), found, known })
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

/// Says that a file is damaged, after copying it aside; any other reason is told as it is.
fn damaged(path: &Path, now: i64, cause: StoreError) -> OpenError {
    let StoreError::Corrupt(why) = cause else { return OpenError::of_store(path, cause) };
    let path = path.to_owned();
    match files::copy_aside(&path, now) {
        Ok(copy) => OpenError::Damaged { path, copy, why },
        Err(cause) => OpenError::DamagedAndNotCopied { path, why, cause },
    }
}
