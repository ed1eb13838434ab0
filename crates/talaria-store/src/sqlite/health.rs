//! A cheap check of a database before anything is written to it.
//!
//! A small file is checked page by page. A large one would take seconds, so only its outline is checked: its length,
//! its schema, and both ends of every table and index. Damage elsewhere is reported when a query meets it.

use std::path::Path;

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row as _};

use crate::error::StoreError;
use crate::sqlite::files;

/// Up to this length a file is checked wholly; takes well under a tenth of a second.
const WHOLLY: u64 = 16 << 20;

/// Fails with `Corrupt` if the database is damaged as far as can be seen.
pub(crate) async fn check(conn: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let length = std::fs::metadata(path).map_or(0, |file| file.len());
    if length <= WHOLLY {
        let row = sqlx::query("pragma quick_check(1)").fetch_one(conn).await?;
        let verdict: String = row.try_get(0)?;
        return if verdict == "ok" { Ok(()) } else { Err(StoreError::Corrupt(verdict)) };
    }
    let row = sqlx::query("select page_count * page_size as bytes from pragma_page_count, pragma_page_size")
        .fetch_one(&mut *conn)
        .await?;
    let said: i64 = row.try_get("bytes")?;
    let has_log = std::fs::metadata(files::log_of(path)).is_ok_and(|log| log.len() > 0);
    // Pages that are only in the log are not missing.
    if !has_log && u64::try_from(said).is_ok_and(|said| length < said) {
        return Err(StoreError::Corrupt(format!("{length} bytes of {said} are there")));
    }
    let tables =
        sqlx::query("select name from sqlite_schema where type = 'table' and sql not like 'create virtual%'")
            .fetch_all(&mut *conn)
            .await?;
    for table in tables {
        let name: String = table.try_get("name")?;
        let quoted = name.replace('"', "\"\"");
        // The name is read from the file and is quoted; the table is walked from both ends.
        for order in ["asc", "desc"] {
            let ends = format!("select * from \"{quoted}\" order by 1 {order} limit 1");
            sqlx::query(AssertSqlSafe(ends)).fetch_optional(&mut *conn).await?;
        }
    }
    Ok(())
}
