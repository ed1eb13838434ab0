//! Checks a database from outside, for `talaria doctor`: really opened, never changed, with a time limit.
//!
//! An engine may be writing the file meanwhile; a reader does not block it. A file without a write-ahead log has
//! no writer, and is opened without creating one.

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _, Row as _};

use crate::error::StoreError;
use crate::model::inspection::Inspection;
use crate::open_error::StoreOpenError;
use crate::sqlite::SqliteStore;
use crate::sqlite::files::{self, Content};
use crate::sqlite::schema::{self, STEPS, Shape};

/// How long another program may keep the file busy.
const BUSY: Duration = Duration::from_secs(2);
/// After how many steps of SQLite (instructions, pages) the clock is read.
const LOOK_EVERY: i32 = 100;

impl SqliteStore {
    pub(crate) async fn inspect(path: &Path, limit: Duration) -> Result<Inspection, StoreOpenError> {
        if files::has_hot_journal(path) {
            return Ok(Inspection::HotJournal);
        }
        match files::examine(path).map_err(|cause| StoreOpenError::of_io(path, cause))? {
            Content::Empty => return Ok(Inspection::Missing),
            Content::NotAFile => return Err(StoreOpenError::NotAFile(path.to_owned())),
            Content::Foreign => return Err(StoreOpenError::Foreign(path.to_owned())),
            Content::Database => {}
        }
        let has_log = files::log_of(path).exists();
        let options = SqliteConnectOptions::new()
            .filename(path)
            .read_only(true)
            .immutable(!has_log)
            .busy_timeout(BUSY)
            .disable_statement_logging();
        let checked = async {
            let mut conn = options.connect().await?;
            let checked = check(&mut conn, limit).await;
            let _ = conn.close().await;
            checked
        };
        let (shape, inspection) = checked.await.map_err(|cause| match cause {
            StoreError::Corrupt(why) => StoreOpenError::FoundDamaged { path: path.to_owned(), why },
            cause => StoreOpenError::of_store(path, cause),
        })?;
        let known = schema::version(STEPS);
        match shape {
            Shape::Foreign => Err(StoreOpenError::Foreign(path.to_owned())),
            Shape::Version(found) if found > known => {
                Err(StoreOpenError::Newer { path: path.to_owned(), found, known })
            }
            Shape::Empty | Shape::Version(_) => Ok(inspection),
        }
    }
}

async fn check(conn: &mut SqliteConnection, limit: Duration) -> Result<(Shape, Inspection), StoreError> {
    let shape = schema::read(conn).await?;
    let until = Instant::now() + limit;
    conn.lock_handle().await?.set_progress_handler(LOOK_EVERY, move || Instant::now() < until);
    let checked = sqlx::query("pragma quick_check(1)").fetch_one(&mut *conn).await;
    conn.lock_handle().await?.remove_progress_handler();
    match checked {
        Ok(row) => {
            let verdict: String = row.try_get(0)?;
            if verdict == "ok" { Ok((shape, Inspection::Sound)) } else { Err(StoreError::Corrupt(verdict)) }
        }
        Err(_) if Instant::now() >= until => Ok((shape, Inspection::SoundSoFar)),
        Err(error) => Err(error.into()),
    }
}
