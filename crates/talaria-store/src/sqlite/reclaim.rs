//! Frees the space of removed rows in small steps, so that other writers are not blocked.

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use crate::error::StoreError;
use crate::sqlite::SqliteStore;

/// Maximum number of steps; the next run continues.
const STEPS: usize = 10_000;

impl SqliteStore {
    /// Shrinks the index, the file and its log.
    pub(crate) async fn reclaim(&self) -> Result<(), StoreError> {
        // A negative number makes all parts of the index candidates for merging, which is what drops removed entries.
        let mut pages = -200_i64;
        for _ in 0..STEPS {
            if !self.write(move |conn| Box::pin(merge(conn, pages))).await? {
                break;
            }
            pages = 200;
        }
        for _ in 0..STEPS {
            if !self.run(|conn| Box::pin(vacuum(conn))).await? {
                break;
            }
        }
        self.run(|conn| Box::pin(cut_log(conn))).await
    }
}

/// Merges a part of the index. Returns whether there may be more to do.
async fn merge(conn: &mut SqliteConnection, pages: i64) -> Result<bool, StoreError> {
    let before = changes(conn).await?;
    sqlx::query("insert into message_index (message_index, rank) values ('merge', $1)")
        .bind(pages)
        .execute(&mut *conn)
        .await?;
    // A merge that had nothing to do counts as one change or none.
    Ok(changes(conn).await? - before >= 2)
}

async fn changes(conn: &mut SqliteConnection) -> Result<i64, StoreError> {
    Ok(sqlx::query("select total_changes() as changes").fetch_one(conn).await?.try_get("changes")?)
}

/// Releases some free pages. Returns whether there are more.
async fn vacuum(conn: &mut SqliteConnection) -> Result<bool, StoreError> {
    let free = async |conn: &mut SqliteConnection| -> Result<i64, StoreError> {
        Ok(sqlx::query("pragma freelist_count").fetch_one(conn).await?.try_get(0)?)
    };
    let before = free(&mut *conn).await?;
    sqlx::query("pragma incremental_vacuum(500)").execute(&mut *conn).await?;
    let after = free(conn).await?;
    Ok(after > 0 && after < before)
}

/// Writes the log into the file and truncates it. If a reader still uses it, it is truncated another time: waiting for
/// a reader would block every write.
async fn cut_log(conn: &mut SqliteConnection) -> Result<(), StoreError> {
    let patience: i64 = sqlx::query("pragma busy_timeout").fetch_one(&mut *conn).await?.try_get(0)?;
    sqlx::query("pragma busy_timeout = 100").execute(&mut *conn).await?;
    let cut = sqlx::query("pragma wal_checkpoint(truncate)").execute(&mut *conn).await;
    let restore = format!("pragma busy_timeout = {patience}");
    sqlx::query(sqlx::AssertSqlSafe(restore)).execute(conn).await?;
    match cut.map_err(StoreError::from) {
        Ok(_) | Err(StoreError::Busy) => Ok(()),
        Err(error) => Err(error),
    }
}
