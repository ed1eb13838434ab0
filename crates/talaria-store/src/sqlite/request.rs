//! Requests: questions to a person, and their answers. One answer wins.
//!
//! A sealed answer is erased when it cannot be needed any more: delivered, or never to be delivered.

use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};
use talaria_core::ids::{SessionId, TicketId};

use crate::error::StoreError;
use crate::model::request::{
    AnswerResult, NewAnswer, NewRequest, RequestFilter, RequestOrigin, RequestPatch, RequestRow,
};
use crate::model::words::RequestState;
use crate::sqlite::rows::{self, FromRow};
use crate::sqlite::{SqliteStore, audit};

impl FromRow for RequestRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: TicketId::new(row.try_get::<String, _>("id")?),
            session: SessionId::new(row.try_get::<String, _>("session")?),
            turn: row.try_get("turn")?,
            origin: RequestOrigin { host: row.try_get("host")?, json: row.try_get("origin")? },
            kind: row.try_get("kind")?,
            summary: row.try_get("summary")?,
            place: row.try_get("place")?,
            ask: row.try_get("ask")?,
            binding: row.try_get("binding")?,
            state: rows::word(row, "state")?,
            decision: row.try_get("decision")?,
            answer_sealed: row.try_get("answer_sealed")?,
            answered_by: row.try_get("answered_by")?,
            answered_at: row.try_get("answered_at")?,
            opened_at: row.try_get("opened_at")?,
            closed_at: row.try_get("closed_at")?,
            expires_at: row.try_get("expires_at")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn request(&self, id: &TicketId) -> Result<Option<RequestRow>, StoreError> {
        let mut conn = self.readers().acquire().await?;
        read(&mut conn, id).await
    }

    pub(crate) async fn requests(&self, filter: &RequestFilter) -> Result<Vec<RequestRow>, StoreError> {
        let states = filter.states.as_ref().map(|states| serde_json::json!(states).to_string());
        let session = filter.session.as_ref().map(SessionId::as_str);
        // The same question in words for which there is an index.
        let by_session = if session.is_some() { "session = $1" } else { "$1 is null" };
        let is_pending = filter.states.as_ref().is_some_and(|states| states.iter().all(|s| s.is_pending()));
        let pending =
            if is_pending { "and state in ('open', 'answered', 'delivering', 'escrowed')" } else { "" };
        let found = sqlx::query(AssertSqlSafe(format!(
            "select * from request
             where {by_session} {pending} and ($2 is null or state in (select value from json_each($2)))
             order by opened_at, id"
        )))
        .bind(session)
        .bind(states)
        .fetch_all(self.readers())
        .await?;
        rows::all(&found)
    }

    pub(crate) async fn answer_request(
        &self,
        id: &TicketId,
        answer: NewAnswer,
    ) -> Result<AnswerResult, StoreError> {
        let id = id.clone();
        self.write(move |conn| Box::pin(async move { answer_once(conn, &id, answer).await })).await
    }
}

async fn answer_once(
    conn: &mut SqliteConnection,
    id: &TicketId,
    answer: NewAnswer,
) -> Result<AnswerResult, StoreError> {
    let done = sqlx::query(
        "update request set state = 'answered', decision = $2, answer_sealed = $3, answered_by = $4, answered_at = $5
         where id = $1 and state = 'open'",
    )
    .bind(id.as_str())
    .bind(answer.decision)
    .bind(answer.sealed)
    .bind(answer.by)
    .bind(answer.at)
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() == 1 {
        if let Some(entry) = answer.audit {
            audit::insert(conn, entry).await?;
        }
        return Ok(AnswerResult::Won);
    }
    let Some(kept) = read(conn, id).await? else { return Ok(AnswerResult::Unknown) };
    let is_over = matches!(kept.state, RequestState::Void | RequestState::Expired);
    Ok(match (kept.decision, kept.answered_by, kept.answered_at) {
        (Some(decision), Some(by), Some(at)) if !is_over => {
            AnswerResult::AlreadyAnswered { decision, by, at }
        }
        _ => AnswerResult::Closed { state: kept.state },
    })
}

pub(crate) async fn read(
    conn: &mut SqliteConnection,
    id: &TicketId,
) -> Result<Option<RequestRow>, StoreError> {
    let found =
        sqlx::query("select * from request where id = $1").bind(id.as_str()).fetch_optional(conn).await?;
    rows::one(found.as_ref())
}

/// Writes a new request down.
pub(crate) async fn insert(
    conn: &mut SqliteConnection,
    session: &SessionId,
    at: i64,
    request: NewRequest,
) -> Result<(), StoreError> {
    sqlx::query(
        "insert into request (id, session, turn, host, origin, kind, summary, place, ask, binding, state, opened_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'open', $11)",
    )
    .bind(request.id.as_str())
    .bind(session.as_str())
    .bind(request.turn)
    .bind(request.origin.host)
    .bind(request.origin.json)
    .bind(request.kind)
    .bind(request.summary)
    .bind(request.place)
    .bind(request.ask)
    .bind(request.binding)
    .bind(at)
    .execute(conn)
    .await?;
    Ok(())
}

/// Changes an existing request.
pub(crate) async fn update(
    conn: &mut SqliteConnection,
    session: &SessionId,
    at: i64,
    patch: RequestPatch,
) -> Result<(), StoreError> {
    let state = match patch.state {
        Some(RequestState::Void) => Some(state_of_unwanted(conn, &patch).await?),
        state => state,
    };
    let done = sqlx::query(
        "update request set
             state = coalesce($3, state),
             decision = case when $3 = 'open' then null else coalesce($4, decision) end,
             answer_sealed = case when $3 in ('open', 'delivered', 'void', 'undelivered', 'expired') then null
                                  else coalesce($5, answer_sealed) end,
             answered_by = case when $3 = 'open' then null else coalesce($6, answered_by) end,
             answered_at = case when $3 = 'open' then null when $6 is not null then $7 else answered_at end,
             closed_at = case when $3 in ('delivered', 'void', 'undelivered', 'expired') then $7
                              when $3 is not null then null else closed_at end,
             expires_at = coalesce($8, expires_at)
         where id = $1 and session = $2",
    )
    .bind(patch.id.as_str())
    .bind(session.as_str())
    .bind(state.map(RequestState::as_str))
    .bind(patch.decision)
    .bind(patch.answer_sealed)
    .bind(patch.answered_by)
    .bind(at)
    .bind(patch.expires_at)
    .execute(conn)
    .await?;
    if done.rows_affected() == 0 {
        return Err(StoreError::Conflict(format!("session {session} has no request {}", patch.id)));
    }
    Ok(())
}

/// The state of a request that no one waits for any more. An answer that was stored a moment before is not thrown away.
async fn state_of_unwanted(
    conn: &mut SqliteConnection,
    patch: &RequestPatch,
) -> Result<RequestState, StoreError> {
    let kept = read(conn, &patch.id).await?.filter(|kept| kept.state == RequestState::Answered);
    let Some(kept) = kept else { return Ok(RequestState::Void) };
    let can_be_kept = kept.binding.is_some() && kept.answer_sealed.is_some() && patch.expires_at.is_some();
    Ok(if can_be_kept { RequestState::Escrowed } else { RequestState::Undelivered })
}
