//! What models cost. A row is written in the transaction that settles what it is for, and stays when its session is removed.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use talaria_core::api::UsageBy;
use talaria_core::budget::BudgetCharge;
use talaria_core::event::Usage;
use talaria_core::ids::SessionId;

use crate::error::StoreError;
use crate::model::model_attempt::ModelAttemptKey;
use crate::model::model_usage::{NewModelUsage, UsageFilter, UsageSumRow};
use crate::sqlite::rows::{self, FromRow};
use crate::sqlite::{SqliteStore, budget};

/// The statement that adds up what has the same key, the latest first.
macro_rules! sums {
    ($key:literal) => {
        concat!(
            "select ",
            $key,
            " as key, count(*) as requests,
              sum(is_unreported) as unreported, sum(is_estimated) as estimated,
              json_group_array(distinct asked_model) filter (where asked_model <> coalesce(model, asked_model)) as asked,
              sum(amount) as amount, count(*) - count(amount) as unpriced,
              sum(input) as input, sum(cached) as cached, sum(output) as output, sum(reasoning) as reasoning,
              sum(total) as total, max(is_partial) as is_partial, max(at) as last_at
             from model_usage where at >= $1 group by ",
            $key,
            " order by last_at desc, max(id) desc"
        )
    };
}
impl FromRow for UsageSumRow {
    fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let tokens = |column: &str| -> Result<u64, StoreError> {
            Ok(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or_default())
        };
        Ok(Self {
            key: row.try_get("key")?,
            requests: row.try_get("requests")?,
            unreported: row.try_get("unreported")?,
            estimated: row.try_get("estimated")?,
            asked: serde_json::from_str(&row.try_get::<String, _>("asked")?).unwrap_or_default(),
            amount: row
                .try_get::<Option<i64>, _>("amount")?
                .map(|amount| u64::try_from(amount).unwrap_or_default()),
            unpriced: row.try_get("unpriced")?,
            usage: Usage {
                input: tokens("input")?,
                cached: tokens("cached")?,
                output: tokens("output")?,
                reasoning: tokens("reasoning")?,
                total: tokens("total")?,
                partial: row.try_get::<i64, _>("is_partial")? != 0,
            },
            last_at: row.try_get("last_at")?,
        })
    }
}

impl SqliteStore {
    pub(crate) async fn usage(&self, filter: UsageFilter) -> Result<Vec<UsageSumRow>, StoreError> {
        let found = sqlx::query(match filter.by {
            UsageBy::Day => sums!("cast(at / 86400000 as text)"),
            UsageBy::Model => sums!("coalesce(model, asked_model)"),
            UsageBy::Session => sums!("session"),
        })
        .bind(filter.since)
        .fetch_all(self.readers())
        .await?;
        rows::all(&found)
    }
}

/// Adds a row, in the transaction of what it is for.
pub(crate) async fn insert(
    conn: &mut SqliteConnection,
    session: &SessionId,
    at: i64,
    new: NewModelUsage,
) -> Result<(), StoreError> {
    let tokens = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let owners = budget::owners(conn, session).await?;
    sqlx::query(
        "insert into model_usage (session, name, purpose, runtime, model, input, cached, output, reasoning, total,
                                  is_partial, is_unreported, at, provider, owners)
         select id, $2, $3, runtime, $4, $5, $6, $7, $8, $9, $10, $9 = 0 and $10 = 0, $11,
                case runtime when 'codex_app_server' then 'codex' end, $12
         from session where id = $1
         on conflict (session, name) do nothing",
    )
    .bind(session.as_str())
    .bind(new.name)
    .bind(new.purpose.as_str())
    .bind(new.model)
    .bind(tokens(new.usage.input))
    .bind(tokens(new.usage.cached))
    .bind(tokens(new.usage.output))
    .bind(tokens(new.usage.reasoning))
    .bind(tokens(new.usage.total))
    .bind(i64::from(new.usage.partial))
    .bind(at)
    .bind(owners)
    .execute(conn)
    .await?;
    Ok(())
}

/// The statement that counts ended attempts of the loop. Their rows are the evidence; an attempt is counted once.
macro_rules! count {
    ($which:literal) => {
        concat!(
            "insert into model_usage (session, name, purpose, runtime, model, asked_model, input, cached, output, reasoning,
                                      total, is_partial, is_unreported, is_estimated, amount, at, provider, owners,
                                      bound_tokens, bound_amount)
             select attempt.session, 'attempt/' || attempt.ordinal || '/' || attempt.number, purpose, runtime, said_model,
                    asked_model,
                    coalesce(json_extract(usage, '$.input'), 0), coalesce(json_extract(usage, '$.cached'), 0),
                    coalesce(json_extract(usage, '$.output'), 0), coalesce(json_extract(usage, '$.reasoning'), 0),
                    coalesce(json_extract(usage, '$.total'), 0), coalesce(json_extract(usage, '$.partial'), 0),
                    usage is null, usage_source = 'estimated', attempt.amount, ended_at, attempt.provider,
                    (with recursive owner (id) as (
                         select parent from delegation where child = attempt.session
                         union select delegation.parent from delegation join owner on delegation.child = owner.id
                     )
                     select case count(*) when 0 then null else json_group_array(id) end from owner),
                    case when usage is null then held.tokens end,
                    case when attempt.amount is null then held.amount end
             from model_attempt as attempt join session on session.id = attempt.session
                 left join budget_reservation as held on held.session = attempt.session
                     and held.ordinal = attempt.ordinal and held.number = attempt.number
             where attempt.state = 'ended' and ",
            $which,
            " on conflict (session, name) do nothing"
        )
    };
}

/// Counts an attempt that has just ended; `bound` is the most that it can have cost if that is not known for certain.
pub(crate) async fn count_attempt(
    conn: &mut SqliteConnection,
    session: &SessionId,
    key: ModelAttemptKey,
    bound: Option<BudgetCharge>,
) -> Result<(), StoreError> {
    sqlx::query(count!("attempt.session = $1 and attempt.ordinal = $2 and attempt.number = $3"))
        .bind(session.as_str())
        .bind(key.ordinal)
        .bind(key.number)
        .execute(&mut *conn)
        .await?;
    let Some(bound) = bound else { return Ok(()) };
    sqlx::query(
        "update model_usage set bound_tokens = $3, bound_amount = coalesce($4, bound_amount)
         where session = $1 and name = $2",
    )
    .bind(session.as_str())
    .bind(format!("attempt/{}/{}", key.ordinal, key.number))
    .bind(i64::try_from(bound.tokens).unwrap_or(i64::MAX))
    .bind(bound.amount.map(|amount| i64::try_from(amount).unwrap_or(i64::MAX)))
    .execute(conn)
    .await?;
    Ok(())
}

/// Counts the attempts that were abandoned at this time: what they cost is not known.
pub(crate) async fn count_abandoned(conn: &mut SqliteConnection, at: i64) -> Result<(), StoreError> {
    sqlx::query(count!("ending = 'abandoned' and ended_at = $1")).bind(at).execute(conn).await?;
    Ok(())
}
