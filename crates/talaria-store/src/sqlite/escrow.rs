//! Answers recorded while Codex was down: kept for one turn. `talaria-codex-proto` decides which questions they may still
//! answer.
//!
//! Only an answer that was never written to Codex is kept; one that may have been written is `undelivered`. An answer
//! whose content was secret was not stored, so that there is nothing to keep: its question becomes void.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use talaria_core::ids::{SessionId, TicketId};

use crate::error::StoreError;
use crate::model::request::UnusedAnswer;
use crate::sqlite::rows::{self, FromRow};
use crate::sqlite::{SqliteStore, lease};

impl FromRow for UnusedAnswer {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self { id: TicketId::new(row.try_get::<String, _>("id")?), state: rows::word(row, "state")? })
    }
}

impl SqliteStore {
    pub(crate) async fn expire_escrow(
        &self,
        session: &SessionId,
        epoch: i64,
        ordinal: i64,
        at: i64,
    ) -> Result<Vec<UnusedAnswer>, StoreError> {
        let session = session.clone();
        self.write(move |conn| {
            Box::pin(async move {
                lease::check(conn, &session, epoch).await?;
                let expired = sqlx::query(
                    "update request set state = 'expired', answer_sealed = null, closed_at = $2
                     where session = $1 and state = 'escrowed' and coalesce(turn, 0) < $3
                     returning id, state",
                )
                .bind(session.as_str())
                .bind(at)
                .bind(ordinal)
                .fetch_all(conn)
                .await?;
                rows::all(&expired)
            })
        })
        .await
    }
}
