//! Changes of the memory that wait for a person. A proposal is decided once, in the transaction that makes its changes.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::error::StoreError;
use crate::model::memory::{MemoryOrigin, MemoryProposalRow};
use crate::sqlite::SqliteStore;
use crate::sqlite::proposal::bind_origin;
use crate::sqlite::rows::{self, FromRow};

impl FromRow for MemoryProposalRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.try_get("id")?,
            state: rows::word(row, "state")?,
            reason: row.try_get("reason")?,
            changes: row.try_get("changes")?,
            origin: MemoryOrigin::from_row(row)?,
            at: row.try_get("at")?,
            decided_at: row.try_get("decided_at")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn propose_memory(&self, proposal: MemoryProposalRow) -> Result<(), StoreError> {
        self.write(move |conn| {
            Box::pin(async move {
                let insert = sqlx::query(
                    "insert into memory_proposal (id, state, reason, changes, author, session, turn, call, at, decided_at)
                     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
                )
                .bind(proposal.id)
                .bind(proposal.state.as_str())
                .bind(proposal.reason)
                .bind(proposal.changes);
                let insert = bind_origin(insert, &proposal.origin).bind(proposal.at).bind(proposal.decided_at);
                insert.execute(conn).await?;
                Ok(())
            })
        })
        .await
    }

    pub(crate) async fn memory_proposal(&self, id: &str) -> Result<Option<MemoryProposalRow>, StoreError> {
        let found = sqlx::query("select * from memory_proposal where id = $1")
            .bind(id)
            .fetch_optional(self.readers())
            .await?;
        rows::one(found.as_ref())
    }

    pub(crate) async fn memory_proposal_of(
        &self,
        call: &str,
    ) -> Result<Option<MemoryProposalRow>, StoreError> {
        let found = sqlx::query("select * from memory_proposal where call = $1 order by at, id limit 1")
            .bind(call)
            .fetch_optional(self.readers())
            .await?;
        rows::one(found.as_ref())
    }

    pub(crate) async fn pending_memory(&self) -> Result<Vec<MemoryProposalRow>, StoreError> {
        let found = sqlx::query("select * from memory_proposal where state = 'pending' order by at, id")
            .fetch_all(self.readers())
            .await?;
        rows::all(&found)
    }
}
