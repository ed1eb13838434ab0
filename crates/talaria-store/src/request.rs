//! Requests: the questions that Codex puts to a person, and their answers. One answer wins.
//!
//! A sealed answer is erased when it cannot be needed any more: delivered, or never to be delivered.

use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};
use talaria_core::ids::{ItemId, SessionId, ThreadId, TicketId};

use crate::audit::{self, NewAudit};
use crate::error::StoreError;
use crate::rows::{self, FromRow};
use crate::store::Store;
use crate::words::RequestState;

/// A question to be kept; it is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRequest {
    /// Our name for it.
    pub id: TicketId,
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
    /// How the peer knows it.
    pub peer: PeerRequest,
    /// What kind of question.
    pub kind: String,
    /// The question in one line, redacted.
    pub summary: String,
    /// Where it would happen.
    pub place: Option<String>,
    /// The question as JSON, redacted.
    pub ask: String,
    /// What an answer is bound to when it outlives the Codex that asked; `None` is never kept for later.
    pub binding: Option<String>,
}

/// How Codex knows a question: it is found again by this when Codex offers it once more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerRequest {
    /// The nonce of the host.
    pub host: String,
    /// The thread.
    pub thread: ThreadId,
    /// The JSON-RPC id as JSON text, which keeps its type.
    pub rpc_id: String,
    /// The method.
    pub method: String,
    /// The item.
    pub item: Option<ItemId>,
}

/// What changes in a request. `None` leaves a field as it is; going back to `open` takes the answer away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPatch {
    /// Which request.
    pub id: TicketId,
    /// How far it is. `void` means that nobody answered: if somebody did meanwhile, the answer is kept in escrow where
    /// that is possible, and is `undelivered` otherwise.
    pub state: Option<RequestState>,
    /// The decision in a word.
    pub decision: Option<String>,
    /// The answer, sealed, until Codex has it.
    pub answer_sealed: Option<Vec<u8>>,
    /// Who decided. The time is the time of the batch.
    pub answered_by: Option<String>,
    /// Until when an answer is kept in escrow.
    pub expires_at: Option<i64>,
}

impl RequestPatch {
    /// A patch that changes nothing but the state.
    pub fn state(id: TicketId, state: RequestState) -> Self {
        Self {
            id,
            state: Some(state),
            decision: None,
            answer_sealed: None,
            answered_by: None,
            expires_at: None,
        }
    }
}

/// A question that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Our name for it.
    pub id: TicketId,
    /// Its session.
    pub session: SessionId,
    /// The turn it belongs to, by ordinal.
    pub turn: Option<i64>,
    /// How the peer knows it.
    pub peer: PeerRequest,
    /// What kind of question.
    pub kind: String,
    /// The question in one line, redacted.
    pub summary: String,
    /// Where it would happen.
    pub place: Option<String>,
    /// The question as JSON, redacted.
    pub ask: String,
    /// What an answer is bound to when it outlives the Codex that asked.
    pub binding: Option<String>,
    /// How far it is.
    pub state: RequestState,
    /// The decision in a word.
    pub decision: Option<String>,
    /// The answer, sealed, until Codex has it.
    pub answer_sealed: Option<Vec<u8>>,
    /// Who decided.
    pub answered_by: Option<String>,
    /// When it was decided.
    pub answered_at: Option<i64>,
    /// When it was asked.
    pub opened_at: i64,
    /// When it was over.
    pub closed_at: Option<i64>,
    /// Until when an answer is kept in escrow.
    pub expires_at: Option<i64>,
}

/// An answer of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The decision in a word.
    pub decision: String,
    /// What goes to Codex, sealed; `None` for secrets, which are never kept.
    pub sealed: Option<Vec<u8>>,
    /// Who answers.
    pub by: String,
    /// When.
    pub at: i64,
    /// The row of the audit log about it, which is written if the answer wins.
    pub audit: Option<NewAudit>,
}

/// What became of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerResult {
    /// It is the answer.
    Won,
    /// Somebody was faster.
    AlreadyAnswered {
        /// The decision that counts.
        decision: String,
        /// Whose it is.
        by: String,
        /// When it was made.
        at: i64,
    },
    /// Nobody asks any more.
    Closed {
        /// How it ended.
        state: RequestState,
    },
    /// There is no such request.
    Unknown,
}

/// Which requests are wanted. `None` wants all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestFilter {
    /// Of this session.
    pub session: Option<SessionId>,
    /// In one of these states.
    pub states: Option<Vec<RequestState>>,
}

impl FromRow for Request {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: TicketId::new(row.try_get::<String, _>("id")?),
            session: SessionId::new(row.try_get::<String, _>("session")?),
            turn: row.try_get("turn")?,
            peer: PeerRequest {
                host: row.try_get("host")?,
                thread: ThreadId::new(row.try_get::<String, _>("thread")?),
                rpc_id: row.try_get("rpc_id")?,
                method: row.try_get("method")?,
                item: rows::id(row, "item", ItemId::new)?,
            },
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

impl Store {
    /// Gives one request.
    pub async fn request(&self, id: &TicketId) -> Result<Option<Request>, StoreError> {
        let mut conn = self.readers().acquire().await?;
        read(&mut conn, id).await
    }

    /// Gives requests, oldest first.
    pub async fn requests(&self, filter: &RequestFilter) -> Result<Vec<Request>, StoreError> {
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

    /// Answers a request if it is open. Of many answers one wins; the others learn whose.
    pub async fn answer_request(&self, id: &TicketId, answer: Answer) -> Result<AnswerResult, StoreError> {
        let id = id.clone();
        self.write(move |conn| Box::pin(async move { answer_once(conn, &id, answer).await })).await
    }
}

async fn answer_once(
    conn: &mut SqliteConnection,
    id: &TicketId,
    answer: Answer,
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

pub(crate) async fn read(conn: &mut SqliteConnection, id: &TicketId) -> Result<Option<Request>, StoreError> {
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
        "insert into request (id, session, turn, host, thread, rpc_id, method, item, kind, summary, place, ask,
                              binding, state, opened_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 'open', $14)",
    )
    .bind(request.id.as_str())
    .bind(session.as_str())
    .bind(request.turn)
    .bind(request.peer.host)
    .bind(request.peer.thread.as_str())
    .bind(request.peer.rpc_id)
    .bind(request.peer.method)
    .bind(request.peer.item.map(|item| item.to_string()))
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

/// Changes a request that is there.
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

/// How a request stands that nobody waits for any more. An answer that was stored a moment before is not thrown away.
async fn state_of_unwanted(
    conn: &mut SqliteConnection,
    patch: &RequestPatch,
) -> Result<RequestState, StoreError> {
    let kept = read(conn, &patch.id).await?.filter(|kept| kept.state == RequestState::Answered);
    let Some(kept) = kept else { return Ok(RequestState::Void) };
    let can_be_kept = kept.binding.is_some() && kept.answer_sealed.is_some() && patch.expires_at.is_some();
    Ok(if can_be_kept { RequestState::Escrowed } else { RequestState::Undelivered })
}
