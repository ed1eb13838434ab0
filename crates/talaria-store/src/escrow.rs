//! Answers that were given while Codex was gone: kept for the identical question, used once, for one turn.
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

/// An answer out of escrow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escrowed {
    /// The request that was answered.
    pub id: TicketId,
    /// The decision in a word.
    pub decision: String,
    /// The answer, sealed.
    pub sealed: Vec<u8>,
    /// Who gave it.
    pub by: String,
    /// When.
    pub at: i64,
}

impl FromRow for LostRequest {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self { id: TicketId::new(row.try_get::<String, _>("id")?), state: rows::word(row, "state")? })
    }
}

impl FromRow for Escrowed {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: TicketId::new(row.try_get::<String, _>("id")?),
            decision: row.try_get("decision")?,
            sealed: row.try_get("answer_sealed")?,
            by: row.try_get("answered_by")?,
            at: row.try_get("answered_at")?,
        })
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

    /// Answers the open request `ticket` with an answer in escrow that is bound to the same thing, if there is one.
    /// In one transaction the answer leaves escrow and the request is `answered`: it is never used twice.
    pub async fn answer_from_escrow(
        &self,
        session: &SessionId,
        epoch: i64,
        ticket: &TicketId,
        at: i64,
    ) -> Result<Option<Escrowed>, StoreError> {
        let (session, ticket) = (session.clone(), ticket.clone());
        self.write(move |conn| {
            Box::pin(async move {
                lease::check(conn, &session, epoch).await?;
                let found = sqlx::query(
                    "select kept.* from request kept join request asked
                         on asked.id = $2 and asked.session = $1 and asked.state = 'open'
                            and asked.binding = kept.binding
                     where kept.session = $1 and kept.state = 'escrowed' and kept.expires_at > $3
                     order by kept.answered_at, kept.id limit 1",
                )
                .bind(session.as_str())
                .bind(ticket.as_str())
                .bind(at)
                .fetch_optional(&mut *conn)
                .await?;
                let Some(kept) = rows::one::<Escrowed>(found.as_ref())? else { return Ok(None) };
                sqlx::query(
                    "update request set state = 'answered', decision = $2, answer_sealed = $3, answered_by = $4,
                                        answered_at = $5
                     where id = $1",
                )
                .bind(ticket.as_str())
                .bind(kept.decision.as_str())
                .bind(kept.sealed.as_slice())
                .bind(kept.by.as_str())
                .bind(kept.at)
                .execute(&mut *conn)
                .await?;
                sqlx::query("update request set state = 'delivered', answer_sealed = null, closed_at = $2 where id = $1")
                    .bind(kept.id.as_str())
                    .bind(at)
                    .execute(conn)
                    .await?;
                Ok(Some(kept))
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
