//! The background commands of each session, as one JSON text: stored in the transaction that starts or ends one, so that
//! a killed engine leaves the list as it was shown.
//!
//! A session without background commands has no row. The rows are in `meta`, because there are few and they come and go.

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::sqlite::SqliteStore;

/// Prefix of the keys of these rows; the session follows.
const PREFIX: &str = "background/";
/// The first text after every key of these rows.
const BEYOND: &str = "background0";

impl SqliteStore {
    pub(crate) async fn background(&self) -> Result<Vec<(SessionId, String)>, StoreError> {
        let rows = sqlx::query("select key, value from meta where key > $1 and key < $2 order by key")
            .bind(PREFIX)
            .bind(BEYOND)
            .fetch_all(self.readers())
            .await?;
        let read = |row: &sqlx::sqlite::SqliteRow| {
            let key: String = row.try_get("key")?;
            let session = key.strip_prefix(PREFIX).unwrap_or_default();
            Ok((SessionId::new(session), row.try_get("value")?))
        };
        rows.iter().map(read).collect()
    }
}

/// Replaces the row of a session; `None` removes it.
pub(crate) async fn set(
    conn: &mut SqliteConnection,
    session: &SessionId,
    commands: Option<String>,
) -> Result<(), StoreError> {
    let key = format!("{PREFIX}{session}");
    match commands {
        Some(commands) => {
            sqlx::query(
                "insert into meta (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value",
            )
            .bind(key)
            .bind(commands)
            .execute(conn)
            .await?
        }
        None => sqlx::query("delete from meta where key = $1").bind(key).execute(conn).await?,
    };
    Ok(())
}
