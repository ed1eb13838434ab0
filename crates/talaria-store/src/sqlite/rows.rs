//! Reads rows of SQLite into the types of `model`.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use talaria_core::learning::progress::ReviewCount;

use crate::error::StoreError;
use crate::model::words::Word;

/// A value that is read from a row of a query.
pub(crate) trait FromRow: Sized {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError>;
}

/// Reads all rows.
pub(crate) fn all<T: FromRow>(rows: &[SqliteRow]) -> Result<Vec<T>, StoreError> {
    rows.iter().map(T::from_row).collect()
}

/// Reads the row if there is one.
pub(crate) fn one<T: FromRow>(row: Option<&SqliteRow>) -> Result<Option<T>, StoreError> {
    row.map(T::from_row).transpose()
}

/// Reads an id that may be missing.
pub(crate) fn id<T>(row: &SqliteRow, column: &str, make: fn(String) -> T) -> Result<Option<T>, StoreError> {
    Ok(row.try_get::<Option<String>, _>(column)?.map(make))
}

/// Reads the counters of a session.
pub(crate) fn review_count(row: &SqliteRow) -> Result<ReviewCount, StoreError> {
    let number =
        |column: &str| Ok::<_, StoreError>(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or(0));
    Ok(ReviewCount {
        turns: number("review_turns")?,
        calls: number("review_calls")?,
        is_foreign: row.try_get("has_foreign_text")?,
    })
}

/// Reads a state or kind.
pub(crate) fn word<T: Word>(row: &SqliteRow, column: &str) -> Result<T, StoreError> {
    T::read(row.try_get(column)?)
}
