//! One transaction on the writer's connection: all of it or nothing.
//!
//! `begin immediate`, because a transaction that begins by reading can be refused at its first write.

use futures_util::future::BoxFuture;
use sqlx::sqlite::SqliteConnection;

use crate::error::StoreError;

/// The work of a write inside its transaction.
pub(crate) trait Work<T>:
    for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, StoreError>> + Send + 'static
{
}

impl<T, F> Work<T> for F where
    F: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, StoreError>> + Send + 'static
{
}

/// Does the work in a transaction.
pub(crate) async fn run<T>(conn: &mut SqliteConnection, work: impl Work<T>) -> Result<T, StoreError> {
    sqlx::query("begin immediate").execute(&mut *conn).await?;
    let result = work(&mut *conn).await;
    finish(conn, result).await
}

/// Commits on success, otherwise rolls back.
pub(crate) async fn finish<T>(
    conn: &mut SqliteConnection,
    result: Result<T, StoreError>,
) -> Result<T, StoreError> {
    let committed = match &result {
        Ok(_) => sqlx::query("commit").execute(&mut *conn).await.map(drop).map_err(StoreError::from),
        Err(_) => Ok(()),
    };
    match (result, committed) {
        (Ok(value), Ok(())) => Ok(value),
        (Err(error), _) | (_, Err(error)) => {
            roll_back(conn).await;
            Err(error)
        }
    }
}

/// Rolls back. SQLite may have done so by itself already, and then returns an error.
pub(crate) async fn roll_back(conn: &mut SqliteConnection) {
    let _ = sqlx::query("rollback").execute(conn).await;
}
