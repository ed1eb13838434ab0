//! Reviews of finished turns. The counters of a session are reset in the statement that records a job, and an ended job
//! never changes.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use talaria_core::ids::SessionId;
use talaria_core::learning::progress::{DueReview, ReviewCount, ReviewSubjects};

use crate::error::StoreError;
use crate::model::batch::Batch;
use crate::model::review::{ReviewRow, ReviewStep};
use crate::model::words::Word as _;
use crate::sqlite::SqliteStore;
use crate::sqlite::rows::{self, FromRow};

impl FromRow for ReviewRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.try_get("id")?,
            session: SessionId::new(row.try_get::<String, _>("session")?),
            first_turn: row.try_get("first_turn")?,
            last_turn: row.try_get("last_turn")?,
            asks: ReviewSubjects { memory: row.try_get("asks_memory")?, skills: row.try_get("asks_skills")? },
            state: rows::word(row, "state")?,
            attempts: row.try_get("attempts")?,
            epoch: row.try_get("epoch")?,
            answer: row.try_get("answer")?,
            usage: row.try_get("usage")?,
            report: row.try_get("report")?,
            due_at: row.try_get("due_at")?,
            started_at: row.try_get("started_at")?,
            ended_at: row.try_get("ended_at")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn reviews(&self, session: &SessionId) -> Result<Vec<ReviewRow>, StoreError> {
        let found = sqlx::query("select * from review where session = $1 order by id")
            .bind(session.as_str())
            .fetch_all(self.readers())
            .await?;
        rows::all(&found)
    }

    pub(crate) async fn open_review(&self, session: &SessionId) -> Result<Option<ReviewRow>, StoreError> {
        let found = sqlx::query("select * from review where session = $1 and state in ('due', 'running')")
            .bind(session.as_str())
            .fetch_optional(self.readers())
            .await?;
        rows::one(found.as_ref())
    }

    pub(crate) async fn open_reviews(&self) -> Result<Vec<ReviewRow>, StoreError> {
        let found = sqlx::query("select * from review where state in ('due', 'running') order by id")
            .fetch_all(self.readers())
            .await?;
        rows::all(&found)
    }

    pub(crate) async fn requeue_reviews(&self, epoch: i64) -> Result<u64, StoreError> {
        self.write(move |conn| {
            Box::pin(async move {
                let done = sqlx::query(
                    "update review set state = 'due' where state = 'running' and coalesce(epoch, 0) < $1",
                )
                .bind(epoch)
                .execute(conn)
                .await?;
                Ok(done.rows_affected())
            })
        })
        .await
    }
}

/// Adds to the counters of a session.
pub(crate) async fn count(
    conn: &mut SqliteConnection,
    session: &SessionId,
    count: ReviewCount,
) -> Result<(), StoreError> {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    sqlx::query(
        "update session set review_turns = review_turns + $2, review_calls = review_calls + $3,
             has_foreign_text = has_foreign_text or $4
         where id = $1",
    )
    .bind(session.as_str())
    .bind(number(count.turns))
    .bind(number(count.calls))
    .bind(count.is_foreign)
    .execute(conn)
    .await?;
    Ok(())
}

/// Records that a review of the turns up to this one is due, and resets the counters whose questions it asks. A review that is
/// open covers them too.
pub(crate) async fn put(
    conn: &mut SqliteConnection,
    session: &SessionId,
    at: i64,
    last_turn: i64,
    due: DueReview,
) -> Result<(), StoreError> {
    let DueReview { asks, keeps_calls } = due;
    sqlx::query(
        "insert into review (session, first_turn, last_turn, state, due_at, asks_memory, asks_skills)
         select $1, coalesce((select max(last_turn) + 1 from review where session = $1), 1), $2, 'due', $3, $4, $5
         where coalesce((select max(last_turn) from review where session = $1), 0) < $2
         on conflict (session) where state in ('due', 'running') do update set
             last_turn = excluded.last_turn,
             asks_memory = asks_memory or excluded.asks_memory,
             asks_skills = asks_skills or excluded.asks_skills",
    )
    .bind(session.as_str())
    .bind(last_turn)
    .bind(at)
    .bind(asks.memory)
    .bind(asks.skills)
    .execute(&mut *conn)
    .await?;
    sqlx::query(
        "update session set review_turns = case when $2 then 0 else review_turns end,
             review_calls = case when $3 then review_calls else 0 end
         where id = $1",
    )
    .bind(session.as_str())
    .bind(asks.memory)
    .bind(keeps_calls)
    .execute(conn)
    .await?;
    Ok(())
}

/// Moves a review on, if that is allowed.
pub(crate) async fn step(
    conn: &mut SqliteConnection,
    batch: &Batch,
    id: i64,
    step: ReviewStep,
) -> Result<(), StoreError> {
    let query = match step {
        ReviewStep::Run => sqlx::query(
            "update review set state = 'running', attempts = attempts + 1, epoch = $3, started_at = $4
             where id = $1 and session = $2 and state = 'due'",
        )
        .bind(id)
        .bind(batch.session.as_str())
        .bind(batch.epoch)
        .bind(batch.at),
        ReviewStep::Answered { answer, usage } => sqlx::query(
            "update review set answer = $4, usage = $5
             where id = $1 and session = $2 and state = 'running' and epoch = $3",
        )
        .bind(id)
        .bind(batch.session.as_str())
        .bind(batch.epoch)
        .bind(answer)
        .bind(usage),
        ReviewStep::Defer => sqlx::query(
            "update review set state = 'due', attempts = attempts - 1
             where id = $1 and session = $2 and state = 'running' and epoch = $3",
        )
        .bind(id)
        .bind(batch.session.as_str())
        .bind(batch.epoch),
        ReviewStep::End { state, report, usage } => sqlx::query(
            "update review set state = $3, report = $4, usage = coalesce($5, usage), ended_at = $6, answer = null
             where id = $1 and session = $2 and state in ('due', 'running')",
        )
        .bind(id)
        .bind(batch.session.as_str())
        .bind(state.word())
        .bind(report)
        .bind(usage)
        .bind(batch.at),
    };
    if query.execute(conn).await?.rows_affected() == 0 {
        return Err(StoreError::Conflict(format!("the review {id} is in another state")));
    }
    Ok(())
}
