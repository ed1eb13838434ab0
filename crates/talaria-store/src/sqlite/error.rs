//! What SQLite and sqlx say, as the errors of a store.

use libsqlite3_sys as sqlite;

use crate::error::StoreError;

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let code = match &error {
            sqlx::Error::Database(error) => error.code().and_then(|code| code.parse::<i32>().ok()),
            sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => return Self::Closed,
            sqlx::Error::PoolTimedOut => return Self::Busy,
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::ColumnNotFound(_) => {
                return Self::Unreadable(error.to_string());
            }
            sqlx::Error::Io(error) => return Self::Io(error.to_string()),
            _ => None,
        };
        let why = match error.as_database_error() {
            Some(error) => error.message().to_owned(),
            None => error.to_string(),
        };
        of_code(code, why)
    }
}

/// Converts an extended result code of SQLite; `why` is SQLite's message.
fn of_code(code: Option<i32>, why: String) -> StoreError {
    if code == Some(sqlite::SQLITE_READONLY_DBMOVED) {
        return StoreError::Moved;
    }
    // The lower byte is the primary code, the rest is the extended one.
    match code.map(|code| code & 0xff) {
        Some(sqlite::SQLITE_FULL) => StoreError::Full,
        Some(sqlite::SQLITE_BUSY | sqlite::SQLITE_LOCKED | sqlite::SQLITE_PROTOCOL) => StoreError::Busy,
        Some(sqlite::SQLITE_READONLY | sqlite::SQLITE_PERM) => StoreError::ReadOnly(why),
        Some(sqlite::SQLITE_IOERR | sqlite::SQLITE_CANTOPEN | sqlite::SQLITE_NOMEM) => StoreError::Io(why),
        Some(sqlite::SQLITE_CORRUPT | sqlite::SQLITE_NOTADB) => StoreError::Corrupt(why),
        Some(sqlite::SQLITE_CONSTRAINT | sqlite::SQLITE_TOOBIG | sqlite::SQLITE_MISMATCH) => {
            StoreError::Conflict(why)
        }
        _ => StoreError::Refused(why),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn each_cause_has_its_own_words_and_a_hint_that_fits() {
        let told = |error: StoreError| format!("{error}\n  {}\n", error.next_step().in_shell());
        let code = |code| told(of_code(Some(code), "why".to_owned()));
        let codes = [
            sqlite::SQLITE_FULL,
            sqlite::SQLITE_LOCKED_SHAREDCACHE,
            sqlite::SQLITE_READONLY_DIRECTORY,
            sqlite::SQLITE_READONLY_DBMOVED,
            sqlite::SQLITE_IOERR_WRITE,
            sqlite::SQLITE_NOMEM,
            sqlite::SQLITE_CORRUPT,
            sqlite::SQLITE_ERROR,
        ];
        expect![[r#"
            the disk is full
              make room on the disk, then try again
            the database is busy
              try again; if it stays busy, end other programs that have the database open
            the database is read-only: why
              make the home writable, or set TALARIA_HOME to a directory that you can write
            the file of the database was moved or deleted while it was open
              put the file back, then run `talaria stop` and try again
            reading or writing the database failed: why
              check the disk, the permissions of the home and the free memory, then try again
            reading or writing the database failed: why
              check the disk, the permissions of the home and the free memory, then try again
            the database is damaged: why
              run `talaria stop`, then try again: the file is checked, and copied if it is damaged
            the database refused: why
              this is a bug, or a newer Talaria wrote the database: run `talaria doctor`
        "#]]
        .assert_eq(&codes.map(code).concat());
        // It may be this program that is busy.
        expect![[r#"
            the database is busy
              try again; if it stays busy, end other programs that have the database open
        "#]]
        .assert_eq(&told(sqlx::Error::PoolTimedOut.into()));
    }
}
