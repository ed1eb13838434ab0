//! Answers that were given while Codex was gone: kept for one turn. What they may still answer is for `talaria_core::escrow`.
//!
//! Only an answer that was never written to Codex is kept; one that may have been written is `undelivered`. An answer
//! whose content was secret was not stored, so that there is nothing to keep: its question becomes void.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use talaria_core::ids::{SessionId, TicketId};

use crate::error::StoreError;
use crate::lease;
use crate::rows::{self, FromRow};
use crate::store::Store;
use crate::words::RequestState;

/// What became of a request when Codex died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRequest {
    /// The request.
    pub id: TicketId,
    /// `escrowed`, `undelivered` or `void`.
    pub state: RequestState,
}

impl FromRow for LostRequest {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self { id: TicketId::new(row.try_get::<String, _>("id")?), state: rows::word(row, "state")? })
    }
}

impl Store {
    /// Says of every pending request of a session that its Codex is gone. Answers that were never written go into
    /// escrow until `expires_at`, answers that may have been written are `undelivered`, open questions are `void`.
    pub async fn lose_requests(
        &self,
        session: &SessionId,
        epoch: i64,
        at: i64,
        expires_at: i64,
    ) -> Result<Vec<LostRequest>, StoreError> {
        let session = session.clone();
        self.write(move |conn| {
            Box::pin(async move {
                lease::check(conn, &session, epoch).await?;
                let lost = sqlx::query(
                    "update request set
                         state = case when state = 'delivering' then 'undelivered'
                                      when state = 'answered' and binding is not null and answer_sealed is not null
                                          then 'escrowed'
                                      else 'void' end,
                         answer_sealed = case when state = 'answered' and binding is not null then answer_sealed end,
                         expires_at = case when state = 'answered' then $3 end,
                         closed_at = case when state = 'answered' and binding is not null
                                               and answer_sealed is not null then null else $2 end
                     where session = $1 and state in ('open', 'answered', 'delivering')
                     returning id, state",
                )
                .bind(session.as_str())
                .bind(at)
                .bind(expires_at)
                .fetch_all(conn)
                .await?;
                rows::all(&lost)
            })
        })
        .await
    }

    /// Ends the escrow of what was asked before the turn `ordinal`: to be called when that turn is over. Gives what was
    /// not used.
    pub async fn expire_escrow(
        &self,
        session: &SessionId,
        epoch: i64,
        ordinal: i64,
        at: i64,
    ) -> Result<Vec<LostRequest>, StoreError> {
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
