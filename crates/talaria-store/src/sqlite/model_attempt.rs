//! Attempts of the model loop: one row for each request to a model. An attempt moves forward and ends once; the items that it adds to
//! the history are appended by its end.
//!
//! A transition that is not allowed is a conflict, so that nothing of its batch is stored.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use talaria_core::ids::SessionId;
use talaria_core::usage::Usage;

use crate::error::StoreError;
use crate::model::batch::Batch;
use crate::model::model_attempt::{
    ModelAttemptEnd, ModelAttemptFacts, ModelAttemptKey, ModelAttemptRow, NewModelAttempt,
};
use crate::model::words::{AttemptEnding, AttemptState, Word as _};
use crate::sqlite::rows::{self, FromRow};
use crate::sqlite::{SqliteStore, budget, model_history, model_usage};

/// The states of an attempt that has not ended, in their order.
const FORWARD: [AttemptState; 4] =
    [AttemptState::Planned, AttemptState::Sent, AttemptState::Accepted, AttemptState::Speaking];

impl FromRow for ModelAttemptRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let count = |column: &str| -> Result<Option<u64>, StoreError> {
            let number: Option<i64> = row.try_get(column)?;
            Ok(number.map(|number| u64::try_from(number).unwrap_or_default()))
        };
        let ending: Option<String> = row.try_get("ending")?;
        Ok(Self {
            session: SessionId::new(row.try_get::<String, _>("session")?),
            key: ModelAttemptKey { ordinal: row.try_get("ordinal")?, number: row.try_get("number")? },
            purpose: rows::word(row, "purpose")?,
            provider: row.try_get("provider")?,
            asked_model: row.try_get("asked_model")?,
            request_digest: row.try_get("request_digest")?,
            prefix_digest: row.try_get("prefix_digest")?,
            state: rows::word(row, "state")?,
            facts: ModelAttemptFacts {
                said_model: row.try_get("said_model")?,
                request_id: row.try_get("request_id")?,
                first_byte_ms: count("first_byte_ms")?,
                bytes: count("bytes")?.unwrap_or_default(),
                events: count("events")?.unwrap_or_default(),
                shown_chars: count("shown_chars")?.unwrap_or_default(),
            },
            ending: ending.as_deref().map(AttemptEnding::read).transpose()?,
            failure_class: row.try_get("failure_class")?,
            failure_text: row.try_get("failure_text")?,
            usage: row.try_get("usage")?,
            usage_source: rows::word(row, "usage_source")?,
            amount: count("amount")?,
            price_as_of: row.try_get("price_as_of")?,
            epoch: row.try_get("epoch")?,
            planned_at: row.try_get("planned_at")?,
            ended_at: row.try_get("ended_at")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn model_attempts(
        &self,
        session: &SessionId,
        ordinal: i64,
    ) -> Result<Vec<ModelAttemptRow>, StoreError> {
        let found =
            sqlx::query("select * from model_attempt where session = $1 and ordinal = $2 order by number")
                .bind(session.as_str())
                .bind(ordinal)
                .fetch_all(self.readers())
                .await?;
        rows::all(&found)
    }

    pub(crate) async fn open_attempts(&self, epoch: i64) -> Result<Vec<ModelAttemptRow>, StoreError> {
        let found = sqlx::query(
            "select * from model_attempt where state <> 'ended' and epoch < $1 order by session, ordinal, number",
        )
        .bind(epoch)
        .fetch_all(self.readers())
        .await?;
        rows::all(&found)
    }

    pub(crate) async fn abandon_attempts(&self, epoch: i64, at: i64) -> Result<u64, StoreError> {
        self.write(move |conn| {
            Box::pin(async move {
                let sent = sqlx::query(
                    "update model_attempt set state = 'ended', ending = 'abandoned', ended_at = $2
                     where state not in ('ended', 'planned') and epoch < $1",
                )
                .bind(epoch)
                .bind(at)
                .execute(&mut *conn)
                .await?;
                model_usage::count_abandoned(conn, at).await?;
                // A request that was not sent cost nothing and is not counted.
                let planned = sqlx::query(
                    "update model_attempt set state = 'ended', ending = 'abandoned', ended_at = $2, usage = $3
                     where state = 'planned' and epoch < $1",
                )
                .bind(epoch)
                .bind(at)
                .bind(serde_json::json!(Usage::default()).to_string())
                .execute(&mut *conn)
                .await?;
                budget::release_older(conn, epoch).await?;
                Ok(sent.rows_affected() + planned.rows_affected())
            })
        })
        .await
    }
}

/// Inserts a new attempt. A key that exists is a conflict.
pub(crate) async fn insert(
    conn: &mut SqliteConnection,
    batch: &Batch,
    new: NewModelAttempt,
) -> Result<(), StoreError> {
    sqlx::query(
        "insert into model_attempt (session, ordinal, number, purpose, provider, asked_model, request_digest,
                                    prefix_digest, state, epoch, planned_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, 'planned', $9, $10)",
    )
    .bind(batch.session.as_str())
    .bind(new.key.ordinal)
    .bind(new.key.number)
    .bind(new.purpose.as_str())
    .bind(new.provider)
    .bind(new.asked_model)
    .bind(new.request_digest)
    .bind(new.prefix_digest)
    .bind(batch.epoch)
    .bind(batch.at)
    .execute(conn)
    .await?;
    Ok(())
}

/// Moves an attempt forward, or adds facts to it.
pub(crate) async fn advance(
    conn: &mut SqliteConnection,
    batch: &Batch,
    key: ModelAttemptKey,
    state: AttemptState,
    facts: ModelAttemptFacts,
) -> Result<(), StoreError> {
    let from: Vec<&str> = match FORWARD.iter().position(|forward| *forward == state) {
        Some(place) => FORWARD.iter().take(place + 1).map(|state| state.as_str()).collect(),
        None => Vec::new(),
    };
    let done = sqlx::query(
        "update model_attempt set state = $5, said_model = coalesce($6, said_model),
             request_id = coalesce($7, request_id), first_byte_ms = coalesce(first_byte_ms, $8),
             bytes = max(bytes, $9), events = max(events, $10), shown_chars = max(shown_chars, $11)
         where session = $1 and ordinal = $2 and number = $3 and epoch = $4
             and state in (select value from json_each($12))",
    )
    .bind(batch.session.as_str())
    .bind(key.ordinal)
    .bind(key.number)
    .bind(batch.epoch)
    .bind(state.word())
    .bind(facts.said_model)
    .bind(facts.request_id)
    .bind(facts.first_byte_ms.map(number))
    .bind(number(facts.bytes))
    .bind(number(facts.events))
    .bind(number(facts.shown_chars))
    .bind(serde_json::json!(from).to_string())
    .execute(&mut *conn)
    .await?;
    match done.rows_affected() {
        0 => Err(refuse(conn, &batch.session, key, &format!("become {}", state.as_str())).await?),
        _ => Ok(()),
    }
}

/// Ends an attempt and appends its items to the history.
pub(crate) async fn end(
    conn: &mut SqliteConnection,
    batch: &Batch,
    key: ModelAttemptKey,
    end: ModelAttemptEnd,
) -> Result<(), StoreError> {
    let ModelAttemptEnd { ending, facts, items, .. } = end;
    if !items.is_empty() && !ending.adds_history() {
        let (number, word) = (key.number, ending.as_str());
        return Err(StoreError::Conflict(format!(
            "attempt {number} is {word} and adds nothing to the history"
        )));
    }
    if items.iter().any(|item| item.ordinal != key.ordinal) {
        return Err(StoreError::Conflict(format!("attempt {} has items of another turn", key.number)));
    }
    // An engine ends the attempts of an earlier one only by abandoning them: it did not see how they ended.
    let done = sqlx::query(
        "update model_attempt set state = 'ended', ending = $5, ended_at = $6, failure_class = $7, failure_text = $8,
             usage = $9, usage_source = $10, amount = $11, price_as_of = $12,
             said_model = coalesce($13, said_model), request_id = coalesce($14, request_id),
             first_byte_ms = coalesce(first_byte_ms, $15), bytes = max(bytes, $16), events = max(events, $17),
             shown_chars = max(shown_chars, $18)
         where session = $1 and ordinal = $2 and number = $3 and state <> 'ended'
             and (epoch = $4 or epoch < $4 and $5 = 'abandoned')",
    )
    .bind(batch.session.as_str())
    .bind(key.ordinal)
    .bind(key.number)
    .bind(batch.epoch)
    .bind(ending.as_str())
    .bind(batch.at)
    .bind(end.failure_class)
    .bind(end.failure_text)
    .bind(end.usage)
    .bind(end.usage_source.as_str())
    .bind(end.amount.map(number))
    .bind(end.price_as_of)
    .bind(facts.said_model)
    .bind(facts.request_id)
    .bind(facts.first_byte_ms.map(number))
    .bind(number(facts.bytes))
    .bind(number(facts.events))
    .bind(number(facts.shown_chars))
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() == 0 {
        return Err(refuse(conn, &batch.session, key, "end").await?);
    }
    model_usage::count_attempt(conn, &batch.session, key, end.bound).await?;
    budget::release(conn, &batch.session, key).await?;
    model_history::append(conn, &batch.session, batch.at, Some(key.number), items).await
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Says why an attempt cannot do this.
async fn refuse(
    conn: &mut SqliteConnection,
    session: &SessionId,
    key: ModelAttemptKey,
    what: &str,
) -> Result<StoreError, StoreError> {
    let found = sqlx::query(
        "select coalesce(ending, state) as word, epoch from model_attempt
         where session = $1 and ordinal = $2 and number = $3",
    )
    .bind(session.as_str())
    .bind(key.ordinal)
    .bind(key.number)
    .fetch_optional(conn)
    .await?;
    let why = match found {
        Some(row) => {
            let (word, epoch): (String, i64) = (row.try_get("word")?, row.try_get("epoch")?);
            format!("it is {word} in the engine of epoch {epoch}")
        }
        None => "it is not recorded".to_owned(),
    };
    let ModelAttemptKey { ordinal, number } = key;
    Ok(StoreError::Conflict(format!("attempt {number} of turn {ordinal} cannot {what}: {why}")))
}
