//! The mirrored files as they were last written or read, the texts that people wrote into them, and what conversations were sent.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::memory::{MemoryMirror, MemorySnapshotRow};
use crate::sqlite::SqliteStore;
use crate::sqlite::rows::{self, FromRow};

impl FromRow for MemoryMirror {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self { scope: row.try_get("scope")?, text: row.try_get("text")? })
    }
}

impl FromRow for MemorySnapshotRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let entries: String = row.try_get("entries")?;
        Ok(Self {
            session: SessionId::new(row.try_get::<String, _>("session")?),
            digest: row.try_get("digest")?,
            text: row.try_get("text")?,
            entries: serde_json::from_str(&entries)
                .map_err(|error| StoreError::Unreadable(format!("entries of a snapshot: {error}")))?,
            at: row.try_get("at")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn memory_mirror(&self, scope: &str) -> Result<Option<MemoryMirror>, StoreError> {
        let found = sqlx::query("select * from memory_mirror where scope = $1")
            .bind(scope)
            .fetch_optional(self.readers())
            .await?;
        rows::one(found.as_ref())
    }

    pub(crate) async fn memory_file_texts(&self, scope: &str) -> Result<Vec<String>, StoreError> {
        let found = sqlx::query("select text from memory_file_text where scope = $1 order by id desc")
            .bind(scope)
            .fetch_all(self.readers())
            .await?;
        found.iter().map(|row| Ok(row.try_get("text")?)).collect()
    }

    pub(crate) async fn add_memory_snapshot(&self, snapshot: MemorySnapshotRow) -> Result<(), StoreError> {
        let entries = serde_json::json!(snapshot.entries).to_string();
        self.write(move |conn| {
            Box::pin(async move {
                sqlx::query(
                    "insert into memory_snapshot_text (digest, text) values ($1, $2) on conflict do nothing",
                )
                .bind(snapshot.digest.as_str())
                .bind(snapshot.text)
                .execute(&mut *conn)
                .await?;
                sqlx::query(
                    "insert into memory_snapshot (session, digest, entries, at) values ($1, $2, $3, $4)",
                )
                .bind(snapshot.session.as_str())
                .bind(snapshot.digest)
                .bind(entries)
                .bind(snapshot.at)
                .execute(conn)
                .await?;
                Ok(())
            })
        })
        .await
    }

    pub(crate) async fn memory_snapshots(
        &self,
        session: &SessionId,
    ) -> Result<Vec<MemorySnapshotRow>, StoreError> {
        let found = sqlx::query(
            "select * from memory_snapshot join memory_snapshot_text using (digest)
             where session = $1 order by id",
        )
        .bind(session.as_str())
        .fetch_all(self.readers())
        .await?;
        rows::all(&found)
    }
}

/// Records the text that a file has now.
pub(crate) async fn set_mirror(
    conn: &mut SqliteConnection,
    mirror: MemoryMirror,
    at: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "insert into memory_mirror (scope, text, at) values ($1, $2, $3)
         on conflict (scope) do update set text = excluded.text, at = excluded.at",
    )
    .bind(mirror.scope)
    .bind(mirror.text)
    .bind(at)
    .execute(conn)
    .await?;
    Ok(())
}

/// Stores a text that a person wrote into a file.
pub(crate) async fn insert_text(
    conn: &mut SqliteConnection,
    text: MemoryMirror,
    at: i64,
) -> Result<(), StoreError> {
    sqlx::query("insert into memory_file_text (scope, text, at) values ($1, $2, $3)")
        .bind(text.scope)
        .bind(text.text)
        .bind(at)
        .execute(conn)
        .await?;
    Ok(())
}
