//! A database of another program: opened so that nothing of it changes, and read so that nothing in it is trusted to
//! have the type or the columns it should have.

use std::collections::HashSet;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{ConnectOptions as _, Row as _};
use talaria_store::StoreError;

use crate::error::{DatabaseError, SourceProgram};

/// The first bytes of an SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The database of a program.
#[derive(Clone, Copy)]
pub(crate) struct SourceDatabase<'a> {
    pub(crate) path: &'a Path,
    pub(crate) program: SourceProgram,
}

impl SourceDatabase<'_> {
    /// Opens it to be read only.
    pub(crate) async fn open(self) -> Result<SqliteConnection, DatabaseError> {
        if !std::fs::metadata(self.path).map_err(|error| self.not_read(&error))?.is_file() {
            let why = "it is no file".to_owned();
            return Err(DatabaseError::Unreadable { path: self.path.to_owned(), why });
        }
        let head = self.head().map_err(|error| self.not_read(&error))?;
        if head.is_empty() {
            return Err(self.foreign("it is empty"));
        }
        if !head.starts_with(MAGIC) {
            return Err(self.foreign("it is no SQLite file"));
        }
        // Without a log there is nothing to share with a writer: reading must then not create files next to it.
        let has_log_format = head.get(18) == Some(&2);
        let is_at_rest = has_log_format && !log_of(self.path).exists();
        let options = SqliteConnectOptions::new().filename(self.path).read_only(true).immutable(is_at_rest);
        let conn = options.disable_statement_logging().connect().await;
        conn.map_err(|error| self.failed(error.into()))
    }

    /// The header of the file: its type, and whether it has a write-ahead log.
    fn head(self) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        std::fs::File::open(self.path)?.take(20).read_to_end(&mut head)?;
        Ok(head)
    }

    /// It is something else.
    pub(crate) fn foreign(self, why: &str) -> DatabaseError {
        DatabaseError::Foreign { path: self.path.to_owned(), program: self.program, why: why.to_owned() }
    }

    /// What SQLite said about it. The store's errors classify what SQLite says, also of a file that is not ours.
    pub(crate) fn failed(self, error: StoreError) -> DatabaseError {
        let path = self.path.to_owned();
        match error {
            StoreError::Corrupt(why) => DatabaseError::Damaged { path, why },
            error => DatabaseError::Unreadable { path, why: error.to_string() },
        }
    }

    fn not_read(self, error: &io::Error) -> DatabaseError {
        let path = self.path.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => DatabaseError::NotThere { path, program: self.program },
            _ => DatabaseError::Unreadable { path, why: error.to_string() },
        }
    }
}

fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// The columns that a table has; none if there is no such table.
pub(crate) async fn columns(conn: &mut SqliteConnection, table: &str) -> Result<HashSet<String>, StoreError> {
    let found = sqlx::query("select name from pragma_table_info($1)").bind(table).fetch_all(conn).await?;
    found.iter().map(|row| Ok(row.try_get("name")?)).collect()
}

/// A column as what it should be, or nothing where an older file has none.
pub(crate) fn column_or_null(columns: &HashSet<String>, name: &str, kind: &str) -> String {
    if columns.contains(name) {
        format!("cast({name} as {kind}) as {name}")
    } else {
        format!("null as {name}")
    }
}

/// A text, whatever bytes it has.
pub(crate) fn text(row: &SqliteRow, column: &str) -> Result<Option<String>, StoreError> {
    let bytes: Option<Vec<u8>> = row.try_get(column)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Seconds with a fraction as milliseconds.
pub(crate) fn time(row: &SqliteRow, column: &str) -> Result<Option<i64>, StoreError> {
    let seconds: Option<f64> = row.try_get(column)?;
    // A time out of range becomes the nearest valid one.
    Ok(seconds.map(|seconds| (seconds * 1000.0).round() as i64))
}
