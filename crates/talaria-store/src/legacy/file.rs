//! A database of another program: opened so that nothing of it changes, and read so that nothing in it is trusted to
//! have the type or the columns it should have.

use std::collections::HashSet;
use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{ConnectOptions as _, Row as _};

use super::{LegacyError, Program};
use crate::error::StoreError;
use crate::files::{self, Content};

/// The database of a program.
#[derive(Clone, Copy)]
pub(super) struct File<'a> {
    pub(super) path: &'a Path,
    pub(super) program: Program,
}

impl File<'_> {
    /// Opens it to be read only.
    pub(super) async fn open(self) -> Result<SqliteConnection, LegacyError> {
        let content = std::fs::metadata(self.path).and_then(|_| files::look(self.path));
        match content.map_err(|error| LegacyError::of_io(self, &error))? {
            Content::Empty => return Err(self.foreign("it is empty")),
            Content::Foreign => return Err(self.foreign("it is no SQLite file")),
            Content::NotAFile => {
                return Err(LegacyError::Unreadable {
                    path: self.path.to_owned(),
                    why: "it is no file".to_owned(),
                });
            }
            Content::Database => {}
        }
        // Without a log there is nothing to share with a writer: reading must then not leave files beside it.
        let is_at_rest = is_logged(self.path) && !files::log_of(self.path).exists();
        let options = SqliteConnectOptions::new().filename(self.path).read_only(true).immutable(is_at_rest);
        let conn = options.disable_statement_logging().connect().await;
        conn.map_err(|error| self.failed(error.into()))
    }

    /// It is something else.
    pub(super) fn foreign(self, why: &str) -> LegacyError {
        LegacyError::Foreign { path: self.path.to_owned(), program: self.program, why: why.to_owned() }
    }

    /// What SQLite said about it.
    pub(super) fn failed(self, error: StoreError) -> LegacyError {
        let path = self.path.to_owned();
        match error {
            StoreError::Corrupt(why) => LegacyError::Damaged { path, why },
            error => LegacyError::Unreadable { path, why: error.to_string() },
        }
    }
}

/// Does the file say of itself that it has a write-ahead log?
fn is_logged(path: &Path) -> bool {
    use std::io::Read as _;
    let mut head = [0; 20];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head[18] == 2
}

/// The columns that a table has; none if there is no such table.
pub(super) async fn columns(conn: &mut SqliteConnection, table: &str) -> Result<HashSet<String>, StoreError> {
    let found = sqlx::query("select name from pragma_table_info($1)").bind(table).fetch_all(conn).await?;
    found.iter().map(|row| Ok(row.try_get("name")?)).collect()
}

/// A column as what it should be, or nothing where an older file has none.
pub(super) fn wanted(columns: &HashSet<String>, name: &str, kind: &str) -> String {
    if columns.contains(name) {
        format!("cast({name} as {kind}) as {name}")
    } else {
        format!("null as {name}")
    }
}

/// A text, whatever bytes it has.
pub(super) fn text(row: &SqliteRow, column: &str) -> Result<Option<String>, StoreError> {
    let bytes: Option<Vec<u8>> = row.try_get(column)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Seconds with a fraction as milliseconds.
pub(super) fn time(row: &SqliteRow, column: &str) -> Result<Option<i64>, StoreError> {
    let seconds: Option<f64> = row.try_get(column)?;
    // What is out of range becomes the nearest time that is in it.
    Ok(seconds.map(|seconds| (seconds * 1000.0).round() as i64))
}
