//! Memory entries and their revisions. An entry changes together with the revision that says so, and only if it is what the
//! writer read: everything is checked before the first row is written.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use talaria_core::memory::{MemoryChange, MemoryEntry, MemoryScope};

use crate::error::StoreError;
use crate::model::memory::{
    MemoryEntryRow, MemoryOrigin, MemoryRevisionFilter, MemoryRevisionRow, MemoryWrite, MemoryWriteResult,
};
use crate::model::words::MemoryProposalState;
use crate::sqlite::proposal::{ProposalTable, bind_origin};
use crate::sqlite::rows::{self, FromRow};
use crate::sqlite::{SqliteStore, memory_file};

impl FromRow for MemoryEntryRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let entry = MemoryEntry {
            id: row.try_get("id")?,
            scope: scope(row)?,
            text: row.try_get("text")?,
            revision: row.try_get("revision")?,
        };
        Ok(Self { entry, is_removed: row.try_get("is_removed")?, updated_at: row.try_get("updated_at")? })
    }
}

impl FromRow for MemoryRevisionRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let change = MemoryChange {
            entry: row.try_get("entry")?,
            scope: scope(row)?,
            expects: None,
            before: row.try_get("before")?,
            after: row.try_get("after")?,
        };
        Ok(Self {
            id: row.try_get("id")?,
            change,
            origin: MemoryOrigin::from_row(row)?,
            undoes: row.try_get("undoes")?,
            at: row.try_get("at")?,
        })
    }
}

fn scope(row: &SqliteRow) -> Result<MemoryScope, StoreError> {
    let stored: String = row.try_get("scope")?;
    MemoryScope::from_stored(&stored)
        .ok_or_else(|| StoreError::Unreadable(format!("scope of the memory `{stored}`")))
}

impl SqliteStore {
    pub(crate) async fn memory_entries(&self) -> Result<Vec<MemoryEntryRow>, StoreError> {
        let found = sqlx::query("select * from memory_entry where is_removed = 0 order by position")
            .fetch_all(self.readers())
            .await?;
        rows::all(&found)
    }

    pub(crate) async fn memory_entry(&self, id: &str) -> Result<Option<MemoryEntryRow>, StoreError> {
        let found = sqlx::query("select * from memory_entry where id = $1")
            .bind(id)
            .fetch_optional(self.readers())
            .await?;
        rows::one(found.as_ref())
    }

    pub(crate) async fn memory_revision(&self, id: i64) -> Result<Option<MemoryRevisionRow>, StoreError> {
        let found = sqlx::query("select * from memory_revision where id = $1")
            .bind(id)
            .fetch_optional(self.readers())
            .await?;
        rows::one(found.as_ref())
    }

    pub(crate) async fn memory_revisions(
        &self,
        filter: &MemoryRevisionFilter,
        limit: u32,
    ) -> Result<Vec<MemoryRevisionRow>, StoreError> {
        let found = sqlx::query(
            "select * from memory_revision
             where ($1 is null or entry = $1) and id < coalesce($2, 9223372036854775807) and ($4 is null or call = $4)
             order by id desc limit $3",
        )
        .bind(filter.entry.as_deref())
        .bind(filter.before)
        .bind(limit)
        .bind(filter.call.as_deref())
        .fetch_all(self.readers())
        .await?;
        rows::all(&found)
    }

    pub(crate) async fn write_memory(&self, write: MemoryWrite) -> Result<MemoryWriteResult, StoreError> {
        self.write(move |conn| Box::pin(async move { write_all(conn, write).await })).await
    }
}

async fn write_all(conn: &mut SqliteConnection, write: MemoryWrite) -> Result<MemoryWriteResult, StoreError> {
    if let Some((proposal, _)) = &write.decides {
        let state = ProposalTable::Memory.state(conn, proposal).await?;
        if state != MemoryProposalState::Pending {
            return Ok(MemoryWriteResult::Decided { state });
        }
    }
    for change in &write.changes {
        if !is_current(conn, change).await? {
            return Ok(MemoryWriteResult::Stale { entry: change.entry.clone() });
        }
    }
    let mut revisions = Vec::new();
    for change in write.changes {
        revisions.push(insert(conn, change, &write.origin, write.undoes, write.at).await?);
    }
    if let Some((proposal, state)) = write.decides {
        ProposalTable::Memory.decide(conn, &proposal, state, write.at).await?;
    }
    if let Some(text) = write.file_text {
        memory_file::insert_text(conn, text, write.at).await?;
    }
    if let Some(mirror) = write.mirror {
        memory_file::set_mirror(conn, mirror, write.at).await?;
    }
    Ok(MemoryWriteResult::Written(revisions))
}

/// Returns whether the entry is what the writer read.
async fn is_current(conn: &mut SqliteConnection, change: &MemoryChange) -> Result<bool, StoreError> {
    let found = sqlx::query("select revision from memory_entry where id = $1")
        .bind(change.entry.as_str())
        .fetch_optional(conn)
        .await?;
    let revision: Option<i64> = found.map(|row| row.try_get("revision")).transpose()?;
    Ok(revision == change.expects)
}

async fn insert(
    conn: &mut SqliteConnection,
    change: MemoryChange,
    origin: &MemoryOrigin,
    undoes: Option<i64>,
    at: i64,
) -> Result<i64, StoreError> {
    let MemoryChange { entry, scope, before, after, .. } = change;
    let Some(last) = after.as_ref().or(before.as_ref()) else {
        return Err(StoreError::Conflict(format!("the change of {entry} has no text")));
    };
    let insert = sqlx::query(
        "insert into memory_revision (entry, scope, before, after, author, session, turn, call, undoes, at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(entry.as_str())
    .bind(scope.to_string())
    .bind(before.as_deref())
    .bind(after.as_deref());
    let inserted = bind_origin(insert, origin).bind(undoes).bind(at).execute(&mut *conn).await?;
    let revision = inserted.last_insert_rowid();
    sqlx::query(
        "insert into memory_entry (id, scope, text, is_removed, revision, position, updated_at)
         values ($1, $2, $3, $4, $5, $5, $6)
         on conflict (id) do update set
             text = excluded.text, is_removed = excluded.is_removed, revision = excluded.revision,
             updated_at = excluded.updated_at",
    )
    .bind(entry.as_str())
    .bind(scope.to_string())
    .bind(last.as_str())
    .bind(after.is_none())
    .bind(revision)
    .bind(at)
    .execute(conn)
    .await?;
    Ok(revision)
}
